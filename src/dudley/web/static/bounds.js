"use strict";
(() => {
  const { data, by, make, button, options, faint, ask, lastWins, complete, problem } = explorer;
  const { say, linked, hashOf, keep, number, sliders, curves, picks, views } = explorer;
  const { known } = sliders;
  const LISTS = ["axis", "points", "quantity"],
    BOXES = ["sources", "forms"];
  const chosen = {
    axis: "n",
    points: "16",
    quantity: data.quantities[0].name,
    follow: "", // by name; empty: what the library puts first
    sources: new Set(data.sources),
    forms: new Set(["printed", "derived"]),
  };
  const first = { ...chosen, sources: new Set(chosen.sources), forms: new Set(chosen.forms) };
  let ready = false,
    answer = null, // the numbers at one point
    panel = null, // the curves
    drawn = null; // what was asked for them

  function boxes(name) {
    for (const choice of data[name]) {
      const input = make("input", { type: "checkbox", value: choice });
      input.addEventListener("change", () => {
        chosen[name][input.checked ? "add" : "delete"](choice);
        update();
      });
      by(name).append(make("label", {}, input, " " + choice));
    }
  }

  // The quantities, those of one kind together.
  function quantities() {
    const kinds = new Map();
    for (const { name, kind } of data.quantities) {
      if (!kinds.has(kind)) kinds.set(kind, []);
      kinds.get(kind).push(name);
    }
    return [...kinds].map(([kind, names]) =>
      make("optgroup", { label: kind }, ...options(names)),
    );
  }

  function build() {
    const form = document.querySelector("#view-bounds .known");
    const reset = () => {
      restore(new URLSearchParams());
      update();
    };
    sliders.build(form, update);
    form.append(button("reset", reset, { id: "reset" }));
    form.addEventListener("submit", (event) => event.preventDefault());
    by("quantity").replaceChildren(...quantities());
    BOXES.forEach(boxes);
    for (const name of LISTS) {
      by(name).addEventListener("change", () => {
        chosen[name] = by(name).value;
        if (name === "quantity") {
          chosen.follow = "";
          picks.forget();
        }
        update();
      });
    }
    by("follow").addEventListener("change", () => {
      chosen.follow = by("follow").value;
      follow();
      save();
    });
    picks.build(again);
    ready = true;
  }

  function save() {
    const query = new URLSearchParams();
    sliders.write(query);
    for (const name of [...LISTS, "follow"])
      if (chosen[name] !== first[name]) query.set("." + name, chosen[name]);
    for (const name of BOXES) {
      const now = [...chosen[name]].join(" ");
      if (now !== [...first[name]].join(" ")) query.set("." + name, now);
    }
    if (picks.write() !== null) query.set(".curves", picks.write());
    keep(hashOf("bounds", query));
  }

  function restore(query) {
    sliders.restore(query);
    for (const name of [...LISTS, "follow"]) chosen[name] = query.get("." + name) ?? first[name];
    for (const name of BOXES) {
      const names = query.has("." + name) ? query.get("." + name).split(" ") : [...first[name]];
      chosen[name].clear();
      names.filter((word) => data[name].includes(word)).forEach((word) => chosen[name].add(word));
      for (const input of by(name).querySelectorAll("input"))
        input.checked = chosen[name].has(input.value);
    }
    // A link may name a kind of quantity: the first of that kind is meant.
    const names = data.quantities.map((q) => q.name);
    if (!names.includes(chosen.quantity))
      chosen.quantity = names.find((name) => name.startsWith(chosen.quantity)) ?? first.quantity;
    picks.read(query.get(".curves"));
    for (const name of ["points", "quantity"]) {
      by(name).value = chosen[name];
      if (!by(name).value) by(name).value = chosen[name] = first[name];
    }
  }

  // What is looked at, and no more.
  function queryOf() {
    const query = new URLSearchParams();
    sliders.write(query);
    data.sources
      .filter((s) => chosen.sources.has(s))
      .forEach((source) => query.append("source", source));
    chosen.forms.forEach((form) => query.append("form", form));
    query.append("quantity", chosen.quantity);
    return query;
  }
  const get = (query, moved) => ask("/api/bounds?" + query, { signal: moved });

  // Names may have come: the axis can be any of them.
  function axes() {
    const select = by("axis");
    if (select.options.length !== known.size) select.replaceChildren(...options([...known.keys()]));
    if (!known.has(chosen.axis)) chosen.axis = first.axis;
    select.value = chosen.axis;
  }

  function update() {
    axes();
    save();
    refresh();
  }
  // Other curves are shown: the numbers stay.
  function again() {
    save();
    refresh();
  }

  // The numbers at the point, then the curves, until someone moves on.
  let asked = ""; // of which the answer is
  const refresh = lastWins(async (moved) => {
    try {
      if (!chosen.sources.size || !chosen.forms.size)
        throw new Error("choose at least one source and one form");
      const query = String(queryOf());
      if (query !== asked) {
        if (!answer) by("progress").textContent = "Loading the bounds…";
        by("view-bounds").classList.add("loading");
        answer = await get(query, moved);
        asked = query;
        by("view-bounds").classList.remove("loading");
        problem(null);
        picks.update(answer, [chosen.quantity, ...chosen.sources, ...chosen.forms].join());
        follow();
        table();
        by("notes").innerHTML = answer.notes;
      }
      picks.search(again);
      await along(moved);
      complete("bounds");
    } catch (error) {
      if (error.name !== "AbortError") {
        by("view-bounds").classList.remove("loading");
        asked = "";
        problem(error);
        by("progress").textContent = "";
      }
    } finally {
      by("curves").classList.remove("busy");
    }
  });

  // The curves, at a few points first. Where the axis itself was moved they are those there are.
  async function along(moved) {
    const axis = known.get(chosen.axis),
      names = picks.shown(),
      began = performance.now(),
      query = queryOf();
    query.delete(axis.name);
    query.append("sweep", `${axis.name}=${axis.from}:${axis.to}:log${chosen.points}`);
    names.forEach((name) => query.append("curve", name));
    const some = names.length > 0 || !axis.on, // an axis may give what the point lacks
      wanted = some ? String(query) : "";
    if (wanted !== drawn) {
      by("curves").classList.add("busy");
      by("progress").textContent = some ? `Loading the curves over ${axis.name}…` : "";
      for (const coarse of some ? [true, false] : []) {
        panel = (await get(coarse ? `${query}&coarse=1` : query, moved)).chart;
        drawn = coarse ? null : wanted;
        if (coarse) paint();
      }
      if (!some) [panel, drawn] = [null, wanted];
      const seconds = ((performance.now() - began) / 1000).toFixed(1);
      if (some) by("progress").textContent = `curves over ${axis.name} in ${seconds} s`;
    }
    paint();
  }

  const remove = (name) => {
    picks.remove(name);
    again();
  };
  const paint = () => curves.paint(panel, known.get(chosen.axis), chosen.quantity, remove);

  // The one number that is followed, large and read aloud.
  function follow() {
    if (!answer) return;
    const names = answer.entries.map((e) => e.name),
      name = names.includes(chosen.follow) ? chosen.follow : (answer.picked[0] ?? names[0]),
      followed = answer.entries.find((e) => e.name === name),
      output = by("number");
    by("follow").replaceChildren(...options(names));
    if (!followed) {
      output.textContent = "–";
      output.dataset.value = "";
      by("sense").textContent = "nothing applies";
      return;
    }
    by("follow").value = name;
    output.textContent = followed.refused ? "–" : number(followed.value, followed.log_value);
    output.dataset.value = followed.value ?? "";
    output.classList.toggle("vacuous", Boolean(followed.vacuous));
    by("sense").textContent = followed.refused
      ? followed.refused
      : [followed.vacuous ? "vacuous" : "", followed.quantity, followed.sense]
          .filter(Boolean)
          .join(" · ");
    say(`${name}: ${output.textContent}${followed.vacuous ? ", vacuous" : ""}`);
  }

  function table() {
    const rows = by("rows");
    rows.innerHTML = answer.table;
    if (!answer.entries.length)
      rows.prepend(
        faint(
          `Nothing about this quantity applies; something does about ${answer.others.join("; ") || "nothing"}.`,
        ),
      );
    dudleyTables(rows);
    linked(rows);
  }

  views.bounds = {
    open({ query }) {
      if (!ready) build();
      restore(query);
      update();
    },
  };
})();
