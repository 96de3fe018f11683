"use strict";
// Sliders of what is known: on a log scale, each with a box (is it given?) and a field.
explorer.sliders = (() => {
  const { data, make, button, group } = explorer;
  const STEPS = 1000;
  const groups = {
    Sizes: (s) => s.whole,
    Norms: (s) => /^(W|w|X)/.test(s.name),
    "Accuracy and loss": () => true,
  };
  let more = null, // the group of names that had no slider at first
    moved = null; // whom to tell
  const middle = (s) => Math.min(s.to, Math.max(s.from, 1));
  const known = new Map(
    data.sliders.map((s) => [s.name, { ...s, on: s.at !== null, value: s.at ?? middle(s) }]),
  );
  const defaults = new Map([...known].map(([name, s]) => [name, { on: s.on, value: s.value }]));

  const text = (x) => (x >= 1e6 || x < 1e-3 ? x.toExponential().replace("e+", "e") : String(x));
  const rounded = (s, x) => (s.whole ? Math.max(1, Math.round(x)) : Number(x.toPrecision(3)));
  const place = (s) =>
    Math.round(
      STEPS * Math.min(1, Math.max(0, Math.log(s.value / s.from) / Math.log(s.to / s.from))),
    );

  function slider(s) {
    const id = "in-" + s.name;
    const box = make("input", { type: "checkbox", "aria-label": `${s.name} is given` });
    const range = make("input", { type: "range", id, min: 0, max: STEPS, step: 1 });
    const field = make("input", {
      class: "value",
      inputmode: "decimal",
      "aria-label": `value of ${s.name}`,
    });
    const row = make(
      "div",
      { class: "slider" },
      box,
      make("label", { for: id, title: s.meaning }, s.name),
      range,
      field,
    );
    s.refresh = () => {
      box.checked = s.on;
      row.classList.toggle("off", !s.on);
      range.value = place(s);
      range.setAttribute("aria-valuetext", `${text(s.value)}, ${s.meaning}`);
      field.value = text(s.value);
    };
    const now = () => {
      s.on = true;
      s.refresh();
      moved();
    };
    box.addEventListener("change", () => {
      s.on = box.checked;
      s.refresh();
      moved();
    });
    range.addEventListener("input", () => {
      s.value = rounded(s, s.from * Math.pow(s.to / s.from, range.value / STEPS));
      now();
    });
    field.addEventListener("change", () => {
      const value = Number(field.value);
      if (Number.isFinite(value) && value >= 0) {
        s.value = s.whole ? Math.round(value) : value;
        now();
      } else s.refresh();
    });
    s.refresh();
    return row;
  }

  // A name of the vocabulary that has no slider yet; the server refuses what is none.
  function add(name, value) {
    const whole = data.sizes.includes(name);
    const range = whole ? { from: 1, to: 1e4 } : { from: 0.01, to: 100 };
    const meaning = data.names[name] || name;
    const s = { name, meaning, whole, ...range, at: null, on: true, value };
    known.set(name, s);
    defaults.set(name, { on: false, value });
    more.hidden = false;
    more.append(slider(s));
  }

  function adder() {
    const field = make("input", { id: "another", list: "names", placeholder: "such as W.l11" });
    const listed = make("datalist", { id: "names" });
    listed.append(...Object.entries(data.names).map(([n, m]) => make("option", { value: n }, m)));
    const act = () => {
      const name = field.value.trim();
      if (!name) return;
      if (known.has(name)) known.get(name).on = true;
      else add(name, 1);
      known.get(name).refresh();
      field.value = "";
      moved();
    };
    const label = make("label", { for: "another" }, "Another");
    const adding = button("add", act, { id: "add-name" });
    return make("div", { class: "row" }, label, field, listed, adding);
  }

  function build(form, update) {
    const left = new Set(known.values());
    moved = update;
    for (const [title, belongs] of Object.entries(groups)) {
      const members = [...left].filter(belongs);
      members.forEach((s) => left.delete(s));
      form.append(group(title, {}, ...members.map(slider)));
    }
    more = group("More", { hidden: true });
    form.append(more, adder());
  }

  function write(query) {
    for (const s of known.values()) if (s.on) query.set(s.name, text(s.value));
  }

  // As an address says; an address that names none leaves everything as it is on a fresh page.
  function restore(query) {
    const named = [...query.keys()].filter((name) => !name.startsWith("."));
    const some = named.length > 0;
    for (const name of named) if (!known.has(name)) add(name, Number(query.get(name)));
    for (const [name, s] of known) {
      const value = Number(query.get(name));
      if (query.has(name) && Number.isFinite(value) && value >= 0)
        Object.assign(s, { on: true, value });
      else Object.assign(s, some ? { on: false } : defaults.get(name));
      s.refresh();
    }
  }
  return { known, build, write, restore };
})();
