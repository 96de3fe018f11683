"use strict";
// The form of a network: explorer.builder.draw(state, changed, update) writes into state.net.
explorer.builder = (() => {
  const { by, make, button, group } = explorer;
  const { begin, row, rows, quantity, choice, plain, made } = explorer.fields;
  const LOSSES = {
    margin: { margin: 1 },
    clip: { clip: 10 },
    bounded: { lipschitz: 1, range: 1 },
  };
  const START = "a network…";
  let state = null,
    changed = null;

  // A row with one number of a table.
  const amount = (label, table, name, about, value = table[name]) =>
    row(
      label,
      quantity(
        value,
        (v) => {
          table[name] = v;
        },
        about,
      ),
    );

  function block(layer, i) {
    const { blocks, net } = state,
      label = `block ${i + 1}`;
    const tool = (text, name, act, off) => {
      const done = () => {
        act();
        changed();
      };
      return button(text, done, { "aria-label": `${name} ${label}`, disabled: off });
    };
    const swap = (j) => () => {
      [net.layer[i], net.layer[j]] = [net.layer[j], net.layer[i]];
    };
    const kinds = Object.keys(blocks.nodes).filter((n) => !blocks.outputs.includes(n));
    const kind = choice(kinds, layer.node, (node) => {
      net.layer[i] = made(node);
      changed();
    });
    const tools = make(
      "span",
      { class: "tools" },
      tool("↑", "move up", swap(i - 1), i === 0),
      tool("↓", "move down", swap(i + 1), i === net.layer.length - 1),
      tool("×", "remove", () => net.layer.splice(i, 1), net.layer.length === 1),
    );
    const head = row("kind", kind);
    head.append(tools);
    return group(
      label,
      { class: "block" },
      head,
      amount("repeat", layer, "repeat", { min: 1 }, layer.repeat ?? 1),
      ...rows(layer, layer.node, label),
    );
  }

  function starts() {
    const { examples } = state.blocks;
    return choice([START, ...Object.keys(examples)], START, (name) => {
      if (examples[name]) {
        state.net = structuredClone(examples[name]);
        changed();
      }
    });
  }

  function sample({ size }) {
    return group(
      "Sample",
      {},
      amount("n", size, "n", { min: 1 }),
      amount("delta", size, "delta", { min: 0, max: 1 }),
    );
  }

  // Tokens are symbols of a vocabulary of V, or rows of d numbers whose norms are known.
  function input({ net }) {
    const table = net.input,
      X = (table.X ||= { row2inf: 1 }),
      coded = "V" in table;
    return group(
      "Input",
      {},
      ...["T", coded ? "V" : "d"].map((name) => amount(name, table, name, { min: 1 })),
      ...(coded ? [] : Object.keys(X).map((norm) => amount("X." + norm, X, norm, { min: 0 }))),
    );
  }

  function output({ blocks, net }) {
    const table = (net.output ||= made("readout")),
      node = table.node || "readout";
    const kind = choice(blocks.outputs, node, (to) => {
      net.output = made(to);
      changed();
    });
    return group("output", { class: "block" }, row("kind", kind), ...rows(table, node, "output"));
  }

  function loss({ net }) {
    const table = (net.loss ||= {});
    const name = "margin" in table ? "margin" : "clip" in table ? "clip" : "bounded";
    const shown = name === "bounded" ? { ...LOSSES.bounded, ...table } : table;
    const kind = choice(Object.keys(LOSSES), name, (to) => {
      net.loss = structuredClone(LOSSES[to]);
      changed();
    });
    const editor = (key) =>
      typeof shown[key] === "number"
        ? amount(key, table, key, { min: 0 }, shown[key])
        : row(
            key,
            plain(shown[key], (v) => {
              table[key] = v;
            }),
          );
    return group("loss", { class: "block" }, row("kind", kind), ...Object.keys(shown).map(editor));
  }

  function draw(now, onChanged, onUpdate) {
    [state, changed] = [now, onChanged];
    begin(now, onChanged, onUpdate);
    const add = () => {
      state.net.layer.push(made("head"));
      changed();
    };
    by("builder").replaceChildren(
      row("start from", starts()),
      sample(state),
      input(state),
      ...state.net.layer.map(block),
      make("div", { class: "row" }, button("add a block", add, { id: "add" })),
      output(state),
      loss(state),
    );
  }

  return { draw };
})();
