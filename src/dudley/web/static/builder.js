"use strict";
// The form of a network: explorer.builder.draw(state, changed, update) writes into state.net.
explorer.builder = (() => {
  const { by, make } = explorer;
  const { begin, row, rows, quantity, choice, plain, made } = explorer.fields;
  let state = null,
    changed = null;
  const copy = (x) => JSON.parse(JSON.stringify(x));

  function block(layer, i) {
    const label = `block ${i + 1}`,
      tool = (text, name, act, off) =>
        make(
          "button",
          {
            type: "button",
            "aria-label": `${name} ${label}`,
            disabled: off,
            onclick: () => {
              act();
              changed();
            },
          },
          text,
        );
    const swap = (j) => () => {
      [state.net.layer[i], state.net.layer[j]] = [state.net.layer[j], state.net.layer[i]];
    };
    const kinds = Object.keys(state.blocks.nodes).filter((n) => !state.blocks.outputs.includes(n));
    const kind = choice(kinds, layer.node, (node) => {
      state.net.layer[i] = made(node);
      changed();
    });
    const tools = make(
      "span",
      { class: "tools" },
      tool("↑", "move up", swap(i - 1), i === 0),
      tool("↓", "move down", swap(i + 1), i === state.net.layer.length - 1),
      tool("×", "remove", () => state.net.layer.splice(i, 1), state.net.layer.length === 1),
    );
    const head = row("kind", kind);
    head.append(tools);
    return make(
      "fieldset",
      { class: "block" },
      make("legend", {}, label),
      head,
      row(
        "repeat",
        quantity(
          layer.repeat ?? 1,
          (v) => {
            layer.repeat = v;
          },
          { min: 1 },
        ),
      ),
      ...rows(layer, layer.node, label),
    );
  }

  function draw(now, onChanged, onUpdate) {
    [state, changed] = [now, onChanged];
    begin(now, onChanged, onUpdate);
    const { blocks, net, size } = state;
    const input = net.input,
      X = (input.X ||= { row2inf: 1 }),
      output = (net.output ||= made("readout")),
      loss = (net.loss ||= {});
    const kindOfLoss = "margin" in loss ? "margin" : "clip" in loss ? "clip" : "bounded";
    const losses = {
      margin: { margin: 1 },
      clip: { clip: 10 },
      bounded: { lipschitz: 1, range: 1 },
    };
    const held = kindOfLoss === "bounded" ? { lipschitz: 1, range: 1, ...loss } : loss;
    const examples = choice(
      ["a network…", ...Object.keys(blocks.examples)],
      "a network…",
      (name) => {
        if (blocks.examples[name]) {
          state.net = copy(blocks.examples[name]);
          changed();
        }
      },
    );
    by("builder").replaceChildren(
      row("start from", examples),
      make(
        "fieldset",
        {},
        make("legend", {}, "Sample"),
        row(
          "n",
          quantity(
            size.n,
            (v) => {
              size.n = v;
            },
            { min: 1 },
          ),
        ),
        row(
          "delta",
          quantity(
            size.delta,
            (v) => {
              size.delta = v;
            },
            { min: 0, max: 1 },
          ),
        ),
      ),
      make(
        "fieldset",
        {},
        make("legend", {}, "Input"),
        ...["T", ...("V" in input ? ["V"] : ["d"])].map((name) =>
          row(
            name,
            quantity(
              input[name],
              (v) => {
                input[name] = v;
              },
              { min: 1 },
            ),
          ),
        ),
        ...("V" in input
          ? []
          : Object.keys(X).map((norm) =>
              row(
                "X." + norm,
                quantity(
                  X[norm],
                  (v) => {
                    X[norm] = v;
                  },
                  { min: 0 },
                ),
              ),
            )),
      ),
      ...net.layer.map(block),
      make(
        "div",
        { class: "row" },
        make(
          "button",
          {
            type: "button",
            id: "add",
            onclick: () => {
              net.layer.push(made("head"));
              changed();
            },
          },
          "add a block",
        ),
      ),
      make(
        "fieldset",
        { class: "block" },
        make("legend", {}, "output"),
        row(
          "kind",
          choice(blocks.outputs, output.node || "readout", (node) => {
            net.output = made(node);
            changed();
          }),
        ),
        ...rows(output, output.node || "readout", "output"),
      ),
      make(
        "fieldset",
        { class: "block" },
        make("legend", {}, "loss"),
        row(
          "kind",
          choice(Object.keys(losses), kindOfLoss, (kind) => {
            net.loss = losses[kind];
            changed();
          }),
        ),
        ...Object.keys(held).map((name) =>
          row(
            name,
            typeof held[name] === "number"
              ? quantity(
                  held[name],
                  (v) => {
                    loss[name] = v;
                  },
                  { min: 0 },
                )
              : plain(held[name], (v) => {
                  loss[name] = v;
                }),
          ),
        ),
      ),
    );
  }

  return { draw, copy };
})();
