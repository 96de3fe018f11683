"use strict";
(() => {
  const { by, make, ask, problem, fill, here, views } = explorer;
  let every = null;

  function list() {
    const words = by("find").value.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = every.filter(
      (s) =>
        (!by("paper").value || s.paper === by("paper").value) &&
        (!by("verdict").value || s.verdict === by("verdict").value) &&
        words.every((w) =>
          `${s.id} ${s.says} ${s.quantity} ${s.verdict}`.toLowerCase().includes(w),
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
            make("td", { class: s.verdict }, s.verdict),
            make("td", {}, s.says),
          ),
        ),
      );
  }

  async function load() {
    if (every) return;
    every = (await ask("/api/statements")).statements;
    for (const [id, key] of [
      ["paper", "paper"],
      ["verdict", "verdict"],
    ]) {
      by(id).append(
        ...[...new Set(every.map((s) => s[key]))].map((v) => make("option", { value: v }, v)),
      );
      by(id).addEventListener("change", list);
    }
    by("find").addEventListener("input", list);
    list();
  }

  async function open({ path }) {
    by("list").hidden = Boolean(path);
    by("statement").hidden = !path;
    const title = by("title-statements");
    title.textContent = path || "Statements";
    try {
      if (!path) {
        await load();
        problem(null);
        return;
      }
      by("statement").replaceChildren(make("p", { class: "faint" }, "…"));
      const told = await ask("/api/statements/" + path);
      if (explorer.where().path !== path) return;
      const body = make("div"),
        query = new URLSearchParams(told.example);
      by("statement").replaceChildren(
        make(
          "p",
          {},
          make("a", { href: "#statements" }, "all statements"),
          " · ",
          make("a", { href: here("bounds", "", query) }, "its example among all bounds"),
        ),
        make(
          "p",
          {},
          "Verdict on the printed form: ",
          make("span", { class: "verdict " + told.verdict }, told.verdict),
        ),
        make("ul", { class: "lead" }, ...told.lead.slice(1).map((line) => make("li", {}, line))),
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
