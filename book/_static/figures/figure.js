// What every moving figure shares: mounting, SVG, dragging, sliders. A classic script, so that it
// also runs from file://. A page asks for a figure with
//   <div class="gdn-figure" data-figure="householder-2d"></div>
// and the figure's own script answers with GDN.figure("householder-2d", (host) => { ... }).
// Colours are CSS variables (--gdn-key, --gdn-bytes, ...; see gdn.css), so dark mode needs no code.
"use strict";
window.GDN = (() => {
  const painters = {};

  const mount = (host) => {
    const paint = painters[host.dataset.figure];
    if (!paint || host.dataset.mounted) return;
    host.dataset.mounted = "yes";
    host.replaceChildren();
    paint(host);
  };
  const mountAll = () => document.querySelectorAll(".gdn-figure").forEach(mount);
  document.addEventListener("DOMContentLoaded", mountAll);

  // Register a figure; `paint(host)` fills the element once the page is there.
  const figure = (name, paint) => {
    painters[name] = paint;
    if (document.readyState !== "loading") mountAll();
  };

  // An SVG element with attributes, appended to `parent`.
  const svg = (parent, tag, attributes = {}, text = "") => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text) node.textContent = text;
    parent.append(node);
    return node;
  };

  // An HTML element with attributes, appended to `parent`.
  const html = (parent, tag, attributes = {}, text = "") => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text) node.textContent = text;
    parent.append(node);
    return node;
  };

  // A drawing of `width` by `height` user units that scales with the page.
  const canvas = (host, width, height, label) =>
    svg(host, "svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": label });

  // A point in the user units of `drawing`, from a pointer event.
  const locate = (drawing, event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(
      drawing.getScreenCTM().inverse());
    return [at.x, at.y];
  };

  // Make `handle` draggable by mouse and touch, and movable by the arrow keys:
  // move([x, y]) gets the pointer in user units, nudge([dx, dy]) gets -1, 0 or 1 a key press
  // (times 5 with Shift; y points up).
  const drag = (drawing, handle, label, move, nudge) => {
    handle.setAttribute("tabindex", "0");
    handle.setAttribute("role", "slider");
    handle.setAttribute("aria-label", label);
    handle.classList.add("gdn-handle");
    handle.addEventListener("pointerdown", (event) => {
      handle.setPointerCapture(event.pointerId);
      handle.classList.add("gdn-by-pointer"); // the hand needs no focus ring, the keyboard does
      handle.focus({ preventScroll: true });
      event.preventDefault();
    });
    handle.addEventListener("blur", () => handle.classList.remove("gdn-by-pointer"));
    handle.addEventListener("pointermove", (event) => {
      if (handle.hasPointerCapture(event.pointerId)) move(locate(drawing, event));
    });
    handle.addEventListener("keydown", (event) => {
      handle.classList.remove("gdn-by-pointer");
      const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
      if (!by[event.key]) return;
      const step = event.shiftKey ? 5 : 1;
      nudge(by[event.key].map((d) => d * step));
      event.preventDefault();
    });
  };

  // What a screen reader says of a handle.
  const say = (handle, now, text) => {
    handle.setAttribute("aria-valuenow", now);
    handle.setAttribute("aria-valuetext", text);
  };

  // A labelled slider under the drawing; input(value) runs at once and on every change.
  const slider = (host, label, { min, max, step, value }, input) => {
    const row = html(host, "label", { class: "gdn-slider" });
    html(row, "span", {}, label);
    const range = html(row, "input", { type: "range", min, max, step, value });
    const shown = html(row, "output", { "aria-live": "off" }); // the slider says it itself
    new MutationObserver(() => range.setAttribute("aria-valuetext", shown.textContent))
      .observe(shown, { childList: true });
    const decimals = (String(step).split(".")[1] || "").length;
    const update = () => {
      shown.textContent = Number(range.value).toFixed(decimals);
      input(Number(range.value));
    };
    range.addEventListener("input", update);
    update();
    return { range, set: (to) => { range.value = to; update(); } };
  };

  // The live text under a figure.
  const readout = (host) => html(host, "p", { class: "gdn-readout", "aria-live": "polite" });

  return { figure, svg, html, canvas, locate, drag, say, slider, readout };
})();
