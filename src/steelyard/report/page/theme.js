"use strict";
// The theme chosen for this page, known before anything is painted. No choice: that of the system.
const theme = (() => {
  const root = document.documentElement;
  const key = `steelyard theme of ${location.pathname}`;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const kept = () => {
    try {
      return localStorage.getItem(key) || "auto";
    } catch {
      return "auto"; // a browser that keeps nothing for local files
    }
  };

  function show(name) {
    if (name === "auto") delete root.dataset.theme;
    else root.dataset.theme = name;
  }
  function keep(name) {
    try {
      if (name === "auto") localStorage.removeItem(key);
      else localStorage.setItem(key, name);
    } catch {
      // the choice lasts as long as the page
    }
  }
  show(kept());
  return {
    dark: () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark",
    // calls `redraw` after each change, by the reader or the system
    choose(select, redraw) {
      select.value = root.dataset.theme || "auto";
      select.hidden = false;
      select.addEventListener("change", () => {
        keep(select.value);
        show(select.value);
        redraw();
      });
      system.addEventListener("change", redraw);
    },
  };
})();
