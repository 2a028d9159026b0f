"use strict";
(() => {
  const { themes, specs, narrow } = JSON.parse(document.getElementById("charts").textContent);
  const shown = new Map();
  const KEPT_OPEN = 2; // on a small screen: the first picture and the options

  async function draw(box) {
    const name = box.dataset.chart;
    const spec = (box.clientWidth < 520 && narrow[name]) || specs[name];
    if (!spec || !box.clientWidth) return; // in a tab that is not chosen: drawn when it is
    shown.get(box)?.finalize();
    const scheme = theme.dark() ? "dark" : "light";
    const options = { actions: false, renderer: "svg", logLevel: 1 };
    try {
      const drawn = await vegaEmbed(box, { ...spec, config: themes[scheme] }, options);
      shown.set(box, drawn);
      zoom(box, drawn.view, spec);
    } catch (error) {
      box.textContent = "This chart could not be drawn here; its numbers are in the table below.";
      console.error(error);
    }
  }

  const boxes = [...document.querySelectorAll(".chart")];
  const pause = () => new Promise((resume) => setTimeout(resume));

  // one after the other from the top, so that the page can be read and scrolled meanwhile
  async function drawAll(redraw) {
    for (const box of boxes) {
      if (redraw || !shown.has(box)) await draw(box);
      await pause();
    }
  }
  theme.choose(document.getElementById("theme"), () => drawAll(true));

  let ready = false;
  for (const list of document.querySelectorAll(".tabs")) {
    const tabs = [...list.querySelectorAll("[role=tab]")];
    const panelOf = (tab) => document.getElementById(tab.getAttribute("aria-controls"));
    const choose = (chosen) => {
      for (const tab of tabs) {
        const on = tab === chosen;
        tab.setAttribute("aria-selected", on);
        tab.tabIndex = on ? 0 : -1;
        panelOf(tab).hidden = !on;
        const box = panelOf(tab).querySelector(".chart");
        if (on && ready && !shown.has(box)) draw(box);
      }
    };
    list.hidden = false;
    list.closest("figure").classList.add("tabbed");
    list.addEventListener("click", (event) => {
      const tab = event.target.closest("[role=tab]");
      if (tab) choose(tab);
    });
    list.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
      choose(next);
      next.focus();
    });
    choose(tabs[0]);
  }
  // a small screen shows the answer and the titles; a part opens when it is tapped or linked to
  const parts = [...document.querySelectorAll("details.part")];
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    const inside = target.querySelector(":scope > details.part");
    if (inside) inside.open = true;
    for (let at = target.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
    target.scrollIntoView();
  };
  if (matchMedia("(max-width: 40rem)").matches) {
    for (const part of parts.slice(KEPT_OPEN)) part.open = false;
  }
  for (const part of parts) part.addEventListener("toggle", () => part.open && ready && drawAll(false));
  addEventListener("hashchange", reveal);
  addEventListener("beforeprint", () => parts.forEach((part) => (part.open = true)));
  reveal();
  ready = true;
  drawAll(false);
})();
