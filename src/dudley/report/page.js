"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const dashes = { printed: [7, 4], derived: [], best: [2, 3] };
  const power = (y) => (y === null || y === undefined ? "–"
    : y >= -3 && y < 6 ? String(Number(Math.pow(10, y).toPrecision(3))) : "10^" + String(Number(y.toFixed(2))));
  const shown = (panel, y) => (y === null || y === undefined ? "–" : panel.powers ? power(y) : short(y));
  const short = (x) => Math.abs(x) >= 1e4 || (x !== 0 && Math.abs(x) < 1e-3)
    ? x.toExponential(2).replace("e+", "e") : String(Number(x.toPrecision(4)));
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let light = !dark.matches;
  const dress = () => { document.documentElement.dataset.theme = light ? "light" : "dark"; };
  dress();
  const ink = () => (light ? "#1a1a1a" : "#e8e8e8");
  const grid = () => (light ? "#e6e6e6" : "#2c2f36");
  const colour = (order) => {
    const found = data.colours[order % data.colours.length];
    return found === "#000000" ? ink() : found;
  };
  const hidden = data.charts.map(() => new Set());
  const charts = [];

  const wide = (panel) => {
    const y = panel.curves.flatMap((c) => c.y).filter((v) => v !== null);
    return panel.powers && Math.max(...y) - Math.min(...y) >= 2;
  };

  function named(ctx, text, x, y) {
    const size = 11 * devicePixelRatio, ink = ctx.fillStyle;
    ctx.fillStyle = light ? "#ffffff" : "#16181c";
    ctx.fillRect(x - 2, y - size, ctx.measureText(text).width + 4, size * 1.3);
    ctx.fillStyle = ink;
    ctx.fillText(text, x, y);
  }

  function marks(u, panel, visible) {
    const { ctx, bbox } = u;
    ctx.save();
    panel.curves.forEach((curve, i) => {
      if (!visible(i)) return;
      ctx.fillStyle = colour(curve.order);
      for (const k of curve.below) {
        const x = u.valToPos(panel.x[k], "x", true), y = bbox.top + bbox.height;
        ctx.beginPath();
        ctx.moveTo(x - 5, y - 9); ctx.lineTo(x + 5, y - 9); ctx.lineTo(x, y); ctx.fill();
      }
    });
    ctx.strokeStyle = ctx.fillStyle = light ? "#666666" : "#aaaaaa";
    ctx.textAlign = "left";
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    panel.levels.forEach((level, k) => {
      const i = Math.floor((k * panel.x.length) / 4) % panel.x.length;
      if (level.y[i] === null) return;
      const y = u.valToPos(level.y[i], "y", true);
      if (y < bbox.top || y > bbox.top + bbox.height) return;
      named(ctx, level.label, u.valToPos(panel.x[i], "x", true) + 6, y + 4);
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
    const k = Number(place.dataset.chart), panel = data.charts[k], n = panel.curves.length;
    const series = [{ label: panel.name, value: (u, x) => (x === null ? "–" : short(x)) }];
    panel.curves.forEach((curve, i) => series.push({
      label: curve.label, stroke: colour(curve.order), width: curve.form === "derived" ? 2 : 1.4,
      dash: dashes[curve.form] || [10, 3, 2, 3], show: !hidden[k].has(i), spanGaps: false,
      points: { show: false }, value: (u, y) => shown(panel, y),
    }));
    panel.levels.forEach((level) => series.push({
      label: level.label, stroke: light ? "#888888" : "#999999", width: 1, points: { show: false },
      value: (u, y) => shown(panel, y),
    }));
    const axis = { stroke: ink(), grid: { stroke: grid(), width: 1 }, ticks: { stroke: grid() } };
    const options = {
      width, height: 380, series,
      scales: { x: { time: false, distr: panel.log ? 3 : 1 }, y: {} },
      axes: [
        { ...axis, label: panel.meaning ? `${panel.name} (${panel.meaning})` : panel.name, labelSize: 24,
          values: (u, ticks) => ticks.map((x) => (x === null ? "" : short(x).replace(/\.00e/, "e"))) },
        { ...axis, size: 76, ...(wide(panel) ? { incrs: [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000] } : {}),
          values: (u, ticks) => ticks.map((y) => shown(panel, y)) },
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
    const values = [panel.x, ...panel.curves.map((c) => c.y), ...panel.levels.map((l) => l.y)];
    return new uPlot(options, values, place.querySelector(".plot"));
  }

  function forms(place) {
    const k = Number(place.dataset.chart), panel = data.charts[k];
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
      const k = Number(place.dataset.chart);
      if (charts[k]) charts[k].destroy();
      charts[k] = chart(place, width || Math.max(320, place.clientWidth));
    }
  }
  places.forEach(forms);
  drawAll();
  let waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => places.forEach((place) => charts[Number(place.dataset.chart)]
      .setSize({ width: Math.max(320, place.clientWidth), height: 380 })), 100);
  });
  const turn = (to, width) => { light = to; dress(); drawAll(width); };
  dark.addEventListener("change", () => turn(!dark.matches));
  document.getElementById("theme").addEventListener("click", () => turn(!light));
  let before = light;
  addEventListener("beforeprint", () => { before = light; turn(true, 680); });
  addEventListener("afterprint", () => turn(before));

  for (const table of document.querySelectorAll(".wide table")) {
    const copy = document.createElement("button");
    copy.className = "copy"; copy.type = "button"; copy.textContent = "copy";
    copy.addEventListener("click", () => {
      const text = [...table.rows].map((row) => [...row.cells].map((c) => c.textContent).join("\t")).join("\n");
      navigator.clipboard.writeText(text).then(
        () => { copy.textContent = "copied"; }, () => { copy.textContent = "select and copy by hand"; });
    });
    table.parentElement.before(copy);
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
