"use strict";
(() => {
  const { data, by, make, button, options, faint, ask, lastWins, complete, problem } = explorer;
  const { say, linked, hashOf, keep, number, sliders, curves, views } = explorer;
  const { known } = sliders;
  const LISTS = ["axis", "points", "quantity", "follow"],
    BOXES = ["sources", "forms"];
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
    answer = null, // the numbers at one point
    panels = {}, // the curves, by quantity
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

  function build() {
    const form = document.querySelector("#view-bounds .known");
    const reset = () => {
      restore(new URLSearchParams());
      update();
    };
    sliders.build(form, update);
    form.append(button("reset", reset, { id: "reset" }));
    form.addEventListener("submit", (event) => event.preventDefault());
    by("quantity").replaceChildren(...options(data.measures));
    BOXES.forEach(boxes);
    for (const name of LISTS) {
      by(name).addEventListener("change", () => {
        chosen[name] = by(name).value;
        if (name === "follow" && entries().some((e) => e.name === chosen.follow)) {
          follow();
          save();
        } else update();
      });
    }
    ready = true;
  }

  function save() {
    const query = new URLSearchParams();
    sliders.write(query);
    for (const name of LISTS) if (chosen[name] !== first[name]) query.set("." + name, chosen[name]);
    for (const name of BOXES) {
      const now = [...chosen[name]].join(" ");
      if (now !== [...first[name]].join(" ")) query.set("." + name, now);
    }
    keep(hashOf("bounds", query));
  }

  function restore(query) {
    sliders.restore(query);
    for (const name of LISTS) chosen[name] = query.get("." + name) ?? first[name];
    for (const name of BOXES) {
      const names = query.has("." + name) ? query.get("." + name).split(" ") : [...first[name]];
      chosen[name].clear();
      names.filter((word) => data[name].includes(word)).forEach((word) => chosen[name].add(word));
      for (const input of by(name).querySelectorAll("input"))
        input.checked = chosen[name].has(input.value);
    }
    for (const name of ["points", "quantity"]) {
      by(name).value = chosen[name];
      if (!by(name).value) by(name).value = chosen[name] = first[name];
    }
  }

  // What is looked at, and no more: one quantity of these sources.
  function queryOf(sources) {
    const query = new URLSearchParams();
    sliders.write(query);
    sources.forEach((source) => query.append("source", source));
    chosen.forms.forEach((form) => query.append("form", form));
    query.append("measure", chosen.quantity);
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

  // The numbers at the point, then the curves, until someone moves on.
  const refresh = lastWins(async (moved) => {
    const sources = data.sources.filter((s) => chosen.sources.has(s));
    try {
      if (!sources.length || !chosen.forms.size)
        throw new Error("choose at least one source and one form");
      const query = queryOf(sources);
      query.append("follow", chosen.follow.split(" ")[0]);
      answer = await get(query, moved);
      problem(null);
      follow();
      table();
      by("notes").innerHTML = answer.notes;
      await along(sources, moved);
      complete("bounds");
    } catch (error) {
      if (error.name !== "AbortError") {
        problem(error);
        by("progress").textContent = "";
      }
    } finally {
      by("curves").classList.remove("busy");
    }
  });

  // The curves, at a few points first. Where the axis itself was moved they are those there are.
  async function along(sources, moved) {
    const axis = known.get(chosen.axis),
      own = data.calculus,
      here = answer.entries.filter((e) => e.measure === chosen.quantity).map((e) => e.id),
      began = performance.now();
    const any = (test) => !axis.on || here.some(test); // an axis may give what the point lacks
    const queries = [
      any((id) => !id.startsWith(own)) ? sources.filter((s) => s !== own) : [],
      any((id) => id.startsWith(own)) ? sources.filter((s) => s === own) : [],
    ]
      .filter((some) => some.length)
      .map((some) => {
        const query = queryOf(some);
        query.delete(axis.name);
        query.append("sweep", `${axis.name}=${axis.from}:${axis.to}:log${chosen.points}`);
        return query;
      });
    const wanted = queries.join(" ");
    if (wanted !== drawn) {
      by("curves").classList.add("busy");
      by("progress").textContent = `curves over ${axis.name}…`;
      for (const coarse of [true, false]) {
        const fresh = {};
        for (const query of queries) {
          const { charts } = await get(coarse ? `${query}&coarse=1` : query, moved);
          for (const [measure, panel] of Object.entries(charts))
            fresh[measure] = curves.merged(fresh[measure], panel);
        }
        panels = fresh;
        drawn = coarse ? null : wanted;
        if (coarse) paint();
      }
      by("progress").textContent =
        `curves over ${axis.name} in ${((performance.now() - began) / 1000).toFixed(1)} s`;
    }
    paint();
  }

  const paint = () => curves.paint(panels, chosen, known.get(chosen.axis));
  const entries = () => {
    const rows = answer.rows.flatMap((row) =>
      Object.entries(row.forms).map(([form, [point]]) => ({
        name: `${row.id} ${form}`,
        sense: row.senses[form],
        measure: row.measure,
        ...point,
      })),
    );
    const { network } = answer;
    return network ? [{ name: `${network.id} derived`, ...network }, ...rows] : rows;
  };

  // The one number that is followed, large and read aloud.
  function follow() {
    if (!answer) return;
    const every = entries(),
      names = answer.entries.map((e) => `${e.id} ${e.form}`),
      select = by("follow");
    if (!names.includes(chosen.follow) && names.length) {
      chosen.follow = (every[0] || { name: names[0] }).name;
      if (!every.length) refresh(); // it was not asked for
    }
    select.replaceChildren(...options(names));
    select.value = chosen.follow;
    const followed = every.find((e) => e.name === chosen.follow),
      output = by("number");
    if (!followed) {
      output.textContent = "–";
      by("sense").textContent = "nothing applies";
      return;
    }
    output.textContent = followed.refused ? "–" : number(followed.value, followed.log_value);
    output.dataset.value = followed.value ?? "";
    output.classList.toggle("vacuous", Boolean(followed.vacuous));
    by("sense").textContent = followed.refused
      ? followed.refused
      : [followed.vacuous ? "vacuous" : "", followed.measure, followed.sense].filter(Boolean).join(" · ");
    say(`${followed.name}: ${output.textContent}${followed.vacuous ? ", vacuous" : ""}`);
  }

  function table() {
    if (!answer) return;
    const html = answer.tables[chosen.quantity],
      rows = by("rows");
    rows.innerHTML = html || "";
    if (answer.network?.measure === chosen.quantity) rows.prepend(network(answer.network));
    else if (!html)
      rows.replaceChildren(
        faint(
          `No statement about this quantity applies; some do about ${[...new Set(answer.entries.map((e) => e.measure))].join(", ") || "nothing"}.`,
        ),
      );
    dudleyTables(rows);
    linked(rows);
  }

  function network(derived) {
    const terms = derived.refused
      ? derived.refused
      : derived.terms.map((t) => `${t.name} ${number(t.value)}`).join(" + ");
    return make(
      "p",
      {},
      make("strong", {}, "The network described, by the calculus: "),
      derived.refused ? "" : `${number(derived.value, derived.log_value)}${derived.vacuous ? " (vacuous)" : ""} = `,
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
