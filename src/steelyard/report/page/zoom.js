"use strict";
// Zooming: the ends of an axis are signals of its picture. Time charts of one figure move together.
const zoom = (() => {
  const FROM = "x_from", TO = "x_to", SEARCH = "search";
  const LEAST_PX = 5; // shorter drags are clicks
  const groups = new Map();

  const wholeOf = (spec) => [FROM, TO].map((name) => spec.params.find((param) => param.name === name).value);
  const endsOf = (view) => [view.signal(FROM), view.signal(TO)];

  function go(group, ends) {
    group.ends = ends;
    group.reset.hidden = !ends;
    for (const picture of group.pictures.values()) show(picture, ends);
  }
  const show = ({ view, whole }, ends) => {
    const [from, to] = ends || whole;
    view.signal(FROM, from).signal(TO, to).runAsync();
  };

  function tools(before, text) {
    const line = document.createElement("p");
    line.className = "tools";
    line.append(text);
    const reset = document.createElement("button");
    Object.assign(reset, { type: "button", textContent: "Show all", hidden: true });
    line.append(reset);
    before.before(line);
    return { line, reset };
  }

  // where the picture's axes are on the screen
  const plotOf = (box) => box.querySelector(".role-frame.root .background").getBoundingClientRect();

  function drag(box, group) {
    let band = null, start = 0;
    const within = (event, plot) => Math.min(Math.max(event.clientX, plot.left), plot.right);
    box.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch" || event.button) return; // a finger scrolls the page
      const plot = plotOf(box);
      if (event.clientY < plot.top || event.clientY > plot.bottom) return;
      start = within(event, plot);
      band = document.createElement("div");
      band.className = "band";
      const frame = box.getBoundingClientRect();
      Object.assign(band.style, { top: `${plot.top - frame.top}px`, height: `${plot.height}px`, width: 0 });
      box.append(band);
      box.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    box.addEventListener("pointermove", (event) => {
      if (!band) return;
      const now = within(event, plotOf(box));
      band.style.left = `${Math.min(start, now) - box.getBoundingClientRect().left}px`;
      band.style.width = `${Math.abs(now - start)}px`;
    });
    const end = (event) => {
      if (!band) return;
      band.remove();
      band = null;
      const plot = plotOf(box);
      const now = within(event, plot);
      if (event.type === "pointercancel" || Math.abs(now - start) < LEAST_PX) return;
      const [from, to] = endsOf(group.pictures.get(box).view);
      const at = (px) => from + ((px - plot.left) / plot.width) * (to - from);
      go(group, [at(Math.min(start, now)), at(Math.max(start, now))]);
    };
    box.addEventListener("pointerup", end);
    box.addEventListener("pointercancel", end);
  }

  // the part of the whole under frames that match, each once, however they are nested
  function matched(rows, text, [from, to]) {
    const sought = text.toLowerCase();
    const found = rows.filter((row) => row.name.toLowerCase().includes(sought));
    found.sort((a, b) => a.start - b.start || b.end - a.end);
    let sum = 0, reached = from;
    for (const { start, end } of found) {
      if (end <= reached) continue;
      sum += end - Math.max(start, reached);
      reached = end;
    }
    return sum / (to - from);
  }

  function search(group, line, spec) {
    const input = document.createElement("input");
    Object.assign(input, { type: "search", placeholder: "Search functions", ariaLabel: "Search functions" });
    const share = document.createElement("output");
    input.addEventListener("input", () => {
      const text = input.value.trim();
      group.sought = text;
      for (const { view } of group.pictures.values()) view.signal(SEARCH, text).runAsync();
      const percent = 100 * matched(spec.data.values, text, wholeOf(spec));
      share.textContent = text ? `${percent ? percent.toPrecision(3) : 0}\u00a0% matched` : "";
    });
    line.prepend(input, share);
  }

  // the group of a box, made with the tools that it needs at its first picture
  function groupOf(box, spec) {
    const figure = box.closest("figure");
    const byFrame = spec.usermeta.zoom === "frame";
    const key = byFrame ? box : figure;
    if (!groups.has(key)) {
      const group = { pictures: new Map(), ends: null, sought: "" };
      const { line, reset } = byFrame
        ? tools(box, "")
        : tools(figure.querySelector(".panels"), "Drag over a chart to zoom in; double-click to see all again.");
      group.reset = reset;
      reset.addEventListener("click", () => go(group, null));
      if (byFrame) search(group, line, spec);
      groups.set(key, group);
    }
    return groups.get(key);
  }

  return function attach(box, view, spec) {
    if (!spec.usermeta?.zoom) return;
    const group = groupOf(box, spec);
    const isNew = !group.pictures.has(box);
    const picture = { view, whole: wholeOf(spec) };
    group.pictures.set(box, picture);
    if (group.ends) show(picture, group.ends);
    if (group.sought) view.signal(SEARCH, group.sought).runAsync();
    if (spec.usermeta.zoom === "frame") {
      view.addEventListener("click", (_, item) => {
        const frame = item?.datum;
        if (frame?.end > frame?.start) go(group, [frame.start, frame.end]);
      });
    } else if (isNew) {
      box.classList.add("dragged");
      drag(box, group);
    }
    if (isNew) box.addEventListener("dblclick", () => go(group, null));
  };
})();
