"use strict";
// A chart of curves by uPlot: chart(place, panel, look) with look = { light, colours, hidden, width }.
const dudleyCharts = (() => {
  const HEIGHT = 380;
  const dashes = { printed: [7, 4], derived: [], best: [2, 3] };
  // Whole numbers and all digits before the point below a million; an exponent beyond.
  const short = (x) => {
    const size = Math.abs(x);
    if (size >= 1e6 || (x !== 0 && size < 1e-3))
      return x.toExponential(2).replace(/\.?0*e\+?/, "e");
    return String(size >= 1000 ? Math.round(x) : Number(x.toPrecision(4)));
  };
  const power = (y) =>
    y >= -12 && y < 6 ? short(Number(Math.pow(10, y).toPrecision(6))) : "10^" + Number(y.toFixed(2));
  const shown = (panel, y) =>
    y === null || y === undefined ? "–" : panel.powers ? power(y) : short(y);
  const ink = (look) => (look.light ? "#1a1a1a" : "#e8e8e8");
  const grid = (look) => (look.light ? "#e6e6e6" : "#2c2f36");
  const colour = (look, order) => {
    const found = look.colours[order % look.colours.length];
    return found === "#000000" ? ink(look) : found;
  };
  // The marker of a statement by its place, so that colour is not all that tells curves apart.
  const SHAPES = ["circle", "square", "up", "diamond", "down", "plus", "cross", "star"];
  const CORNERS = {
    square: [[-1, -1], [1, -1], [1, 1], [-1, 1]],
    up: [[0, -1.2], [1.1, 0.9], [-1.1, 0.9]],
    down: [[0, 1.2], [1.1, -0.9], [-1.1, -0.9]],
    diamond: [[0, -1.3], [1.1, 0], [0, 1.3], [-1.1, 0]],
  };
  const STROKES = {
    plus: [[0, -1.3, 0, 1.3], [-1.3, 0, 1.3, 0]],
    cross: [[-1, -1, 1, 1], [-1, 1, 1, -1]],
    star: [[0, -1.3, 0, 1.3], [-1.2, -0.7, 1.2, 0.7], [-1.2, 0.7, 1.2, -0.7]],
  };
  function marker(ctx, order, x, y, r) {
    const shape = SHAPES[order % SHAPES.length];
    ctx.beginPath();
    if (shape in STROKES) {
      for (const [a, b, c, d] of STROKES[shape]) {
        ctx.moveTo(x + a * r, y + b * r);
        ctx.lineTo(x + c * r, y + d * r);
      }
    } else if (shape === "circle") ctx.arc(x, y, r, 0, 2 * Math.PI);
    else {
      CORNERS[shape].forEach(([a, b], i) => ctx[i ? "lineTo" : "moveTo"](x + a * r, y + b * r));
      ctx.closePath();
    }
    if (!(shape in STROKES)) ctx.fill();
    ctx.stroke();
  }

  // The line and the marker of a curve, for its name.
  function icon(look, curve) {
    const canvas = document.createElement("canvas"),
      scale = devicePixelRatio || 1;
    Object.assign(canvas, { width: 34 * scale, height: 12 * scale, className: "icon" });
    canvas.dataset.marker = SHAPES[curve.order % SHAPES.length];
    canvas.dataset.colour = colour(look, curve.order);
    canvas.setAttribute("aria-hidden", "true");
    const ctx = canvas.getContext("2d");
    ctx.scale(scale, scale);
    ctx.strokeStyle = colour(look, curve.order);
    ctx.fillStyle = look.light ? "#ffffff" : "#16181c";
    ctx.lineWidth = 2;
    ctx.setLineDash(dashes[curve.form] || [10, 3, 2, 3]);
    ctx.beginPath();
    ctx.moveTo(0, 6);
    ctx.lineTo(34, 6);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.lineWidth = 1.5;
    marker(ctx, curve.order, 17, 6, 3.6);
    return canvas;
  }
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

  // About eight markers along a curve, each curve's a little further on.
  function markers(u, panel, look, curve) {
    const { ctx, bbox } = u,
      step = Math.max(1, Math.round(panel.x.length / 8));
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left - 6, bbox.top - 6, bbox.width + 12, bbox.height + 12);
    ctx.clip();
    ctx.setLineDash([]);
    ctx.strokeStyle = colour(look, curve.order);
    ctx.fillStyle = look.light ? "#ffffff" : "#16181c";
    ctx.lineWidth = 1.5 * devicePixelRatio;
    for (let k = curve.order % step; k < panel.x.length; k += step) {
      if (curve.y[k] === null) continue;
      const at = [u.valToPos(panel.x[k], "x", true), u.valToPos(curve.y[k], "y", true)];
      marker(ctx, curve.order, ...at, 3.6 * devicePixelRatio);
    }
    ctx.restore();
  }

  function marks(u, panel, look) {
    const { ctx, bbox } = u;
    ctx.save();
    panel.curves.forEach((curve, i) => {
      if (!u.series[i + 1].show) return;
      markers(u, panel, look, curve);
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
        label: curve.note ? `${curve.label} (${curve.note})` : curve.label,
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
    made.root.querySelectorAll(".u-legend .u-series").forEach((row, i) => {
      const place = row.querySelector(".u-marker");
      if (i < 1 || i > n) return;
      if (place) place.replaceWith(icon(look, panel.curves[i - 1]));
      if (look.remove) row.append(remover(panel.curves[i - 1].label, () => look.remove(i - 1)));
    });
    return made;
  }

  function remover(name, act) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "remove", textContent: "×" });
    button.setAttribute("aria-label", `take ${name} away`);
    button.addEventListener("click", act);
    return button;
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
