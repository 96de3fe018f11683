"use strict";
// The curves of one kind of quantity, from all sources; what was hidden stays hidden.
explorer.curves = (() => {
  const { by, make, faint, show } = explorer;
  let shown = null,
    hiddenLabels = new Set();

  // Two sources on one panel: colours go on, and a level that both have is drawn once.
  function merged(first, other) {
    if (!first) return other;
    const base = 1 + Math.max(...first.curves.map((c) => c.order));
    const key = (level) => JSON.stringify([level.label, level.y]);
    const known = new Set(first.levels.map(key));
    return {
      ...first,
      curves: [...first.curves, ...other.curves.map((c) => ({ ...c, order: c.order + base }))],
      levels: [...first.levels, ...other.levels.filter((l) => !known.has(key(l)))],
      crossings: [...first.crossings, ...other.crossings],
    };
  }

  function paint(panels, chosen, axis) {
    if (shown) hiddenLabels = new Set([...shown.hidden].map((i) => shown.panel.curves[i].label));
    const panel = panels[chosen.quantity];
    shown = null;
    if (!panel) {
      by("curves").replaceChildren(faint(`Nothing of this kind is known along ${chosen.axis}.`));
      return;
    }
    const whole = axis.on
      ? { ...panel, crossings: [...panel.crossings, { at: axis.value, label: "here" }] }
      : panel;
    const hidden = new Set(whole.curves.flatMap((c, i) => (hiddenLabels.has(c.label) ? [i] : [])));
    const words = `${whole.curves.length} curves of ${chosen.quantity} over ${axis.name}; the numbers here are in the table below`;
    const spot = make(
      "div",
      { class: "chart" },
      make("div", { class: "plot", role: "img", "aria-label": words }),
    );
    by("curves").replaceChildren(spot);
    shown = show(spot, whole, hidden, false);
  }

  return { merged, paint };
})();
