"use strict";
(() => {
  const { by, make, options, faint, lead, ask, problem, fill, where, hashOf, views } = explorer;
  let every = null;

  function list() {
    const words = by("find").value.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = every.filter(
      (s) =>
        (!by("paper").value || s.paper === by("paper").value) &&
        (!by("verdict").value || s.verdict === by("verdict").value) &&
        (!by("repair").value || s.repair === by("repair").value) &&
        words.every((w) =>
          `${s.id} ${s.says} ${s.quantity} ${s.standing} ${s.repair}`.toLowerCase().includes(w),
        ),
    );
    by("count").textContent = `${kept.length} of ${every.length} statements`;
    document
      .querySelector("#list tbody")
      .replaceChildren(
        ...kept.map((s) =>
          make(
            "tr",
            {},
            make("td", {}, make("a", { href: "#statements/" + s.id }, s.id)),
            make("td", { class: s.verdict }, s.standing),
            make("td", {}, s.repair),
            make("td", {}, s.says),
          ),
        ),
      );
  }

  async function load() {
    if (every) return;
    every = (await ask("/api/statements")).statements;
    for (const name of ["paper", "verdict", "repair"]) {
      by(name).append(...options([...new Set(every.map((s) => s[name]))]));
      by(name).addEventListener("change", list);
    }
    by("find").addEventListener("input", list);
    list();
  }

  async function open({ path }) {
    by("list").hidden = Boolean(path);
    by("statement").hidden = !path;
    by("title-statements").textContent = path || "Statements";
    try {
      if (!path) {
        await load();
        problem(null);
        return;
      }
      by("statement").replaceChildren(faint(`Loading ${path}…`));
      const told = await ask("/api/statements/" + path);
      if (where().path !== path) return;
      const body = make("div");
      // The numbers of an instance, beside all bounds of the same thing.
      const compared = (inputs, words) => {
        const query = new URLSearchParams(inputs);
        query.set(".quantity", told.heading);
        return make("a", { href: hashOf("bounds", query) }, words);
      };
      const examples = Object.entries(told.counterexamples).flatMap(([name, inputs]) => [
        " · ",
        compared(inputs, `the inputs of ${name}`),
      ]);
      by("statement").replaceChildren(
        make(
          "p",
          {},
          make("a", { href: "#statements" }, "all statements"),
          " · ",
          compared(told.example, "its example among all bounds"),
          ...examples,
        ),
        make(
          "p",
          {},
          "As printed: ",
          make("span", { class: "verdict " + told.verdict }, told.judgement),
        ),
        lead(told.lead.slice(1)),
        body,
      );
      fill(body, told);
      problem(null);
    } catch (error) {
      problem(error);
      by("statement").replaceChildren();
    }
  }
  views.statements = { open };
})();
