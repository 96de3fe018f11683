"use strict";
// Fields of a block: its keys as labelled editors, which write into the table of a network file.
// `state.blocks` is the catalogue; `changed` draws the form anew, `update` asks for the numbers.
explorer.fields = (() => {
  const { make, button, group, options } = explorer;
  let state = null,
    changed = null,
    update = null,
    ids = 0;

  // A row: a name and its editors, the first of which is labelled by it.
  function row(name, ...editors) {
    const id = "field-" + ids++;
    editors[0].id = id;
    return make("div", { class: "row" }, make("label", { for: id }, name), ...editors);
  }
  function quantity(value, set, about = {}) {
    const input = make("input", { type: "number", step: "any", value, ...about });
    input.addEventListener("change", () => {
      if (input.value !== "") {
        set(Number(input.value));
        update();
      }
    });
    return input;
  }
  function choice(names, value, set, about = {}) {
    const select = make("select", about, ...options(names, value));
    select.addEventListener("change", () => set(select.value));
    return select;
  }
  // What has no editor of its own, as JSON; what is none is put back.
  function plain(value, set) {
    let valid = JSON.stringify(value);
    const input = make("input", { value: valid });
    input.addEventListener("change", () => {
      try {
        set(JSON.parse(input.value));
        valid = input.value;
        update();
      } catch {
        input.value = valid;
      }
    });
    return input;
  }

  function norms(table, name) {
    const norms = table[name];
    if (typeof norms !== "object" || Object.values(norms).some((v) => typeof v !== "number"))
      return [
        plain(norms, (v) => {
          table[name] = v;
        }),
      ];
    return Object.entries(norms).flatMap(([norm, value]) => [
      choice(
        [...new Set([norm, ...state.blocks.norms, "rank"])],
        norm,
        (to) => {
          const radius = norms[norm];
          delete norms[norm];
          norms[to] = radius;
          changed();
        },
        { "aria-label": `norm of ${name}` },
      ),
      quantity(
        value,
        (v) => {
          norms[norm] = v;
        },
        { min: 0, "aria-label": `${norm} of ${name}` },
      ),
    ]);
  }

  function editors(table, field) {
    const { name, kind } = field,
      value = table[name] ?? field.default;
    const set = (v) => {
      table[name] = v;
    };
    if (kind === "norms") return norms(table, name);
    if (typeof value === "object" && value !== null) return [plain(value, set)];
    if (kind === "choice")
      return [
        choice(field.choices, value, (v) => {
          set(v);
          update();
        }),
      ];
    if (kind === "flag") {
      const box = make("input", { type: "checkbox" });
      box.checked = Boolean(value);
      box.addEventListener("change", () => {
        set(box.checked);
        update();
      });
      return [box];
    }
    return [quantity(value, set, { min: 0 })];
  }
  // What a field holds when it is added, and what a new block must have.
  const fresh = (field) => {
    if (field.kind === "norms") return { op: 1 };
    if (field.kind === "block") return Object.fromEntries(needed(state.blocks.nested[field.name]));
    return field.default ?? (field.name === "H" || field.name === "V" ? 2 : 64);
  };
  const needed = (node) =>
    state.blocks.nodes[node].filter((f) => f.needed).map((f) => [f.name, fresh(f)]);
  // A head needs its scores and its values, however they are written.
  const made = (node) => ({
    node,
    ...Object.fromEntries(needed(node)),
    ...(node === "head" || node === "heads" ? { W_QK: { op: 1 }, W_c: { op: 1 }, k: 64 } : {}),
  });

  function rows(table, node, label) {
    const fields = state.blocks.nodes[node] || [],
      shown = fields.filter((f) => f.name in table || f.needed);
    const rest = fields.filter((f) => !shown.includes(f));
    const lines = shown.map((f) => {
      if (f.kind === "block") {
        const inner = (table[f.name] ||= fresh(f));
        return group(
          f.name,
          { class: "block" },
          ...rows(inner, inner.node || state.blocks.nested[f.name], `${f.name} of ${label}`),
        );
      }
      const line = row(f.name, ...editors(table, f));
      if (!f.needed)
        line.append(
          button(
            "×",
            () => {
              delete table[f.name];
              changed();
            },
            { "aria-label": `without ${f.name}` },
          ),
        );
      return line;
    });
    if (rest.length) {
      const more = choice(
        ["more…", ...rest.map((f) => f.name)],
        "more…",
        (name) => {
          table[name] = fresh(rest.find((f) => f.name === name));
          changed();
        },
        { "aria-label": `more of ${label}` },
      );
      lines.push(make("div", { class: "row" }, more));
    }
    return lines;
  }

  function begin(now, onChanged, onUpdate) {
    [state, changed, update, ids] = [now, onChanged, onUpdate, 0];
  }
  return { begin, row, rows, quantity, choice, plain, made };
})();
