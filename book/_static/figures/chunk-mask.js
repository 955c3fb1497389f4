// The causal triangle of 24 tokens in chunks: which pairs are scored, which go through a state,
// which are masked (eq-mask-blocks), and the multiplications of the three forms (eq-flops-chunk).
// Hover, tap or walk with the arrow keys over the cells; sliders set the chunk size and the width.
"use strict";
GDN.figure("chunk-mask", (host) => {
  const tokens = 24, cell = 13, left = 64, top = 26, side = tokens * cell;
  const drawing = GDN.canvas(host, 420, 474, "The causal mask of 24 tokens, cut into chunks");
  const state = { C: 6, d: 8, t: 15, i: 4 };
  const read = GDN.readout(host);

  // hatching for the scores that are computed and then masked away
  const pattern = GDN.svg(GDN.svg(drawing, "defs"), "pattern", {
    id: "gdn-chunk-mask-hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)",
  });
  GDN.svg(pattern, "line", { x1: 0, y1: 0, x2: 0, y2: 6, stroke: "var(--gdn-quiet)",
    "stroke-width": 2.4 });

  const chunkOf = (token) => Math.floor((token - 1) / state.C) + 1;
  const chunks = () => Math.ceil(tokens / state.C);
  const sizes = () => Array.from({ length: chunks() },
    (_, n) => Math.min(state.C, tokens - n * state.C));
  const scores = () => sizes().reduce((sum, size) => sum + size * size, 0);

  const kind = (t, i) => {
    if (chunkOf(i) < chunkOf(t)) return "state";
    if (i <= t) return "score";
    return chunkOf(i) === chunkOf(t) ? "masked" : "never";
  };
  const paint = {
    state: { fill: "var(--gdn-state)", "fill-opacity": 0.28 },
    score: { fill: "var(--gdn-key)", "fill-opacity": 0.8 },
    masked: { fill: "url(#gdn-chunk-mask-hatch)", "fill-opacity": 1 },
    never: { fill: "var(--gdn-faint)", "fill-opacity": 0.25 },
  };

  const cells = GDN.svg(drawing, "g", {
    tabindex: "0", role: "application",
    "aria-label": "Pairs of tokens; the arrow keys move over them",
  });
  cells.classList.add("gdn-handle");
  cells.style.touchAction = "pan-y";
  cells.style.cursor = "crosshair";
  const squares = [];
  for (let t = 1; t <= tokens; t += 1) {
    for (let i = 1; i <= tokens; i += 1) {
      const square = GDN.svg(cells, "rect", {
        x: left + (i - 1) * cell, y: top + (t - 1) * cell, width: cell, height: cell,
        stroke: "var(--gdn-faint)", "stroke-width": 0.6,
      });
      square.addEventListener("pointerenter", () => select(t, i));
      square.addEventListener("pointerdown", () => select(t, i));
      squares.push(square);
    }
  }
  const cuts = GDN.svg(drawing, "g", { "pointer-events": "none" });
  const row = GDN.svg(drawing, "rect", {
    x: left, width: side, height: cell, fill: "none", stroke: "var(--gdn-query)",
    "stroke-width": 2, "pointer-events": "none",
  });
  const ring = GDN.svg(drawing, "rect", {
    width: cell, height: cell, fill: "none", stroke: "var(--gdn-ink)", "stroke-width": 3,
    "pointer-events": "none",
  });
  GDN.svg(drawing, "text", { x: left, y: 17 }, "written by token i");
  GDN.svg(drawing, "text", {
    x: 0, y: 0, "text-anchor": "middle",
    transform: `translate(50 ${top + side / 2}) rotate(-90)`,
  }, "read by token t");

  // one bar a form: multiplications per token
  const bars = ["recurrence", "chunks", "one product"].map((name, n) => {
    const y = top + side + 46 + 28 * n;
    GDN.svg(drawing, "text", { x: 96, y: y + 14, "text-anchor": "end" }, name);
    const colour = ["var(--gdn-state)", "var(--gdn-ink)", "var(--gdn-key)"][n];
    return {
      bar: GDN.svg(drawing, "rect", { x: 104, y, height: 18, fill: colour }),
      count: GDN.svg(drawing, "text", { y: y + 14 }),
    };
  });
  GDN.svg(drawing, "text", { x: 104, y: top + side + 34 }, "multiplications, all 24 tokens");

  const pairSays = () => {
    const { t, i } = state;
    const pair = {
      state: `token ${t} reaches token ${i} through the state that chunk ${chunkOf(t)} receives`,
      score: `token ${t} scores token ${i} inside chunk ${chunkOf(t)}`,
      masked: `token ${i} is in token ${t}'s future: scored with the block, then masked`,
      never: `token ${i} is in token ${t}'s future: never computed`,
    };
    return pair[kind(t, i)];
  };

  const explain = () => {
    const { C, d, t } = state;
    const inside = t - (chunkOf(t) - 1) * C;
    const sum = `Row ${t}: ${t} summands, ${t - inside} in the state and ${inside} scored.`;
    const passed = chunks() - 1;
    const handed = `${passed} ${passed === 1 ? "state" : "states"} handed on`;
    read.textContent = `C = ${C}: ${chunks()} ${chunks() === 1 ? "chunk" : "chunks"}, ` +
      `${scores()} scores, ${handed}. With width ${d}: ${2 * d * d * tokens} multiplications ` +
      `for the states and ${2 * d * scores()} for the scores. ${sum} Here ${pairSays()}.`;
  };

  function select(t, i) {
    state.t = Math.min(Math.max(t, 1), tokens);
    state.i = Math.min(Math.max(i, 1), tokens);
    ring.setAttribute("x", left + (state.i - 1) * cell);
    ring.setAttribute("y", top + (state.t - 1) * cell);
    row.setAttribute("y", top + (state.t - 1) * cell);
    explain();
  }

  const draw = () => {
    const { C, d } = state;
    squares.forEach((square, n) => {
      const look = paint[kind(Math.floor(n / tokens) + 1, (n % tokens) + 1)];
      for (const [name, value] of Object.entries(look)) square.setAttribute(name, value);
    });
    cuts.replaceChildren();
    for (let start = C; start < tokens; start += C) {
      GDN.svg(cuts, "line", { x1: left, y1: top + start * cell, x2: left + start * cell,
        y2: top + start * cell, stroke: "var(--gdn-state)", "stroke-width": 3 });
    }
    const counts = [2 * d * d * tokens, 2 * d * d * tokens + 2 * d * scores(),
      2 * d * tokens * tokens];
    const longest = Math.max(...counts);
    bars.forEach(({ bar, count }, n) => {
      const width = 230 * counts[n] / longest;
      bar.setAttribute("width", width);
      count.setAttribute("x", 110 + width);
      count.textContent = String(counts[n]);
    });
    select(state.t, state.i);
  };

  cells.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (!by[event.key]) return;
    select(state.t + by[event.key][0], state.i + by[event.key][1]);
    event.preventDefault();
  });

  const set = (name) => (value) => { state[name] = value; draw(); };
  GDN.slider(host, "chunk size C", { min: 1, max: tokens, step: 1, value: state.C }, set("C"));
  GDN.slider(host, "width d of keys and values", { min: 1, max: tokens, step: 1,
    value: state.d }, set("d"));
  draw();
});
