// The decay mask of a chunk: what is left, at token r, of what token i wrote (eq-decay-mask).
// Hover, tap or walk with the arrow keys over the cells; the sliders set alpha, C and a reset.
"use strict";
GDN.figure("decay-mask", (host) => {
  const side = 320, left = 40, top = 58;
  const drawing = GDN.canvas(host, 380, 400, "The decay mask of one chunk");
  const state = { alpha: 0.85, C: 8, reset: 0, r: 6, i: 3 };
  const read = GDN.readout(host);

  const alphaOf = (token) => (token === state.reset ? 0 : state.alpha);
  const decay = (r, i) => {
    if (i > r) return 0;
    let product = 1;
    for (let j = i + 1; j <= r; j += 1) product *= alphaOf(j);
    return product;
  };

  const explain = () => {
    const { r, i } = state;
    if (i > r) return `row r = ${r}, column i = ${i}: Γ = 0. Token ${i} comes after token ${r}, ` +
      "so it is masked.";
    if (i === r) return `row r = ${r}, column i = ${i}: Γ = 1, the empty product. A token reads ` +
      "its own write in full, which is why the diagonal is one.";
    const factors = [];
    for (let j = i + 1; j <= r; j += 1) factors.push(`${alphaOf(j)}`);
    const shown = factors.length > 6
      ? [...factors.slice(0, 3), "…", factors[factors.length - 1]] : factors;
    const names = r === i + 1 ? `α${GDN.low(r)}`
      : `α${GDN.low(i + 1)} … α${GDN.low(r)}`;
    return `row r = ${r}, column i = ${i}: Γ = ${names} = ${shown.join(" · ")} = ` +
      `${decay(r, i).toPrecision(3)}` +
      (decay(r, i) === 0 ? `. The reset at token ${state.reset} lies between.` : ".");
  };

  const cells = GDN.svg(drawing, "g", {
    tabindex: "0", role: "application",
    "aria-label": "Decay mask; the arrow keys move over its cells",
  });
  cells.classList.add("gdn-handle");
  cells.style.touchAction = "pan-y";
  cells.style.cursor = "crosshair";
  let squares = [], strip = [], ring = null;

  const select = (r, i) => {
    state.r = Math.min(Math.max(r, 1), state.C);
    state.i = Math.min(Math.max(i, 1), state.C);
    const cell = side / state.C;
    ring.setAttribute("x", left + (state.i - 1) * cell);
    ring.setAttribute("y", top + (state.r - 1) * cell);
    strip.forEach((bar, n) => {
      const inside = n + 1 > state.i && n + 1 <= state.r;
      bar.setAttribute("stroke", inside ? "var(--gdn-ink)" : "none");
      bar.setAttribute("stroke-width", 2);
    });
    read.textContent = `Chunk of ${state.C}, ${explain()}`;
  };

  const draw = () => {
    cells.replaceChildren();
    const { C } = state;
    const cell = side / C;
    squares = [];
    strip = [];
    GDN.svg(cells, "text", { x: left, y: 16 }, "α of each token");
    for (let n = 1; n <= C; n += 1) {
      const tall = Math.max(22 * alphaOf(n), 1.5);
      strip.push(GDN.svg(cells, "rect", {
        x: left + (n - 1) * cell + 2, y: 48 - tall, width: cell - 4, height: tall,
        fill: n === state.reset ? "var(--gdn-error)" : "var(--gdn-decay)",
      }));
    }
    for (let r = 1; r <= C; r += 1) {
      for (let i = 1; i <= C; i += 1) {
        const value = decay(r, i);
        const square = GDN.svg(cells, "rect", {
          x: left + (i - 1) * cell, y: top + (r - 1) * cell, width: cell, height: cell,
          fill: i > r ? "var(--gdn-faint)" : "var(--gdn-decay)",
          "fill-opacity": i > r ? 0.35 : value,
          stroke: "var(--gdn-faint)", "stroke-width": 1,
        });
        square.addEventListener("pointerenter", () => select(r, i));
        square.addEventListener("pointerdown", () => select(r, i));
        squares.push(square);
      }
    }
    ring = GDN.svg(cells, "rect", {
      width: cell, height: cell, fill: "none", stroke: "var(--gdn-ink)", "stroke-width": 3,
      "pointer-events": "none",
    });
    GDN.svg(cells, "text", { x: left + side / 2, y: top + side + 17, "text-anchor": "middle" },
      "written by token i");
    GDN.svg(cells, "text", {
      x: 0, y: 0, "text-anchor": "middle", transform: `translate(24 ${top + side / 2}) rotate(-90)`,
    }, "seen from token r");
    select(state.r, state.i);
  };

  cells.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (!by[event.key]) return;
    select(state.r + by[event.key][0], state.i + by[event.key][1]);
    event.preventDefault();
  });

  const set = (name) => (value) => { state[name] = value; draw(); };
  GDN.slider(host, "decay α of every token", { min: 0.5, max: 1, step: 0.01, value: 0.85 },
    set("alpha"));
  GDN.slider(host, "chunk size C", { min: 2, max: 16, step: 1, value: 8 }, set("C"));
  GDN.slider(host, "reset at token (0: none)", { min: 0, max: 16, step: 1, value: 0 },
    set("reset"));
  draw();
});
