"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let light = !dark.matches;
  const dress = () => {
    document.documentElement.dataset.theme = light ? "light" : "dark";
  };
  dress();
  const hidden = data.charts.map(() => new Set());
  const charts = [],
    places = [...document.querySelectorAll(".chart")];
  const number = (place) => Number(place.dataset.chart);

  function drawAll(width) {
    for (const place of places) {
      const k = number(place);
      if (charts[k]) charts[k].destroy();
      const look = {
        light,
        colours: data.colours,
        hidden: hidden[k],
        width: width || Math.max(320, place.clientWidth),
      };
      charts[k] = dudleyCharts.chart(place, data.charts[k], look);
    }
  }
  for (const place of places) {
    dudleyCharts.forms(place, data.charts[number(place)], () => charts[number(place)]);
  }
  drawAll();
  let waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(
      () =>
        places.forEach((place) =>
          dudleyCharts.resize(charts[number(place)], Math.max(320, place.clientWidth)),
        ),
      100,
    );
  });
  const turn = (to, width) => {
    light = to;
    dress();
    drawAll(width);
  };
  dark.addEventListener("change", () => turn(!dark.matches));
  document.getElementById("theme").addEventListener("click", () => turn(!light));
  let before = light;
  addEventListener("beforeprint", () => {
    before = light;
    turn(true, 680);
  });
  addEventListener("afterprint", () => turn(before));
  dudleyTables(document);
})();
