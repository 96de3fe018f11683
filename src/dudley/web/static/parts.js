"use strict";
// What all views share: asking the server, the address, charts, and new elements.
const explorer = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const by = (id) => document.getElementById(id);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let light = !dark.matches;
  const drawn = new Set();
  const views = {};

  // An element: make("a", { href: "#x" }, "text", child, …); on… are listeners.
  function make(tag, about = {}, ...inside) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(about)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined)
        element.setAttribute(name, value);
    }
    element.append(...inside.filter((one) => one !== null && one !== undefined));
    return element;
  }

  async function ask(address, options = {}) {
    let answer;
    try {
      answer = await fetch(address, options);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Error("the server does not answer: is dudley serve still running?");
    }
    const text = await answer.text();
    let told;
    try {
      told = JSON.parse(text);
    } catch {
      told = { error: text || answer.statusText };
    }
    if (!answer.ok) throw new Error(told.error);
    return told;
  }

  function problem(error) {
    const place = by("problem");
    place.hidden = !error;
    place.textContent = error ? error.message : "";
  }
  const say = (text) => {
    by("live").textContent = text;
  };

  // Charts: each is drawn anew when the theme or the width changes.
  function draw(one) {
    if (one.chart) one.chart.destroy();
    const look = {
      light,
      colours: data.colours,
      hidden: one.hidden,
      width: Math.max(300, one.place.clientWidth),
    };
    one.chart = dudleyCharts.chart(one.place, one.panel, look);
    one.light = light;
  }
  function show(place, panel, hidden = new Set(), withForms = true) {
    const one = { place, panel, hidden, chart: null };
    drawn.add(one);
    if (withForms) dudleyCharts.forms(place, panel, () => one.chart);
    draw(one);
    return one;
  }
  function redraw() {
    for (const one of drawn) {
      if (!one.place.isConnected) {
        if (one.chart) one.chart.destroy();
        drawn.delete(one);
        continue;
      }
      if (!one.place.clientWidth) continue;
      if (one.light !== light) draw(one);
      else one.chart.setSize({ width: Math.max(300, one.place.clientWidth), height: 380 });
    }
  }
  function dress(to) {
    light = to;
    document.documentElement.dataset.theme = light ? "light" : "dark";
    redraw();
  }

  // What the server made of a document: its body, its charts, its tables.
  function fill(place, told) {
    place.innerHTML = told.html;
    for (const spot of place.querySelectorAll(".chart"))
      show(spot, told.charts[Number(spot.dataset.chart)]);
    dudleyTables(place);
    for (const region of place.querySelectorAll('.wide[role="region"]')) {
      const head = region.closest("section")?.querySelector("h2");
      if (head) region.setAttribute("aria-label", "table: " + head.textContent);
    }
  }
  function linked(place) {
    for (const cell of place.querySelectorAll("tbody td:first-child")) {
      const id = cell.textContent;
      if (/^[a-z]+\d{4}\/\S+$/.test(id))
        cell.replaceChildren(make("a", { href: "#statements/" + id }, id));
    }
  }

  // The address: #view/path?name=value…
  function where() {
    const [path, query] = location.hash.slice(1).split(/\?(.*)/s);
    const [view, ...rest] = path.split("/");
    return {
      view,
      path: decodeURIComponent(rest.join("/")),
      query: new URLSearchParams(query || ""),
    };
  }
  const here = (view, path = "", query = null) =>
    "#" + view + (path ? "/" + path : "") + (query && [...query].length ? "?" + query : "");
  const keep = (hash) => history.replaceState(null, "", hash);

  const number = (value, log) => {
    if (value !== null && value !== undefined && Math.abs(value) < 1e6)
      return dudleyCharts.short(value);
    return log === null || log === undefined ? "–" : dudleyCharts.power(log / Math.LN10);
  };
  return {
    data,
    by,
    make,
    ask,
    problem,
    say,
    show,
    redraw,
    dress,
    fill,
    linked,
    where,
    here,
    keep,
    number,
    views,
    dark,
    isLight: () => light,
  };
})();
