"use strict";
// What a network costs: explorer.costs(answer, state) shows the gap, and the tree with its shares.
explorer.costs = (() => {
  const { by, make, faint, say, number } = explorer;

  function share(block) {
    const percent = block.share === null ? "–" : (100 * block.share).toFixed(1) + " %",
      times = block.count > 1 ? ` × ${block.count}` : "";
    const size = block.shape ? block.shape.join("×") + times : times;
    return make(
      "li",
      {},
      make(
        "div",
        { class: "share" },
        make("strong", {}, block.name),
        make("meter", {
          min: 0,
          max: 1,
          value: block.share ?? 0,
          "aria-label": `share of ${block.name}: ${percent}`,
        }),
        make("span", {}, percent),
      ),
      make(
        "div",
        { class: "faint" },
        [size, block.constraint, `weight ${block.weight}`, `cover: ${block.cover}`]
          .filter(Boolean)
          .join(" · "),
      ),
    );
  }
  const tree = (node) =>
    make(
      "li",
      {},
      make(
        "div",
        {},
        make("strong", {}, node.label + node.kind),
        make(
          "span",
          { class: "faint" },
          `  radius ${node.radius.join(" → ")}, Lipschitz ${node.lipschitz}`,
        ),
      ),
      make("ul", {}, ...node.blocks.map(share), ...node.inside.map(tree)),
    );

  function answer(costs, { net, size }) {
    const gap = costs.gap,
      shown = number(gap.value, gap.log_value),
      log = costs.needed_n.log10;
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
        `${costs.weights.toLocaleString("en")} weights. At most ${costs.needed_n.target} needs ${needs}. ${costs.culprit}.`,
      ),
      make("h2", {}, "What costs what"),
      faint(
        `Shares of the entropy at ε = ${costs.at.epsilon}, n = ${costs.at.n}: the costliest link of the chain.`,
      ),
      make("ul", { class: "tree" }, tree(costs.tree)),
      ...(costs.shared.length
        ? [make("h3", {}, "Shared"), make("ul", { class: "tree" }, ...costs.shared.map(share))]
        : []),
      make(
        "details",
        {},
        make("summary", {}, "As text"),
        make("pre", { class: "wide", tabindex: 0 }, costs.text),
      ),
      make(
        "details",
        {},
        make("summary", {}, "As a network file (JSON)"),
        make("pre", { class: "wide", tabindex: 0 }, JSON.stringify(net, null, 1)),
      ),
    );
    say(
      `risk minus training loss at most ${shown}${gap.vacuous ? ", vacuous" : ""}; ${costs.culprit}`,
    );
  }

  return answer;
})();
