"use strict";
(() => {
  const { by, make, faint, lead, ask, problem, fill, where, views } = explorer;

  function card(experiment) {
    const scales = Object.entries(experiment.scales),
      damaged = Object.entries(experiment.damaged);
    return make(
      "li",
      {},
      make("h3", {}, experiment.name),
      ...(experiment.question
        ? [make("p", {}, experiment.question), faint(experiment.source)]
        : []),
      ...(scales.length
        ? scales.map(([scale, verdicts]) =>
            make(
              "p",
              {},
              make(
                "a",
                {
                  href: `#experiments/committed/${experiment.name}/${scale}`,
                  "aria-label": `${experiment.name}, ${scale}`,
                },
                scale,
              ),
              ": " + verdicts,
            ),
          )
        : damaged.length
          ? []
          : [faint("no results yet")]),
      ...damaged.map(([scale, reason]) => faint(`${scale}: unreadable, skipped: ${reason}`)),
    );
  }

  function runs(every) {
    if (!every.length)
      return faint(
        "No runs in the folder of runs; dudley lab run makes one, and dudley serve --runs names another folder.",
      );
    const row = (run) =>
      make(
        "tr",
        {},
        make(
          "td",
          {},
          run.state === "finished"
            ? make("a", { href: "#experiments/runs/" + run.place }, run.place)
            : run.place,
        ),
        make("td", {}, run.state),
        make("td", {}, run.found),
      );
    return make(
      "div",
      { class: "wide", tabindex: 0, role: "region", "aria-label": "Runs" },
      make(
        "table",
        {},
        make(
          "thead",
          {},
          make("tr", {}, ...["run", "state", "found"].map((h) => make("th", { scope: "col" }, h))),
        ),
        make("tbody", {}, ...every.map(row)),
      ),
    );
  }

  function show(answer) {
    by("experiments").replaceChildren(
      make("h2", {}, "Committed results"),
      answer.absent
        ? faint(answer.absent)
        : make("ul", { class: "cards" }, ...answer.experiments.map(card)),
      make("h2", {}, "Runs on this machine"),
      runs(answer.runs),
    );
  }

  async function open({ path }) {
    by("experiments").hidden = Boolean(path);
    by("experiment").hidden = !path;
    by("title-experiments").textContent = "Experiments";
    try {
      if (!path) {
        show(await ask("/api/experiments?at-once"));
        show(await ask("/api/experiments")); // with their questions
      } else {
        by("experiment").replaceChildren(faint("Loading the findings…"));
        const answer = await ask("/api/experiments/" + path),
          body = make("div");
        if (where().path !== path) return;
        by("title-experiments").textContent = answer.title;
        by("experiment").replaceChildren(
          make("p", {}, make("a", { href: "#experiments" }, "all experiments")),
          lead(answer.lead),
          ...answer.figures.map((f) =>
            make(
              "figure",
              {},
              make("img", { src: f.address, alt: `${f.name}: ${f.shows}`, loading: "lazy" }),
              make("figcaption", {}, f.shows),
            ),
          ),
          body,
        );
        fill(body, answer);
      }
      problem(null);
    } catch (error) {
      problem(error);
      by("experiment").replaceChildren();
    }
  }
  views.experiments = { open };
})();
