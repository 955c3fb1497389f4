// What every moving figure shares: mounting, SVG, dragging, controls. A classic script, so that it
// also runs from file://. A page asks for a figure with
//   <div class="gdn-figure" data-figure="householder-2d"></div>
// and the figure's own script answers with GDN.figure("householder-2d", (host) => { ... }). The
// host has a part for the drawing and one for the controls; gdn.css puts them side by side where
// both fit.
// Colours are CSS variables (--gdn-key, --gdn-bytes, ...; see gdn.css), so dark mode needs no code.
"use strict";
window.GDN = (() => {
  const painters = {};

  const mount = (host) => {
    const paint = painters[host.dataset.figure];
    if (!paint || host.dataset.mounted) return;
    host.dataset.mounted = "yes";
    host.replaceChildren();
    const parts = html(host, "div", { class: "gdn-parts" });
    for (const name of ["drawing", "controls"]) html(parts, "div", { class: `gdn-${name}` });
    paint(parts);
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

  // Text with its subscripts and powers, as in "W_q" and "2^(c_r − c_i)"; names such as
  // cu_seqlens stay as they are.
  const write = (node, text) => {
    node.replaceChildren();
    const inside = node instanceof SVGElement;
    for (const part of text.split(/([_^](?:\([^)]*\)|\p{L}{1,2}(?!\p{L})|→))/u)) {
      const low = part[0] === "_", high = part[0] === "^";
      if (part.length < 2 || !(low || high)) {
        node.append(part);
        continue;
      }
      const words = part.slice(1).replace(/^\((.*)\)$/, "$1");
      if (inside) {
        svg(node, "tspan", { dy: low ? "0.25em" : "-0.4em", style: "font-size: 0.75em" }, words);
        svg(node, "tspan", { dy: low ? "-0.19em" : "0.3em" }, "\u200b");
      } else write(html(node, low ? "sub" : "sup"), words);
    }
    return node;
  };

  // A number as an index: k₁.
  const low = (n) => String(n).replace(/\d/g, (digit) => "₀₁₂₃₄₅₆₇₈₉"[digit]);

  // The part of a figure that a piece goes to; a piece of it is its own part.
  const part = (host, name) => host.querySelector(`:scope > .gdn-${name}`) ?? host;

  // A drawing of `width` by `height` user units that scales with the page.
  const canvas = (host, width, height, label) => svg(part(host, "drawing"), "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": label });

  // Places for several drawings side by side, at least so wide; the controls go above them.
  const panes = (host, ...widths) => {
    host.classList.add("gdn-wide");
    const row = html(part(host, "drawing"), "div", { class: "gdn-panes" });
    return widths.map((width) => html(row, "div", { style: `--pane: ${width}` }));
  };

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

  // A point of view that walks round the middle of `drawing`: orthographic, `unit` pixels to one.
  // A circle of `radius` pixels is its grip, by mouse, finger and arrow keys; draw() follows.
  // look() gives the directions to the right, up and towards us; locate() goes back from pixels.
  const turntable = (drawing, { centre, unit, radius, turn, tilt }, draw) => {
    const look = () => {
      const [t, u] = [turn, tilt].map((degrees) => degrees * Math.PI / 180);
      const [ct, st, cu, su] = [Math.cos(t), Math.sin(t), Math.cos(u), Math.sin(u)];
      return [[-st, ct, 0], [-su * ct, -su * st, cu], [cu * ct, cu * st, su]];
    };
    const view = (at) => look().map((axis) => axis.reduce((sum, x, i) => sum + x * at[i], 0));
    const pixel = (at) => {
      const [right, up] = view(at);
      return [centre[0] + unit * right, centre[1] - unit * up];
    };
    const grip = svg(drawing, "circle",
      { cx: centre[0], cy: centre[1], r: radius, fill: "transparent" });
    const words = () => `Seen from ${turn}° round, ${tilt}° up.`;
    const tell = () => say(grip, turn, `seen from ${turn} degrees round and ${tilt} degrees up`);
    const walk = (round, up) => {
      turn = ((Math.round(round) % 360) + 360) % 360;
      tilt = Math.round(Math.max(-90, Math.min(90, up)));
      tell();
      draw();
    };
    let last = null, exact = [turn, tilt];
    grip.setAttribute("aria-valuemin", 0);
    grip.setAttribute("aria-valuemax", 359);
    grip.addEventListener("pointerdown", () => { last = null; exact = [turn, tilt]; });
    drag(drawing, grip, "point of view",
      (at) => {
        if (last) {
          exact = [exact[0] - 0.6 * (at[0] - last[0]), exact[1] + 0.6 * (at[1] - last[1])];
          walk(...exact);
        }
        last = at;
      },
      ([dx, dy]) => walk(turn + 5 * dx, tilt + 5 * dy));
    grip.style.touchAction = "pan-y"; // up and down a finger scrolls the page
    tell();
    return { look, view, pixel, words };
  };

  // A labelled slider; input(value) runs at once and on every change.
  const slider = (host, label, { min, max, step, value }, input) => {
    const row = html(part(host, "controls"), "label", { class: "gdn-slider" });
    write(html(row, "span"), label);
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

  // Buttons in a row, from their words and what a click does.
  const buttons = (host, actions) => {
    const row = html(part(host, "controls"), "div", { class: "gdn-buttons" });
    return Object.entries(actions).map(([label, act]) => {
      const node = html(row, "button", { type: "button", class: "gdn-button" }, label);
      node.addEventListener("click", act);
      return node;
    });
  };

  // One of several [value, words], as buttons of which one is pressed; choose(value) on a change.
  const choice = (host, label, options, value, choose) => {
    const row = html(part(host, "controls"), "div",
      { class: "gdn-choice", role: "radiogroup", "aria-label": label });
    html(row, "span", { class: "gdn-choice-name" }, label);
    const name = `gdn-${document.querySelectorAll(".gdn-choice").length}`;
    for (const [one, words] of options) {
      const option = html(row, "label");
      const radio = html(option, "input", { type: "radio", name, value: one });
      radio.checked = one === value;
      html(option, "span", {}, words);
      radio.addEventListener("change", () => choose(one));
    }
  };

  // A labelled field, a text or a menu.
  const field = (host, label, tag, attributes = {}) => {
    const row = html(part(host, "controls"), "label", { class: "gdn-field" });
    html(row, "span", {}, label);
    return html(row, tag, attributes);
  };

  // The live text of a figure.
  const readout = (host) => html(host, "p", { class: "gdn-readout", "aria-live": "polite" });

  return { figure, svg, html, write, low, canvas, panes, locate, drag, say, turntable, slider, buttons,
    choice, field, readout };
})();
