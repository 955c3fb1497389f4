// The product of the first r factors I - beta k k^T, beside I - W^T K built from the recursion of
// w (eq-wy-product). Drag the marker to take more tokens; the sliders set the cosine between any
// two keys and the strength; the button turns the product round, and the sum no longer follows.
"use strict";
GDN.figure("partial-products", (host) => {
  const tokens = 6, step = 44, cell = 23, side = tokens * cell;
  const left = 40, right = 232, top = 76, low = 252;
  const drawing = GDN.canvas(host, 400, 400,
    "A product of factors, and the identity less a thin matrix times a flat one");
  const state = { r: 3, cosine: 0.5, beta: 1, newest: "right" };

  const label = (attributes, text = "") => GDN.svg(drawing, "text", attributes, text);
  const centred = (x, y, text) => label({ x, y, "text-anchor": "middle" }, text);

  // Keys with one cosine between any two; the basis vectors when it is 0.
  const keys = (cosine) => {
    const own = Math.sqrt(1 - cosine);
    const shared = (Math.sqrt(1 - cosine + tokens * cosine) - own) / tokens;
    return Array.from({ length: tokens }, (_, i) =>
      Array.from({ length: tokens }, (__, j) => shared + (i === j ? own : 0)));
  };
  const identity = () => keys(0);
  const dot = (a, b) => a.reduce((sum, x, n) => sum + x * b[n], 0);

  // P <- P (I - beta k k^T), or (I - beta k k^T) P when the newest factor stands on the left.
  const multiply = (P, k, beta, newest) => {
    const seen = newest === "right" ? P.map((row) => dot(row, k))
      : k.map((_, j) => P.reduce((sum, row, i) => sum + k[i] * row[j], 0));
    return P.map((row, i) => row.map((x, j) =>
      x - beta * (newest === "right" ? seen[i] * k[j] : k[i] * seen[j])));
  };
  const nextW = (W, K, r, beta) => {
    let w = K[r].slice();
    for (let i = 0; i < r; i += 1) {
      const overlap = dot(K[i], K[r]);
      w = w.map((x, n) => x - overlap * W[i][n]);
    }
    return w.map((x) => beta * x);
  };
  const rank = (matrix) => {
    const M = matrix.map((row) => row.slice());
    let found = 0;
    for (let column = 0; column < tokens; column += 1) {
      let pivot = found;
      for (let n = found; n < tokens; n += 1) {
        if (Math.abs(M[n][column]) > Math.abs(M[pivot]?.[column] ?? 0)) pivot = n;
      }
      if (found >= tokens || Math.abs(M[pivot][column]) < 1e-9) continue;
      [M[found], M[pivot]] = [M[pivot], M[found]];
      for (let n = found + 1; n < tokens; n += 1) {
        const factor = M[n][column] / M[found][column];
        M[n] = M[n].map((x, j) => x - factor * M[found][j]);
      }
      found += 1;
    }
    return found;
  };

  // A grid of squares whose shade is the size of an entry. Negative ones are orange, with a bar.
  const grid = (x0, y0, rows, columns, role) => {
    const group = GDN.svg(drawing, "g");
    const cells = [];
    for (let i = 0; i < rows; i += 1) {
      for (let j = 0; j < columns; j += 1) {
        const at = { x: x0 + j * cell, y: y0 + i * cell };
        cells.push({
          i, j,
          square: GDN.svg(group, "rect", { ...at, width: cell, height: cell,
            stroke: "var(--gdn-faint)", "stroke-width": 1 }),
          minus: GDN.svg(group, "line", { x1: at.x + 6, x2: at.x + cell - 6, y1: at.y + cell / 2,
            y2: at.y + cell / 2, stroke: "var(--gdn-ink)", "stroke-width": 1.5 }),
        });
      }
    }
    return (entry) => cells.forEach(({ i, j, square, minus }) => {
      const value = entry(i, j);
      square.setAttribute("visibility", value === null ? "hidden" : "visible");
      square.setAttribute("fill", `var(--gdn-${value < 0 ? "minus" : role})`);
      square.setAttribute("fill-opacity", Math.min(1, Math.abs(value ?? 0)));
      minus.setAttribute("visibility", value !== null && value < -0.05 ? "visible" : "hidden");
    });
  };

  // The tokens, and the marker that says how many are taken.
  const place = (r) => 138 + (r - 1) * step;
  GDN.svg(drawing, "line", { x1: place(1), x2: place(tokens), y1: 24, y2: 24,
    stroke: "var(--gdn-quiet)", "stroke-width": 1.5 });
  label({ x: 20, y: 29 }, "tokens taken");
  const dots = Array.from({ length: tokens }, (_, n) => GDN.svg(drawing, "circle",
    { cx: place(n + 1), cy: 24, r: 6, stroke: "var(--gdn-key)", "stroke-width": 2 }));
  const knob = GDN.svg(drawing, "g");
  GDN.svg(knob, "circle", { cy: 24, r: 20, fill: "transparent" });
  GDN.svg(knob, "circle", { cy: 24, r: 11, fill: "var(--gdn-key)", "fill-opacity": 0.4,
    stroke: "var(--gdn-key)", "stroke-width": 2.5 });

  const productName = centred(left + side / 2, top - 8);
  centred(right + side / 2, top - 8, "I − WᵀK");
  centred((left + side + right) / 2, top + side / 2 + 5, "=");
  const differ = (left + side + right) / 2;
  const sign = drawing.lastElementChild;
  const showProduct = grid(left, top, tokens, tokens, "state");
  const showSum = grid(right, top, tokens, tokens, "state");
  centred(left + side / 2, low - 8, "Wᵀ: one column a token");
  centred(right + side / 2, low - 8, "K: one row a token");
  const showW = grid(left, low, tokens, tokens, "state");
  const showK = grid(right, low, tokens, tokens, "key");
  centred(differ, low + side / 2 + 5, "·");

  let readout = null;
  const draw = () => {
    const { r, cosine, beta, newest } = state;
    const K = keys(cosine), W = [];
    let P = identity();
    for (let n = 0; n < r; n += 1) {
      W.push(nextW(W, K, n, beta));
      P = multiply(P, K[n], beta, newest);
    }
    const sum = identity().map((row, i) => row.map((x, j) =>
      x - W.reduce((total, w, n) => total + w[i] * K[n][j], 0)));
    const change = identity().map((row, i) => row.map((x, j) => x - P[i][j]));
    const gap = Math.max(...P.flatMap((row, i) => row.map((x, j) => Math.abs(x - sum[i][j]))));
    const equal = gap < 1e-9;

    showProduct((i, j) => P[i][j]);
    showSum((i, j) => sum[i][j]);
    showW((i, j) => (j < r ? W[j][i] : null));
    showK((i, j) => (i < r ? K[i][j] : null));
    const names = ["P₁", "P₂", "P₃", "P₄", "P₅", "P₆"].slice(0, r);
    if (newest === "left") names.reverse();
    productName.textContent = names.join(" ");
    sign.textContent = equal ? "=" : "≠";
    sign.setAttribute("style", equal ? "" : "fill: var(--gdn-error); font-weight: bold");
    dots.forEach((dot_, n) => dot_.setAttribute("fill",
      n < r ? "var(--gdn-key)" : "var(--gdn-faint)"));
    knob.setAttribute("transform", `translate(${place(r)} 0)`);
    GDN.say(knob, r, `${r} of ${tokens} tokens`);
    if (!readout) return;
    const length = Math.hypot(...W[r - 1]);
    readout.textContent = `r = ${r}, newest factor on the ${newest}: `
      + (equal ? "the product is I − WᵀK"
        : `the product is the mirror image, off by up to ${gap.toFixed(2)}`)
      + `. I − product has rank ${rank(change)}. The newest w has length `
      + `${length.toFixed(2)}, where β times the key has ${beta.toFixed(2)}. `
      + `W and K hold ${2 * r * tokens} numbers, the product ${tokens * tokens}.`;
  };

  const take = (r) => { state.r = Math.max(1, Math.min(tokens, Math.round(r))); draw(); };
  knob.setAttribute("aria-valuemin", 1);
  knob.setAttribute("aria-valuemax", tokens);
  GDN.drag(drawing, knob, "how many tokens are taken",
    ([x]) => take(1 + (x - place(1)) / step), ([dx, dy]) => take(state.r + (dx || dy)));
  const input = (name) => (value) => { state[name] = value; draw(); };
  GDN.slider(host, "cosine between keys", { min: 0, max: 1, step: 0.05, value: 0.5 },
    input("cosine"));
  GDN.slider(host, "β", { min: 0, max: 2, step: 0.05, value: 1 }, input("beta"));
  GDN.choice(host, "newest factor", [["left", "on the left"], ["right", "on the right"]],
    state.newest, input("newest"));
  readout = GDN.readout(host);
  draw();
});
