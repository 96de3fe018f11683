"use strict";
(() => {
  const { data, by, make, ask, problem, say, linked, here, keep, number, sliders, curves, views } =
    explorer;
  const { known } = sliders,
    NETWORK = "calculus/gap derived";
  const chosen = {
    axis: "n",
    points: "16",
    quantity: "Rademacher complexity",
    follow: "trauger2024/section-2.5 derived",
    sources: new Set(data.sources),
    forms: new Set(["printed", "derived"]),
  };
  const first = { ...chosen, sources: new Set(chosen.sources), forms: new Set(chosen.forms) };
  let ready = false,
    running = false,
    again = false,
    sweep = null;

  function boxes(id, names, set) {
    for (const name of names) {
      const input = make("input", { type: "checkbox", value: name });
      input.addEventListener("change", () => {
        set[input.checked ? "add" : "delete"](name);
        update();
      });
      by(id).append(make("label", {}, input, " " + name));
    }
  }
  const options = (select, names) =>
    select.replaceChildren(...names.map((n) => make("option", { value: n }, n)));

  function build() {
    const form = document.querySelector("#view-bounds .known");
    sliders.build(form, update);
    form.append(
      make(
        "button",
        {
          type: "button",
          id: "reset",
          onclick: () => {
            restore(new URLSearchParams());
            update();
          },
        },
        "as at first",
      ),
    );
    form.addEventListener("submit", (event) => event.preventDefault());
    options(by("quantity"), data.measures);
    boxes("sources", data.sources, chosen.sources);
    boxes("forms", data.forms, chosen.forms);
    for (const name of ["quantity", "axis", "points", "follow"]) {
      by(name).addEventListener("change", () => {
        chosen[name] = by(name).value;
        if (name === "quantity") {
          paint();
          table();
          save();
        } else if (name === "follow") {
          read();
          save();
        } else update();
      });
    }
    ready = true;
  }

  function save() {
    const query = new URLSearchParams();
    sliders.write(query);
    for (const name of ["axis", "points", "quantity", "follow"])
      if (chosen[name] !== first[name]) query.set("." + name, chosen[name]);
    for (const name of ["sources", "forms"]) {
      const now = [...chosen[name]].join(" ");
      if (now !== [...first[name]].join(" ")) query.set("." + name, now);
    }
    keep(here("bounds", "", query));
  }

  function restore(query) {
    sliders.restore(query);
    for (const name of ["axis", "points", "quantity", "follow"])
      chosen[name] = query.get("." + name) ?? first[name];
    for (const [name, every] of [
      ["sources", data.sources],
      ["forms", data.forms],
    ]) {
      const told = query.has("." + name) ? query.get("." + name).split(" ") : first[name];
      chosen[name].clear();
      [...told].filter((one) => every.includes(one)).forEach((one) => chosen[name].add(one));
      for (const input of by(name).querySelectorAll("input"))
        input.checked = chosen[name].has(input.value);
    }
    for (const name of ["points", "quantity"]) {
      by(name).value = chosen[name];
      if (!by(name).value) by(name).value = chosen[name] = first[name];
    }
  }

  function address(more) {
    const query = new URLSearchParams();
    sliders.write(query);
    chosen.forms.forEach((form) => query.append("form", form));
    for (const [name, value] of more) query.append(name, value);
    return "/api/bounds?" + query;
  }

  let told = null,
    panels = {};
  const interrupt = () => {
    again = true;
    if (sweep) sweep.abort();
  };

  // Names may have come: the axis can be any of them.
  function axes() {
    const select = by("axis");
    if (select.options.length !== known.size) options(select, [...known.keys()]);
    if (!known.has(chosen.axis)) chosen.axis = first.axis;
    select.value = chosen.axis;
  }

  function update() {
    axes();
    save();
    if (running) {
      interrupt();
      return;
    }
    running = true;
    (async () => {
      do {
        again = false;
        await once();
      } while (again);
      running = false;
    })();
  }

  async function once() {
    const began = performance.now(),
      sources = data.sources.filter((s) => chosen.sources.has(s));
    try {
      if (!sources.length || !chosen.forms.size)
        throw new Error("choose at least one source and one form");
      told = await ask(address(sources.map((s) => ["source", s])));
      problem(null);
      read();
      table();
      by("notes").innerHTML = told.notes;
      const axis = known.get(chosen.axis),
        fresh = {};
      by("curves").classList.add("busy");
      for (const [k, source] of sources.entries()) {
        if (again) return;
        by("progress").textContent =
          `curves over ${axis.name}: ${source} (${k + 1} of ${sources.length})…`;
        sweep = new AbortController();
        const along = `${axis.name}=${axis.from}:${axis.to}:log${chosen.points}`;
        const found = await ask(
          address([
            ["source", source],
            ["sweep", along],
          ]),
          { signal: sweep.signal },
        );
        for (const [measure, panel] of Object.entries(found.charts))
          fresh[measure] = curves.merged(fresh[measure], panel);
        panels = fresh;
        paint();
      }
      by("progress").textContent =
        `curves over ${axis.name} in ${((performance.now() - began) / 1000).toFixed(1)} s`;
      by("view-bounds").dataset.state = String(Number(by("view-bounds").dataset.state || 0) + 1);
    } catch (error) {
      if (error.name !== "AbortError") {
        problem(error);
        by("progress").textContent = "";
      }
    } finally {
      sweep = null;
      by("curves").classList.remove("busy");
    }
  }

  const paint = () => curves.paint(panels, chosen, known.get(chosen.axis));
  const entries = () => {
    const found = told.rows.flatMap((row) =>
      Object.entries(row.forms).map(([form, [point]]) => ({
        name: `${row.id} ${form}`,
        sense: row.senses[form],
        measure: row.measure,
        ...point,
      })),
    );
    return told.network
      ? [{ name: NETWORK, measure: data.measures[1], ...told.network }, ...found]
      : found;
  };

  function read() {
    if (!told) return;
    const every = entries(),
      select = by("follow");
    if (!every.some((e) => e.name === chosen.follow) && every.length) chosen.follow = every[0].name;
    options(
      select,
      every.map((e) => e.name),
    );
    select.value = chosen.follow;
    const one = every.find((e) => e.name === chosen.follow),
      output = by("number");
    if (!one) {
      output.textContent = "–";
      by("sense").textContent = "nothing applies";
      return;
    }
    output.textContent = one.refused ? "–" : number(one.value, one.log_value);
    output.dataset.value = one.value ?? "";
    output.classList.toggle("vacuous", Boolean(one.vacuous));
    by("sense").textContent = one.refused
      ? one.refused
      : [one.vacuous ? "vacuous" : "", one.measure, one.sense].filter(Boolean).join(" · ");
    say(`${one.name}: ${output.textContent}${one.vacuous ? ", vacuous" : ""}`);
  }

  function table() {
    if (!told) return;
    const html = told.tables[chosen.quantity],
      rows = by("rows");
    rows.innerHTML = html || "";
    if (chosen.quantity === data.measures[1] && told.network) rows.prepend(network(told.network));
    else if (!html)
      rows.replaceChildren(
        make(
          "p",
          { class: "faint" },
          `No statement about this quantity applies; some do about ${Object.keys(told.tables).join(", ") || "nothing"}.`,
        ),
      );
    dudleyTables(rows);
    linked(rows);
  }

  function network(one) {
    const terms = one.refused
      ? one.refused
      : one.terms.map((t) => `${t.name} ${number(t.value)}`).join(" + ");
    return make(
      "p",
      {},
      make("strong", {}, "The network described, by the calculus: "),
      one.refused ? "" : `${number(one.value, one.log_value)}${one.vacuous ? " (vacuous)" : ""} = `,
      terms,
      ". ",
      make(
        "span",
        { class: "faint" },
        "L layers of H heads and a readout; ramp loss where a margin is given.",
      ),
    );
  }

  views.bounds = {
    open({ query }) {
      if (!ready) build();
      restore(query);
      update();
    },
  };
})();
