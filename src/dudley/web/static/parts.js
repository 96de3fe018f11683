"use strict";
// What all views share: asking the server, the address, charts, and new elements.
const explorer = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const by = (id) => document.getElementById(id);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let light = !dark.matches;
  const THEME = "dudley-theme";
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
    element.append(...inside.filter((child) => child !== null && child !== undefined));
    return element;
  }
  const button = (text, act, about = {}) =>
    make("button", { type: "button", onclick: act, ...about }, text);
  const group = (title, about, ...inside) =>
    make("fieldset", about, make("legend", {}, title), ...inside);
  const options = (names, chosen = null) =>
    names.map((name) => make("option", { value: name, selected: name === chosen }, name));
  const faint = (text) => make("p", { class: "faint" }, text);
  const lead = (lines) =>
    make("ul", { class: "lead" }, ...lines.map((line) => make("li", {}, line)));

  async function ask(address, options = {}) {
    let answer;
    try {
      answer = await fetch(address, options);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Error("the server does not answer: is dudley serve still running?");
    }
    const text = await answer.text();
    let content;
    try {
      content = JSON.parse(text);
    } catch {
      content = { error: text || answer.statusText };
    }
    if (!answer.ok) throw new Error(content.error);
    return content;
  }

  // One run of `work` at a time: who asks meanwhile aborts its signal, and it runs once more.
  function lastWins(work) {
    let run = null;
    return async () => {
      if (run) {
        run.abort();
        return;
      }
      try {
        do {
          run = new AbortController();
          await work(run.signal);
        } while (run.signal.aborted);
      } finally {
        run = null;
      }
    };
  }

  // A view has all its numbers; `data-state` says how often.
  function complete(view) {
    const { dataset } = by("view-" + view);
    dataset.state = Number(dataset.state || 0) + 1;
  }

  function problem(error) {
    const place = by("problem");
    place.hidden = !error;
    place.textContent = error ? error.message : "";
  }
  const say = (text) => {
    by("live").textContent = text;
  };

  // Charts: each is drawn anew when the theme changes, and fitted when the width does.
  const width = (drawing) => Math.max(240, drawing.place.clientWidth);
  function draw(drawing) {
    if (drawing.chart) drawing.chart.destroy();
    const { hidden, remove } = drawing;
    const look = { light, colours: data.colours, hidden, remove, width: width(drawing) };
    drawing.chart = dudleyCharts.chart(drawing.place, drawing.panel, look);
    drawing.light = light;
  }
  function show(place, panel, hidden = new Set(), withForms = true, remove = null) {
    const drawing = { place, panel, hidden, remove, chart: null };
    drawn.add(drawing);
    if (withForms) dudleyCharts.forms(place, panel, () => drawing.chart);
    draw(drawing);
    return drawing;
  }
  function redraw() {
    for (const drawing of drawn) {
      if (!drawing.place.isConnected) {
        if (drawing.chart) drawing.chart.destroy();
        drawn.delete(drawing);
        continue;
      }
      if (!drawing.place.clientWidth) continue;
      if (drawing.light !== light) draw(drawing);
      else dudleyCharts.resize(drawing.chart, width(drawing));
    }
  }
  // As chosen on an earlier visit, else as the system asks; a browser may refuse to keep it.
  function theme() {
    try {
      return localStorage.getItem(THEME) ?? (dark.matches ? "dark" : "light");
    } catch {
      return dark.matches ? "dark" : "light";
    }
  }
  function keepTheme() {
    try {
      localStorage.setItem(THEME, light ? "light" : "dark");
    } catch {
      return;
    }
  }
  function dress(to) {
    light = to;
    document.documentElement.dataset.theme = light ? "light" : "dark";
    redraw();
  }

  // What the server made of a document: its body, its charts, its tables.
  function fill(place, answer) {
    place.innerHTML = answer.html;
    for (const spot of place.querySelectorAll(".chart"))
      show(spot, answer.charts[Number(spot.dataset.chart)]);
    dudleyTables(place);
    for (const region of place.querySelectorAll('.wide[role="region"]')) {
      const head = region.closest("section")?.querySelector("h2");
      if (head) region.setAttribute("aria-label", "table: " + head.textContent);
    }
  }
  // The names of statements in the first column of tables lead to them.
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
  const hashOf = (view, query) => "#" + view + ([...query].length ? "?" + query : "");
  const keep = (hash) => history.replaceState(null, "", hash);

  // A number, or where it is beyond floats what its logarithm says.
  const number = (value, log) => {
    if (value !== null && value !== undefined && Math.abs(value) < 1e6)
      return dudleyCharts.short(value);
    return log === null || log === undefined ? "–" : dudleyCharts.power(log / Math.LN10);
  };
  return {
    data,
    by,
    make,
    button,
    group,
    options,
    faint,
    lead,
    ask,
    lastWins,
    complete,
    problem,
    say,
    show,
    redraw,
    dress,
    theme,
    keepTheme,
    fill,
    linked,
    where,
    hashOf,
    keep,
    number,
    views,
    dark,
    isLight: () => light,
  };
})();
