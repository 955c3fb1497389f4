// Condition number of a chunk's system against the cosine of its keys, and what it does to each
// format: one rounding, and the predicted error of the state (eq-error-budget), for random values.
"use strict";
GDN.figure("precision-ladder", (host) => {
  const C = 64, BLOCK = 16;
  const FORMATS = { float64: 53, float32: 24, tf32: 11, float16: 11, bfloat16: 8, e4m3: 4, e5m2: 3 };
  const state = { cosine: 0.5, beta: 1, forgets: 0 };

  const range = [...Array(C).keys()];
  // the strictly lower triangle, row by row: the overlap a times a decay for each token between
  const overlaps = (cosine, beta, alpha) =>
    range.map((r) => range.map((i) => (i < r ? beta * cosine * alpha ** (r - i) : 0)));
  // (I + A)^-1, row by row
  const inverse = (A) => {
    const X = [];
    range.forEach((r) => X.push(range.map((j) => {
      let entry = r === j ? 1 : 0;
      for (let s = j; s < r; s += 1) entry -= A[r][s] * X[s][j];
      return entry;
    })));
    return X;
  };
  // the largest singular value of a lower triangular matrix
  const norm = (M, rounds) => {
    let x = range.map((n) => 1 + 0.37 * Math.sin(n * 1.7 + 1)), length = 1;
    for (let round = 0; round < rounds; round += 1) {
      const y = range.map((r) => { let s = 0; for (let i = 0; i <= r; i += 1) s += M[r][i] * x[i];
        return s; });
      const z = range.map((i) => { let s = 0; for (let r = i; r < C; r += 1) s += M[r][i] * y[r];
        return s; });
      length = Math.hypot(...z);
      x = z.map((entry) => entry / length);
    }
    return Math.sqrt(length);
  };
  const condition = (A, X, rounds) =>
    norm(A.map((row, r) => row.map((entry, i) => entry + (r === i ? 1 : 0))), rounds)
      * norm(X, rounds);

  // condition number, and the gain of all stages up to the state together
  const numbers = (cosine, beta, forgets, rounds) => {
    const alpha = 1 - forgets, A = overlaps(cosine, beta, alpha), X = inverse(A);
    const late = range.map((r) => alpha ** (C - 1 - r));
    const throughKeys = (Y, j) => {
      let squares = 0, sum = 0;
      for (let r = 0; r < C; r += 1) { squares += Y[r][j] ** 2; sum += Y[r][j]; }
      return (1 - cosine) * squares + cosine * sum ** 2;
    };
    const written = X.map((row, r) => row.map((entry) => late[r] * entry * beta));
    const carried = X.map((row, r) => row.map((entry) => late[r] * entry));
    const rows = X.map((row) => row.reduce((sum, entry) => sum + (entry * beta) ** 2, 0));
    let onto = 0, all = 0, blocks = 0;
    range.forEach((j) => { onto += throughKeys(written, j); });
    written.forEach((row) => row.forEach((entry) => { all += entry ** 2; }));
    range.forEach((r) => {
      let sum = 0;
      for (let i = 0; i < r - (r % BLOCK); i += 1) sum += A[r][i] ** 2 * rows[i];
      blocks += throughKeys(carried, r) * sum;
    });
    return { condition: condition(A, X, rounds), gain: Math.sqrt((2 * all + onto + blocks) / onto) };
  };
  const size = (bits) => 2 ** -bits / Math.sqrt(8 * Math.LN2);

  const drawing = GDN.canvas(host, 460, 214, "Condition number against cosine, errors of formats");
  const picture = GDN.svg(drawing, "g");
  const x = (cosine) => 58 + 136 * cosine;
  const y = (number) => 172 - 38 * Math.log10(Math.max(number, 1));
  const e = (error) => 290 + 9 * (Math.log10(error) + 17);
  const COSINES = [...Array(21).keys()].map((n) => n / 20);
  let curve = [], plain = [], read = null;

  const line = (points, attributes) => GDN.svg(picture, "polyline", { fill: "none",
    points: points.map((p) => p.map((n) => n.toFixed(1)).join(",")).join(" "), ...attributes });
  const text = (at, words, attributes = {}) =>
    GDN.svg(picture, "text", { x: at[0], y: at[1], ...attributes }, words);

  const shown = (error) => (error >= 1e-3 ? `${(100 * error).toPrecision(2)} %`
    : error.toExponential(0));

  function curves() {
    const at = (alpha) => COSINES.map((c) => {
      const A = overlaps(c, state.beta, alpha);
      return [x(c), y(condition(A, inverse(A), 40))];
    });
    plain = at(1);
    curve = state.forgets ? at(1 - state.forgets) : plain;
  }

  function draw() {
    if (!read) return;
    const found = numbers(state.cosine, state.beta, state.forgets, 200);
    picture.replaceChildren();
    for (let power = 0; power <= 4; power += 1) {
      GDN.svg(picture, "line", { x1: x(0), x2: x(1), y1: y(10 ** power), y2: y(10 ** power),
        stroke: "var(--gdn-faint)" });
      text([x(0) - 6, y(10 ** power) + 4], (10 ** power).toLocaleString("en"),
        { "text-anchor": "end" });
    }
    text([x(0.5), 206], "cosine of the keys", { "text-anchor": "middle" });
    [0, 0.5, 1].forEach((c) => text([x(c), 190], String(c), { "text-anchor": "middle" }));
    line(plain, { stroke: "var(--gdn-quiet)", "stroke-dasharray": "3 3" });
    line(curve, { stroke: "var(--gdn-first)", "stroke-width": 2 });
    GDN.svg(picture, "circle", { cx: x(state.cosine), cy: y(found.condition), r: 5,
      fill: "var(--gdn-first)" });
    GDN.svg(picture, "line", { x1: e(1), x2: e(1), y1: 6, y2: 172, stroke: "var(--gdn-quiet)" });
    Object.entries(FORMATS).forEach(([name, bits], n) => {
      const at = 16 + 24 * n, rho = size(bits), error = Math.min(rho * found.gain, 10);
      text([282, at + 4], name, { "text-anchor": "end" });
      GDN.svg(picture, "rect", { x: e(rho), y: at - 4, width: Math.max(e(error) - e(rho), 1),
        height: 8, fill: "var(--gdn-error)" });
      GDN.svg(picture, "rect", { x: e(rho) - 1, y: at - 8, width: 2, height: 16,
        fill: "currentColor" });
    });
    [[1e-16, "1e-16"], [1e-8, "1e-8"], [1, "1"]].forEach(([error, words]) =>
      text([e(error), 190], words, { "text-anchor": "middle" }));
    text([e(1e-8), 206], "error of the state", { "text-anchor": "middle" });
    const list = ["float32", "float16", "bfloat16"].map((name) =>
      `${name} ${shown(size(FORMATS[name]) * found.gain)}`);
    read.textContent = `Condition number ${Math.round(found.condition).toLocaleString("en")}; `
      + `the state's error is ${found.gain.toFixed(1)} roundings. Predicted: ${list.join(", ")}.`;
  }

  const slide = (label, name, limits) => GDN.slider(host, label, { ...limits, value: state[name] },
    (value) => { state[name] = value; curves(); draw(); });
  slide("cosine", "cosine", { min: 0, max: 1, step: 0.05 });
  slide("strength β", "beta", { min: 0.1, max: 2, step: 0.1 });
  slide("1 − α", "forgets", { min: 0, max: 0.2, step: 0.01 });
  read = GDN.readout(host);
  draw();
});
