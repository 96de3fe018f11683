"use strict";
// A chart of curves by uPlot: chart(place, panel, look) with look = { light, colours, hidden, width }.
const dudleyCharts = (() => {
  const HEIGHT = 380;
  const dashes = { printed: [7, 4], derived: [], best: [2, 3] };
  const short = (x) =>
    Math.abs(x) >= 1e4 || (x !== 0 && Math.abs(x) < 1e-3)
      ? x.toExponential(2).replace("e+", "e")
      : String(Number(x.toPrecision(4)));
  const power = (y) =>
    y >= -3 && y < 6
      ? String(Number(Math.pow(10, y).toPrecision(3)))
      : "10^" + String(Number(y.toFixed(2)));
  const shown = (panel, y) =>
    y === null || y === undefined ? "–" : panel.powers ? power(y) : short(y);
  const ink = (look) => (look.light ? "#1a1a1a" : "#e8e8e8");
  const grid = (look) => (look.light ? "#e6e6e6" : "#2c2f36");
  const colour = (look, order) => {
    const found = look.colours[order % look.colours.length];
    return found === "#000000" ? ink(look) : found;
  };
  const wide = (panel) => {
    const y = panel.curves.flatMap((c) => c.y).filter((v) => v !== null);
    return panel.powers && Math.max(...y) - Math.min(...y) >= 2;
  };

  // A tenth of room on both sides; where nothing moves, a unit.
  const room = (low, high) => {
    if (low === null || high === null) return [0, 1];
    const more = high > low ? (high - low) / 10 : 0.5;
    return [low - more, high + more];
  };

  function named(ctx, look, text, x, y) {
    const size = 11 * devicePixelRatio,
      before = ctx.fillStyle;
    ctx.fillStyle = look.light ? "#ffffff" : "#16181c";
    ctx.fillRect(x - 2, y - size, ctx.measureText(text).width + 4, size * 1.3);
    ctx.fillStyle = before;
    ctx.fillText(text, x, y);
  }

  // Above a level a bound says no more than what holds without theory.
  function shade(u, panel, look) {
    const { ctx, bbox } = u,
      top = bbox.top;
    if (panel.shaded === false) return;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, top, bbox.width, bbox.height);
    ctx.clip();
    ctx.fillStyle = look.light ? "rgba(120, 120, 120, .13)" : "rgba(200, 200, 200, .11)";
    for (const level of panel.levels) {
      const known = level.y.map((y, i) => [panel.x[i], y]).filter(([, y]) => y !== null);
      if (!known.length) continue;
      const places = known.map(([x, y]) => [u.valToPos(x, "x", true), u.valToPos(y, "y", true)]);
      ctx.beginPath();
      ctx.moveTo(places[0][0], top);
      places.forEach(([x, y]) => ctx.lineTo(x, Math.max(top, y)));
      ctx.lineTo(places[places.length - 1][0], top);
      ctx.fill();
    }
    ctx.restore();
  }

  function marks(u, panel, look) {
    const { ctx, bbox } = u;
    ctx.save();
    panel.curves.forEach((curve, i) => {
      if (!u.series[i + 1].show) return;
      ctx.fillStyle = colour(look, curve.order);
      for (const k of curve.below) {
        const x = u.valToPos(panel.x[k], "x", true),
          y = bbox.top + bbox.height;
        ctx.beginPath();
        ctx.moveTo(x - 5, y - 9);
        ctx.lineTo(x + 5, y - 9);
        ctx.lineTo(x, y);
        ctx.fill();
      }
    });
    ctx.strokeStyle = ctx.fillStyle = look.light ? "#666666" : "#aaaaaa";
    ctx.textAlign = "left";
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    panel.levels.forEach((level, k) => {
      const i = Math.floor((k * panel.x.length) / 4) % panel.x.length;
      if (level.y[i] === null) return;
      const y = u.valToPos(level.y[i], "y", true);
      if (y < bbox.top || y > bbox.top + bbox.height) return;
      named(ctx, look, level.label, u.valToPos(panel.x[i], "x", true) + 6, y + 4);
    });
    ctx.setLineDash([4, 4]);
    for (const crossing of panel.crossings) {
      const x = u.valToPos(crossing.at, "x", true);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      const size = ctx.measureText(crossing.label).width,
        fits = x + 4 + size < bbox.left + bbox.width;
      named(ctx, look, crossing.label, fits ? x + 4 : x - 4 - size, bbox.top + bbox.height - 14);
    }
    ctx.restore();
  }

  function chart(place, panel, look) {
    const n = panel.curves.length,
      hidden = look.hidden;
    const series = [{ label: panel.name, value: (u, x) => (x === null ? "–" : short(x)) }];
    panel.curves.forEach((curve, i) =>
      series.push({
        label: curve.label,
        stroke: colour(look, curve.order),
        width: curve.form === "derived" ? 2 : 1.4,
        dash: dashes[curve.form] || [10, 3, 2, 3],
        show: !hidden.has(i),
        spanGaps: false,
        points: { show: false },
        value: (u, y) => shown(panel, y),
      }),
    );
    panel.levels.forEach((level) =>
      series.push({
        label: level.label,
        stroke: look.light ? "#888888" : "#999999",
        width: 1,
        points: { show: false },
        value: (u, y) => shown(panel, y),
      }),
    );
    const axis = {
      stroke: ink(look),
      grid: { stroke: grid(look), width: 1 },
      ticks: { stroke: grid(look) },
    };
    const options = {
      width: look.width,
      height: HEIGHT,
      series,
      scales: {
        x: { time: false, distr: panel.log ? 3 : 1 },
        y: { range: (u, low, high) => room(low, high) },
      },
      axes: [
        {
          ...axis,
          label: panel.meaning ? `${panel.name} (${panel.meaning})` : panel.name,
          labelSize: 24,
          values: (u, ticks) =>
            ticks.map((x) => (x === null ? "" : short(x).replace(/\.00e/, "e"))),
        },
        {
          ...axis,
          size: 76,
          ...(wide(panel) ? { incrs: [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000] } : {}),
          values: (u, ticks) => ticks.map((y) => shown(panel, y)),
        },
      ],
      legend: {
        markers: {
          width: 2,
          dash: (u, i) => {
            const form = i > 0 && i <= n ? panel.curves[i - 1].form : "derived";
            return form === "derived" ? "solid" : form === "best" ? "dotted" : "dashed";
          },
        },
      },
      cursor: { focus: { prox: 24 } },
      focus: { alpha: 0.35 },
      hooks: {
        drawClear: [(u) => shade(u, panel, look)],
        draw: [(u) => marks(u, panel, look)],
        setSeries: [
          (u, i, change) => {
            if (i === null || i < 1 || i > n || !("show" in change)) return;
            hidden[change.show ? "delete" : "add"](i - 1);
          },
        ],
      },
    };
    const values = [panel.x, ...panel.curves.map((c) => c.y), ...panel.levels.map((l) => l.y)];
    const plot = place.querySelector(".plot"),
      made = new uPlot(options, values, plot);
    reachable(made, plot);
    return made;
  }

  // The picture is one image; the names of its curves are boxes that a keyboard can tick.
  function reachable(u, plot) {
    const words = plot.getAttribute("aria-label") || plot.dataset.words;
    plot.dataset.words = words;
    ["role", "aria-label"].forEach((name) => plot.removeAttribute(name));
    const image = u.root.querySelector(".u-wrap"),
      legend = u.root.querySelector(".u-legend");
    image.setAttribute("role", "img");
    image.setAttribute("aria-label", words);
    legend.setAttribute("role", "group");
    legend.setAttribute("aria-label", "Curves");
    legend.querySelectorAll("tbody, tr, td").forEach((one) => one.setAttribute("role", "none"));
    legend.querySelectorAll("th").forEach((box, i) => {
      if (i === 0) {
        box.setAttribute("role", "none");
        return;
      }
      const told = () => box.setAttribute("aria-checked", String(u.series[i].show));
      box.setAttribute("role", "checkbox");
      box.tabIndex = 0;
      box.addEventListener("click", () => setTimeout(told));
      box.addEventListener("keydown", (event) => {
        if (event.key === " " || event.key === "Enter") {
          event.preventDefault();
          box.click();
        }
      });
      told();
    });
  }

  // A box for each form, where there are several; `current` gives the chart that is drawn now.
  function forms(place, panel, current) {
    const box = document.createElement("div"),
      names = new Set(panel.curves.map((c) => c.form));
    box.className = "forms";
    if (names.size < 2) return;
    for (const form of names) {
      const label = document.createElement("label"),
        input = document.createElement("input");
      input.type = "checkbox";
      input.checked = true;
      input.addEventListener("change", () => {
        panel.curves.forEach((c, i) => {
          if (c.form === form) current().setSeries(i + 1, { show: input.checked });
        });
      });
      label.append(input, " " + form);
      box.append(label);
    }
    place.prepend(box);
  }

  const resize = (one, width) => one.setSize({ width, height: HEIGHT });
  return { chart, resize, forms, short, power };
})();
