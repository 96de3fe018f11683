"use strict";
(() => {
  const { by, where, views, dress, theme, keepTheme, dark, isLight, redraw } = explorer;
  let visited = false;

  function route() {
    const target = where(),
      view = target.view in views ? target.view : "bounds";
    for (const name of Object.keys(views)) by("view-" + name).hidden = name !== view;
    for (const link of document.querySelectorAll("nav a")) {
      if (link.getAttribute("href") === "#" + view) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    document.title = `${document.querySelector(`nav a[href="#${view}"]`).textContent} · dudley explorer`;
    if (visited) {
      by("title-" + view).focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    visited = true;
    views[view].open(target);
    redraw();
  }

  dress(theme() === "light");
  dark.addEventListener("change", () => dress(theme() === "light"));
  by("theme").addEventListener("click", () => {
    dress(!isLight());
    keepTheme();
  });
  by("skip").addEventListener("click", (event) => {
    event.preventDefault();
    by("main").focus();
  });
  let waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(redraw, 100);
  });
  addEventListener("hashchange", route);
  route();
})();
