// W-left-arrow in three ways: row r is a weighted sum of keys, and the cell (r, i) is the weight on
// key i. Two ways are equal (eq-gdn-w-gated); mixing them puts one Gamma too many on each weight.
// The keys have one common cosine, so only the solve and the place of gamma matter.
"use strict";
GDN.figure("two-w-forms", (host) => {
  const C = 8, side = 264, left = 52, top = 34, cell = side / C;
  const FORMS = [
    ["plain solve, rows scaled", "Dᵧ (I + A)⁻¹ B K"],
    ["gated solve, γ inside", "(I + Ã)⁻¹ B Dᵧ K"],
    ["gated solve, rows scaled", "Dᵧ (I + Ã)⁻¹ B K"],
  ];
  const state = { form: 0, alpha: 0.8, cosine: 0.7, beta: 1, r: 6, i: 4 };

  // (I + A)^-1 by forward substitution, a column at a time
  const inverse = (A) => {
    const T = A.map((_, r) => A.map((_, i) => (r === i ? 1 : 0)));
    for (let i = 0; i < C; i += 1) {
      for (let r = i + 1; r < C; r += 1) {
        for (let j = i; j < r; j += 1) T[r][i] -= A[r][j] * T[j][i];
      }
    }
    return T;
  };
  const gamma = (r) => state.alpha ** (r + 1);
  const Gamma = (r, i) => state.alpha ** (r - i);
  const weights = (form) => {
    const grid = [...Array(C).keys()];
    const A = grid.map((r) => grid.map((i) => (i < r
      ? state.beta * state.cosine * (form === 0 ? 1 : Gamma(r, i)) : 0)));
    return inverse(A).map((row, r) => row.map((t, i) =>
      t * state.beta * (form === 1 ? gamma(i) : gamma(r))));
  };
  const norm = (grid) => Math.sqrt(grid.flat().reduce((sum, x) => sum + x * x, 0));

  GDN.choice(host, "how W is formed", FORMS.map(([name], n) => [n, name]), 0,
    (form) => { state.form = form; draw(); });

  const drawing = GDN.canvas(host, 380, 330, "The weight of each key in each row of W");
  const title = GDN.svg(drawing, "text", { x: left + side / 2, y: 20, "text-anchor": "middle" });
  const cells = GDN.svg(drawing, "g", { tabindex: "0", role: "application",
    "aria-label": "Weights; the arrow keys move over the cells" });
  cells.classList.add("gdn-handle");
  cells.style.touchAction = "pan-y";
  cells.style.cursor = "crosshair";
  const squares = [];
  for (let r = 0; r < C; r += 1) {
    squares.push([]);
    for (let i = 0; i < C; i += 1) {
      const place = { x: left + i * cell, y: top + r * cell, width: cell, height: cell };
      GDN.svg(cells, "rect", {
        ...place, fill: "none", stroke: "var(--gdn-faint)", "pointer-events": "none",
      });
      const size = GDN.svg(cells, "rect", { "pointer-events": "none" });
      const target = GDN.svg(cells, "rect", {
        fill: "none", stroke: "var(--gdn-ink)", "stroke-width": 1.3, "stroke-dasharray": "3 2",
        "pointer-events": "none",
      });
      const hit = GDN.svg(cells, "rect", { ...place, fill: "transparent" });
      hit.addEventListener("pointerenter", () => select(r, i));
      hit.addEventListener("pointerdown", () => select(r, i));
      squares[r].push([size, target]);
    }
  }
  const ring = GDN.svg(cells, "rect", { width: cell, height: cell, fill: "none",
    stroke: "var(--gdn-ink)", "stroke-width": 2.5, "pointer-events": "none" });
  GDN.svg(drawing, "text", { x: left + side / 2, y: top + side + 20, "text-anchor": "middle" },
    "weight on key i");
  GDN.svg(drawing, "text", { "text-anchor": "middle",
    transform: `translate(34 ${top + side / 2}) rotate(-90)` }, "row r of W");
  const read = GDN.readout(host);
  let shown = null, right = null;

  // area in proportion to the weight's size
  const centred = (rect, r, i, size) => {
    const width = cell * Math.min(Math.sqrt(Math.abs(size)), 1);
    rect.setAttribute("x", left + (i + 0.5) * cell - width / 2);
    rect.setAttribute("y", top + (r + 0.5) * cell - width / 2);
    rect.setAttribute("width", width);
    rect.setAttribute("height", width);
  };

  const select = (r, i) => {
    state.r = Math.min(Math.max(r, 0), C - 1);
    state.i = Math.min(Math.max(i, 0), C - 1);
    ring.setAttribute("x", left + state.i * cell);
    ring.setAttribute("y", top + state.r * cell);
    const wrong = norm(shown.map((line, a) => line.map((x, b) => x - right[a][b]))) / norm(right);
    const here = shown[state.r][state.i], due = right[state.r][state.i];
    const verdict = Math.abs(here - due) < 1e-12 ? "as it must be"
      : `it must be ${due.toFixed(4)}: one Γ = ${Gamma(state.r, state.i).toFixed(3)} too many`;
    read.textContent = `${FORMS[state.form][0]}: ` + (state.i > state.r
      ? `row ${state.r + 1} cannot use key ${state.i + 1}, which comes later.`
      : `row ${state.r + 1}, key ${state.i + 1}: weight ${here.toFixed(4)}, ${verdict}.`) +
      ` Error of the whole matrix: ${(100 * wrong).toFixed(1)} %.`;
  };

  const draw = () => {
    shown = weights(state.form);
    right = weights(0);
    title.textContent = FORMS[state.form][1];
    squares.forEach((line, r) => line.forEach(([size, target], i) => {
      centred(size, r, i, shown[r][i]);
      size.setAttribute("fill", shown[r][i] < 0 ? "var(--gdn-minus)" : "var(--gdn-key)");
      centred(target, r, i, i > r ? 0 : right[r][i]);
    }));
    select(state.r, state.i);
  };

  cells.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (!by[event.key]) return;
    select(state.r + by[event.key][0], state.i + by[event.key][1]);
    event.preventDefault();
  });

  const set = (name) => (value) => { state[name] = value; draw(); };
  GDN.slider(host, "decay α", { min: 0.5, max: 1, step: 0.01, value: state.alpha }, set("alpha"));
  GDN.slider(host, "cosine between keys", { min: 0, max: 0.95, step: 0.05, value: state.cosine },
    set("cosine"));
  GDN.slider(host, "write strength β", { min: 0.1, max: 2, step: 0.1, value: state.beta },
    set("beta"));
});
