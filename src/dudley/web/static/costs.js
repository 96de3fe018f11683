"use strict";
// What a network costs: explorer.costs(told, state) shows the gap, and the tree with its shares.
explorer.costs = (() => {
  const { by, make, faint, say, number } = explorer;

  function share(one) {
    const percent = one.share === null ? "–" : (100 * one.share).toFixed(1) + " %",
      times = one.count > 1 ? ` × ${one.count}` : "";
    const size = one.shape ? one.shape.join("×") + times : times;
    return make(
      "li",
      {},
      make(
        "div",
        { class: "share" },
        make("strong", {}, one.name),
        make("meter", {
          min: 0,
          max: 1,
          value: one.share ?? 0,
          "aria-label": `share of ${one.name}: ${percent}`,
        }),
        make("span", {}, percent),
      ),
      make(
        "div",
        { class: "faint" },
        [size, one.constraint, `weight ${one.weight}`, `cover: ${one.cover}`]
          .filter(Boolean)
          .join(" · "),
      ),
    );
  }
  const tree = (one) =>
    make(
      "li",
      {},
      make(
        "div",
        {},
        make("strong", {}, one.label + one.kind),
        make(
          "span",
          { class: "faint" },
          `  radius ${one.radius.join(" → ")}, Lipschitz ${one.lipschitz}`,
        ),
      ),
      make("ul", {}, ...one.blocks.map(share), ...one.inside.map(tree)),
    );

  function answer(told, { net, size }) {
    const gap = told.gap,
      shown = number(gap.value, gap.log_value),
      log = told.needed_n.log10;
    const needs =
      log === null
        ? "more examples than any power of ten tried"
        : log < 6
          ? Math.ceil(Math.pow(10, log)).toLocaleString("en") + " examples"
          : `10^${log.toFixed(2)} examples`;
    const output = make("output", { id: "gap", class: gap.vacuous ? "vacuous" : "" }, shown);
    output.dataset.value = gap.value ?? "";
    by("explained").replaceChildren(
      make(
        "div",
        { class: "followed" },
        make("span", {}, "risk − training loss ≤"),
        output,
        make(
          "span",
          { class: "faint" },
          `${gap.vacuous ? "vacuous · " : ""}with probability at least ${1 - size.delta} · trivial bound ${gap.trivial}`,
        ),
      ),
      make(
        "p",
        {},
        `${told.weights.toLocaleString("en")} weights. At most ${told.needed_n.target} needs ${needs}. ${told.culprit}.`,
      ),
      make("h2", {}, "What costs what"),
      faint(
        `Shares of the entropy at ε = ${told.at.epsilon}, n = ${told.at.n}: the costliest link of the chain.`,
      ),
      make("ul", { class: "tree" }, tree(told.tree)),
      ...(told.shared.length
        ? [make("h3", {}, "Shared"), make("ul", { class: "tree" }, ...told.shared.map(share))]
        : []),
      make(
        "details",
        {},
        make("summary", {}, "As text"),
        make("pre", { class: "wide", tabindex: 0 }, told.text),
      ),
      make(
        "details",
        {},
        make("summary", {}, "As a network file (JSON)"),
        make("pre", { class: "wide", tabindex: 0 }, JSON.stringify(net, null, 1)),
      ),
    );
    say(
      `risk minus training loss at most ${shown}${gap.vacuous ? ", vacuous" : ""}; ${told.culprit}`,
    );
  }

  return answer;
})();
