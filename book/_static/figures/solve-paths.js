// An entry of (I + A)^-1 as a sum over paths (eq-inverse-paths). All keys have one cosine, all
// tokens one strength, so every edge weighs -beta cos. Choose a cell of the table by pointer or
// arrow keys; the last slider walks through its paths one by one. The bars add up what the paths
// with 1, 2, ... steps contribute, in turn with a minus and a plus (eq-identical-keys).
"use strict";
GDN.figure("solve-paths", (host) => {
  const width = 400, left = 4, top = 176, side = 276;
  const drawing = GDN.canvas(host, width, 470,
    "Tokens joined by arcs, the table of the inverse, and the sums of paths by length");
  const state = { C: 5, cosine: 0.8, beta: 1, r: 5, i: 1, path: 0 };
  const read = GDN.readout(host);
  let pathSlider = null, ring = null;

  const shown = (x, digits = 3) =>
    (Math.abs(x) < 0.5 * 10 ** -digits ? 0 : x).toFixed(digits).replace("-", "−");
  const overlap = () => state.beta * state.cosine;
  const entry = (r, i) => {
    if (i > r) return 0;
    return i === r ? 1 : -overlap() * (1 - overlap()) ** (r - i - 1);
  };
  const role = (x) => `var(--gdn-${x < 0 ? "minus" : "plus"})`;
  const choose = (n, m) => {
    let ways = 1;
    for (let j = 1; j <= m; j += 1) ways = ways * (n - m + j) / j;
    return Math.round(ways);
  };

  // Every path from i to r as a list of tokens, the shortest first.
  const paths = (i, r) => {
    if (i > r) return [];
    if (i === r) return [[r]];
    const found = [], inner = r - i - 1;
    for (let bits = 0; bits < 2 ** inner; bits += 1) {
      const path = [i];
      for (let j = 0; j < inner; j += 1) if (bits >> j & 1) path.push(i + 1 + j);
      found.push([...path, r]);
    }
    return found.sort((one, other) => one.length - other.length);
  };

  const scene = GDN.svg(drawing, "g");
  const table = GDN.svg(drawing, "g", { tabindex: "0", role: "application",
    "aria-label": "Table of the inverse; the arrow keys move over its cells" });
  table.classList.add("gdn-handle");
  table.style.touchAction = "pan-y";
  table.style.cursor = "crosshair";
  const bars = GDN.svg(drawing, "g");

  const node = (token) => [24 + (token - 1) * (width - 48) / (state.C - 1), 152];
  const arc = (m, n, attributes) => {
    const [x1, y] = node(m), [x2] = node(n), radius = (x2 - x1) / 2;
    const tall = Math.min(radius * 0.84, 34 * (n - m));
    GDN.svg(scene, "path", { d: `M ${x1} ${y} A ${radius} ${tall} 0 0 1 ${x2} ${y}`,
      fill: "none", ...attributes });
  };

  const drawGraph = (chosen, value) => {
    scene.replaceChildren();
    const lit = new Set();
    chosen.forEach((path) => path.slice(1).forEach((n, at) => lit.add(`${path[at]},${n}`)));
    for (let m = 1; m <= state.C; m += 1) {
      for (let n = m + 1; n <= state.C; n += 1) {
        if (!lit.has(`${m},${n}`)) arc(m, n, { stroke: "var(--gdn-faint)", "stroke-width": 1.5 });
      }
    }
    for (const edge of lit) {
      arc(...edge.split(",").map(Number), { stroke: role(value), "stroke-width": 3 });
    }
    for (let token = 1; token <= state.C; token += 1) {
      const [x, y] = node(token), end = token === state.i || token === state.r;
      GDN.svg(scene, "circle", { cx: x, cy: y, r: 14,
        fill: end ? "var(--gdn-key)" : "var(--gdn-faint)",
        stroke: "var(--gdn-key)", "stroke-width": 2 });
      GDN.svg(scene, "text", { x, y: y + 5, "text-anchor": "middle", "font-weight": "bold",
        style: end ? "fill: var(--pst-color-background)" : "" }, `${token}`);
    }
  };

  const drawTable = () => {
    table.replaceChildren();
    const cell = side / state.C;
    for (let r = 1; r <= state.C; r += 1) {
      for (let i = 1; i <= state.C; i += 1) {
        const value = entry(r, i);
        const square = GDN.svg(table, "rect", { x: left + (i - 1) * cell, y: top + (r - 1) * cell,
          width: cell, height: cell, fill: i > r ? "var(--gdn-faint)" : role(value),
          "fill-opacity": i > r ? 0.4 : Math.min(0.75, Math.abs(value) * 0.4),
          stroke: "var(--gdn-faint)", "stroke-width": 1 });
        square.addEventListener("pointerenter", () => select(r, i));
        square.addEventListener("pointerdown", () => select(r, i));
        if (i <= r) {
          GDN.svg(table, "text", { x: left + (i - 0.5) * cell, y: top + (r - 0.5) * cell + 5,
            "text-anchor": "middle", "pointer-events": "none" }, shown(value, 2));
        }
      }
    }
    ring = GDN.svg(table, "rect", { width: cell, height: cell, fill: "none",
      stroke: "var(--gdn-ink)", "stroke-width": 3, "pointer-events": "none" });
  };

  // What the paths with m steps add: bars up and down from the middle line.
  const drawBars = () => {
    bars.replaceChildren();
    const x = 294, wide = 100, middle = top + side / 2, tall = side / 2 - 22;
    const between = state.r - state.i - 1, sums = [];
    for (let m = 1; m <= between + 1; m += 1) {
      sums.push(choose(between, m - 1) * (-overlap()) ** m);
    }
    const largest = Math.max(1, ...sums.map(Math.abs)), step = wide / Math.max(sums.length, 1);
    GDN.svg(bars, "text", { x: x + wide / 2, y: top + 4, "text-anchor": "middle" },
      "by steps");
    sums.forEach((sum, at) => {
      const high = tall * Math.abs(sum) / largest;
      GDN.svg(bars, "rect", { x: x + at * step + 2, width: Math.min(step - 4, 40),
        y: sum < 0 ? middle : middle - high, height: Math.max(high, 0.5), fill: role(sum) });
      const label = { x: x + at * step + 2 + Math.min(step - 4, 40) / 2, "text-anchor": "middle" };
      GDN.svg(bars, "text", { ...label, y: sum < 0 ? middle - 6 : middle + 16 }, `${at + 1}`);
    });
    GDN.svg(bars, "line", { x1: x, x2: x + wide, y1: middle, y2: middle,
      stroke: "var(--gdn-quiet)", "stroke-width": 1 });
    GDN.svg(bars, "text", { x: x + wide / 2, y: top + side, "text-anchor": "middle" },
      `sum ${shown(entry(state.r, state.i), 2)}`);
    return sums;
  };

  const explain = (every, chosen, sums) => {
    const { r, i, C } = state;
    const head = `C = ${C}, every edge weighs −βcos = ${shown(-overlap(), 2)}. `
      + `Entry (${r}, ${i}): `;
    if (i > r) return head + "0. No path leads back in time.";
    if (i === r) return head + "1, the path without a step.";
    if (state.path > 0) {
      const [path] = chosen, steps = path.length - 1;
      return `${head}path ${state.path} of ${every.length}, ${path.join(" → ")}, weighs `
        + `(${shown(-overlap(), 2)})^${steps} = ${shown((-overlap()) ** steps)}.`;
    }
    const size = sums.reduce((all, sum) => all + Math.abs(sum), 0);
    const list = sums.map((sum) => shown(sum, 2)).join(", ");
    const count = every.length === 1 ? "1 path" : `${every.length} paths`;
    return `${head}${count}. By number of steps they add ${list}; together `
      + `${shown(entry(r, i))}, from sizes that add up to ${shown(size)}. `
      + `The bound is β = ${shown(state.beta, 1)}.`;
  };

  const draw = () => {
    const { r, i } = state, every = paths(i, r);
    if (pathSlider) {
      pathSlider.range.max = Math.max(every.length, 1);
      state.path = Math.min(state.path, every.length);
      if (Number(pathSlider.range.value) !== state.path) pathSlider.set(state.path);
    }
    const chosen = state.path > 0 ? [every[state.path - 1]] : every;
    const value = state.path > 0 ? (-overlap()) ** (chosen[0].length - 1) : entry(r, i);
    drawGraph(chosen, value);
    const cell = side / state.C;
    ring.setAttribute("x", left + (i - 1) * cell);
    ring.setAttribute("y", top + (r - 1) * cell);
    read.textContent = explain(every, chosen, drawBars());
  };

  const select = (r, i) => {
    state.r = Math.min(Math.max(r, 1), state.C);
    state.i = Math.min(Math.max(i, 1), state.C);
    state.path = 0;
    draw();
  };

  table.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (!by[event.key]) return;
    select(state.r + by[event.key][0], state.i + by[event.key][1]);
    event.preventDefault();
  });

  const set = (name) => (value) => {
    state[name] = value;
    drawTable();
    if (name === "C") {
      select(value, 1);
    } else {
      draw();
    }
  };
  GDN.slider(host, "tokens C", { min: 3, max: 6, step: 1, value: 5 }, set("C"));
  GDN.slider(host, "cosine of every two keys", { min: 0, max: 1, step: 0.05, value: 0.8 },
    set("cosine"));
  GDN.slider(host, "write strength β", { min: 0, max: 2, step: 0.1, value: 1 }, set("beta"));
  pathSlider = GDN.slider(host, "one path (0: all)", { min: 0, max: 16, step: 1, value: 0 },
    (value) => { if (value !== state.path) { state.path = value; draw(); } });
  draw();
});
