"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const dashes = { printed: [7, 4], derived: [], best: [2, 3] };
  const power = (y) => (y === null || y === undefined ? "–"
    : y >= -3 && y < 6 ? String(Number(Math.pow(10, y).toPrecision(3))) : "10^" + String(Number(y.toFixed(2))));
  const short = (x) => Math.abs(x) >= 1e4 || (x !== 0 && Math.abs(x) < 1e-3)
    ? x.toExponential(2).replace("e+", "e") : String(Number(x.toPrecision(4)));
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let light = !dark.matches;
  const ink = () => (light ? "#1a1a1a" : "#e8e8e8");
  const grid = () => (light ? "#e6e6e6" : "#2c2f36");
  const colour = (order) => {
    const found = data.colours[order % data.colours.length];
    return found === "#000000" ? ink() : found;
  };
  const hidden = data.panels.map(() => new Set());
  const charts = [];

  function named(ctx, text, x, y) {
    const size = 11 * devicePixelRatio, ink = ctx.fillStyle;
    ctx.fillStyle = light ? "#ffffff" : "#16181c";
    ctx.fillRect(x - 2, y - size, ctx.measureText(text).width + 4, size * 1.3);
    ctx.fillStyle = ink;
    ctx.fillText(text, x, y);
  }

  function marks(u, panel, shown) {
    const { ctx, bbox } = u;
    ctx.save();
    panel.curves.forEach((curve, i) => {
      if (!shown(i)) return;
      ctx.fillStyle = colour(curve.order);
      for (const k of curve.below) {
        const x = u.valToPos(data.sweep.values[k], "x", true), y = bbox.top + bbox.height;
        ctx.beginPath();
        ctx.moveTo(x - 5, y - 9); ctx.lineTo(x + 5, y - 9); ctx.lineTo(x, y); ctx.fill();
      }
    });
    ctx.strokeStyle = ctx.fillStyle = light ? "#666666" : "#aaaaaa";
    ctx.textAlign = "left";
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    panel.levels.forEach((level, k) => {
      const i = Math.floor((k * data.sweep.values.length) / 4) % data.sweep.values.length;
      if (level.y[i] === null) return;
      const y = u.valToPos(level.y[i], "y", true);
      if (y < bbox.top || y > bbox.top + bbox.height) return;
      named(ctx, level.label, u.valToPos(data.sweep.values[i], "x", true) + 6, y + 4);
    });
    ctx.setLineDash([4, 4]);
    for (const crossing of panel.crossings) {
      const x = u.valToPos(crossing.at, "x", true);
      ctx.beginPath(); ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + bbox.height); ctx.stroke();
      named(ctx, crossing.label, x + 4, bbox.top + bbox.height - 14);
    }
    ctx.restore();
  }

  function chart(place, width) {
    const k = Number(place.dataset.panel), panel = data.panels[k], n = panel.curves.length;
    const series = [{ label: data.sweep.name, value: (u, x) => (x === null ? "–" : short(x)) }];
    panel.curves.forEach((curve, i) => series.push({
      label: curve.label, stroke: colour(curve.order), width: curve.form === "derived" ? 2 : 1.4,
      dash: dashes[curve.form] || [10, 3, 2, 3], show: !hidden[k].has(i), spanGaps: false,
      points: { show: false }, value: (u, y) => power(y),
    }));
    panel.levels.forEach((level) => series.push({
      label: level.label, stroke: light ? "#888888" : "#999999", width: 1, points: { show: false },
      value: (u, y) => power(y),
    }));
    const axis = { stroke: ink(), grid: { stroke: grid(), width: 1 }, ticks: { stroke: grid() } };
    const options = {
      width, height: 380, series,
      scales: { x: { time: false, distr: data.sweep.log ? 3 : 1 }, y: {} },
      axes: [
        { ...axis, label: `${data.sweep.name} (${data.sweep.meaning})`, labelSize: 24,
          values: (u, ticks) => ticks.map((x) => (x === null ? "" : short(x).replace(/\.00e/, "e"))) },
        { ...axis, size: 76, values: (u, ticks) => ticks.map(power) },
      ],
      legend: { markers: { width: 2, dash: (u, i) => {
        const form = i > 0 && i <= n ? panel.curves[i - 1].form : "derived";
        return form === "derived" ? "solid" : form === "best" ? "dotted" : "dashed";
      } } },
      cursor: { focus: { prox: 24 } }, focus: { alpha: 0.35 },
      hooks: {
        draw: [(u) => marks(u, panel, (i) => u.series[i + 1].show)],
        setSeries: [(u, i, change) => {
          if (i === null || i < 1 || i > n || !("show" in change)) return;
          hidden[k][change.show ? "delete" : "add"](i - 1);
        }],
      },
    };
    const values = [data.sweep.values, ...panel.curves.map((c) => c.y), ...panel.levels.map((l) => l.y)];
    return new uPlot(options, values, place.querySelector(".plot"));
  }

  function forms(place) {
    const k = Number(place.dataset.panel), panel = data.panels[k];
    const box = document.createElement("div");
    box.className = "forms";
    for (const form of new Set(panel.curves.map((c) => c.form))) {
      const label = document.createElement("label"), input = document.createElement("input");
      input.type = "checkbox"; input.checked = true;
      input.addEventListener("change", () => {
        panel.curves.forEach((c, i) => {
          if (c.form === form) charts[k].setSeries(i + 1, { show: input.checked });
        });
      });
      label.append(input, " " + form);
      box.append(label);
    }
    const plot = document.createElement("div");
    plot.className = "plot";
    place.append(box, plot);
  }

  const places = [...document.querySelectorAll(".chart")];
  function drawAll(width) {
    for (const place of places) {
      const k = Number(place.dataset.panel);
      if (charts[k]) charts[k].destroy();
      charts[k] = chart(place, width || Math.max(320, place.clientWidth));
    }
  }
  places.forEach(forms);
  drawAll();
  let waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => places.forEach((place) => charts[Number(place.dataset.panel)]
      .setSize({ width: Math.max(320, place.clientWidth), height: 380 })), 100);
  });
  dark.addEventListener("change", () => { light = !dark.matches; drawAll(); });
  addEventListener("beforeprint", () => { light = true; drawAll(680); });
  addEventListener("afterprint", () => { light = !dark.matches; drawAll(); });

  for (const table of document.querySelectorAll(".wide table")) {
    const heads = [...table.querySelectorAll("th")], body = table.tBodies[0];
    heads.forEach((head, column) => head.firstChild.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => {
        const cell = row.cells[column];
        if (!("key" in cell.dataset)) return cell.textContent;
        return cell.dataset.key === "" ? Infinity : Number(cell.dataset.key);
      };
      const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
      [...body.rows].sort((a, b) => (down ? -1 : 1) * order(key(a), key(b)))
        .forEach((row) => body.append(row));
    }));
  }
})();
