"use strict";
// The curves of one quantity; what was hidden stays hidden.
explorer.curves = (() => {
  const { by, make, faint, show } = explorer;
  let drawing = null,
    hiddenNames = new Set();

  // The chart that the server drew, or null where nothing is known; `remove` takes a curve away.
  function paint(panel, axis, quantity, remove) {
    if (drawing) hiddenNames = new Set([...drawing.hidden].map((i) => drawing.panel.names[i]));
    drawing = null;
    if (!panel) {
      by("curves").replaceChildren(faint(`Nothing that is shown is known along ${axis.name}.`));
      return;
    }
    const whole = axis.on
      ? { ...panel, crossings: [...panel.crossings, { at: axis.value, label: "here" }] }
      : panel;
    const hidden = new Set(whole.names.flatMap((name, i) => (hiddenNames.has(name) ? [i] : [])));
    const words = `${whole.curves.length} curves of ${quantity} over ${axis.name}; the numbers here are in the table below`;
    const spot = make(
      "div",
      { class: "chart" },
      make("div", { class: "plot", role: "img", "aria-label": words }),
    );
    by("curves").replaceChildren(spot);
    drawing = show(spot, whole, hidden, false, (i) => remove(whole.names[i]));
  }

  return { paint };
})();
