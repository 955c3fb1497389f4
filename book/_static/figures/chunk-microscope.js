// One chunk of 64 tokens from its equations to the machine: step by step the matrices fill in the
// order in which the kernel's solve fills them (eq-inverse-row). What each step says of the kernel
// is read from the table below the figure; the numbers are those of gdn_ref.figures.ch15_microscope,
// computed here.
"use strict";
GDN.figure("chunk-microscope", (host) => {
  const C = 64, D = 64, B = 16, LEVELS = 8;
  const table = document.querySelector(".gdn-solve");
  const order = [[1, 0], [2, 0], [2, 1], [3, 0], [3, 1], [3, 2]];
  const parts = ["A", "rows", "blocks", "UT", "scores", "E"];
  const firsts = { A: 0, rows: 1, UT: 1 + B + order.length, scores: 2 + B + order.length,
    E: 3 + B + order.length };
  const last = firsts.E;
  const given = { likeness: 0.8, alpha: 0.95 };
  let step = B + 4, cell = [40, 7], found = null;

  // The chunk, from a small generator of numbers.
  let seed = 15;
  const draw = () => {
    seed = (Math.imul(1664525, seed) + 1013904223) >>> 0;
    return seed / 2 ** 31 - 1;
  };
  const rows = (n, d) => Array.from({ length: n }, () => Array.from({ length: d }, draw));
  const dot = (x, y) => x.reduce((sum, a, m) => sum + a * y[m], 0);
  const unit = (x) => x.map((a) => a / Math.sqrt(dot(x, x)));
  const own = rows(C, D).map(unit), asked = rows(C, D).map(unit), V = rows(C, D);
  const S = rows(D, D).map((row) => row.map((x) => 0.2 * x));
  const beta = rows(1, C)[0].map((x) => 0.7 + 0.25 * x), fading = rows(1, C)[0];
  const square = (f) =>
    Array.from({ length: C }, (_, r) => Array.from({ length: C }, (_, i) => f(r, i)));
  const subtracted = (A, X) => { // forward substitution
    for (let r = 1; r < C; r += 1)
      for (let i = 0; i < r; i += 1)
        for (let j = 0; j < X[r].length; j += 1) X[r][j] -= A[r][i] * X[i][j];
    return X;
  };
  const numbers = () => {
    const { likeness, alpha } = given, K = [own[0]];
    for (let t = 1; t < C; t += 1)
      K.push(unit(own[t].map((x, m) => likeness * K[t - 1][m] + Math.sqrt(1 - likeness ** 2) * x)));
    const Q = asked.map((x, t) => unit(x.map((y, m) => y + K[t][m])));
    let sum = 0;
    const c = fading.map((x) => (sum += Math.log(alpha) * (1 + x / 2)));
    const Gamma = square((r, i) => (i <= r ? Math.exp(c[r] - c[i]) : 0));
    const A = square((r, i) => (i < r ? beta[r] * Gamma[r][i] * dot(K[r], K[i]) : 0));
    const X = subtracted(A, square((r, i) => Number(r === i)));
    const E = subtracted(A, V.map((v, r) =>
      v.map((x, j) => beta[r] * (x - Math.exp(c[r]) * dot(S[j], K[r])))));
    return { A, rows: X, blocks: X, UT: square((r, i) => X[r][i] * beta[i]),
      scores: square((r, i) => (i <= r ? Gamma[r][i] * dot(Q[r], K[i]) : 0)), E };
  };

  const partOf = (n) => (n > B && n < firsts.UT ? "blocks"
    : [...parts].reverse().find((key) => firsts[key] <= n));
  const filled = (r, i) => {
    const part = partOf(step), [a, e] = [Math.floor(r / B), Math.floor(i / B)];
    if (part !== "rows" && part !== "blocks") return true;
    if (a === e) return r % B < step;
    const at = order.findIndex(([late, early]) => late === a && early === e);
    return at >= 0 && B + 1 + at <= step;
  };

  // A matrix as paths, one for each shade: purple positive, orange negative, by the root of the size.
  const paint = (group, matrix, shown) => {
    const limit = Math.max(1e-9, ...matrix.flat().map(Math.abs)), paths = {};
    matrix.forEach((row, r) => row.forEach((x, i) => {
      const level = Math.sign(x) * Math.round(LEVELS * Math.sqrt(Math.abs(x) / limit));
      if (level && shown(r, i)) paths[level] = `${paths[level] ?? ""}M${i} ${r}h1v1h-1z`;
    }));
    group.replaceChildren();
    for (const [level, d] of Object.entries(paths))
      GDN.svg(group, "path", { d, fill: `var(--gdn-${level < 0 ? "minus" : "plus"})`,
        "fill-opacity": Math.abs(level) / LEVELS });
  };

  host.classList.add("gdn-wide");
  const drawing = host.querySelector(".gdn-drawing");
  const scope = GDN.html(drawing, "div", { class: "gdn-scope" });
  const big = GDN.svg(GDN.html(scope, "div", { class: "gdn-scope-matrix" }), "svg",
    { viewBox: "-1 -1 66 66", role: "group", "aria-label": "The matrix of this step, 64 by 64" });
  const under = GDN.svg(big, "g"), inside = GDN.svg(big, "g"), over = GDN.svg(big, "g");
  const panel = GDN.html(scope, "div", { class: "gdn-scope-words" });
  const says = GDN.html(panel, "div", { class: "gdn-readout", "aria-live": "polite" });
  const title = GDN.html(says, "p", { class: "gdn-scope-title" });
  const read = GDN.html(says, "p");
  const term = GDN.html(panel, "p", { class: "gdn-scope-term" });
  const code = GDN.html(panel, "div", { class: "gdn-scope-code" });
  const row = GDN.html(drawing, "div", { class: "gdn-scope-row", role: "group",
    "aria-label": "The five matrices" });
  const cellOf = (key, n) => table.querySelector(`tr[data-part="${key}"]`).cells[n];
  const copies = (node) => [...node.childNodes].map((child) => child.cloneNode(true));
  const small = Object.keys(firsts).map((key) => {
    const button = GDN.html(row, "button", { type: "button", "data-part": key });
    const picture = GDN.svg(button, "svg", { viewBox: "0 0 64 64", "aria-hidden": "true" });
    GDN.html(button, "span", {}, cellOf(key, 0).textContent);
    button.addEventListener("click", () => go(firsts[key] + 1));
    return { key, button, group: GDN.svg(picture, "g") };
  });

  const box = (a, e, style) => GDN.svg(over, "rect", { x: e * B, y: a * B, width: B, height: B,
    fill: "none", stroke: "var(--gdn-ink)", "stroke-width": 0.5, ...style });
  const used = { "stroke-width": 0.35, "stroke-dasharray": "1.2 0.8" };
  const total = (kind) => [...cellOf(partOf(step), 5).children].reduce((sum, line) =>
    sum + Number(line.textContent.match(new RegExp(`(\\d+) ${kind}`))?.[1] ?? 0), 0);
  const times = (n, one, more) => `${n} ${n === 1 ? one : more}`;
  const doing = () => {
    const part = partOf(step);
    if (part === "rows")
      return step === 1 ? "the first row of each diagonal block, which is a row of the identity"
        : `row ${step} of each diagonal block, from the ${times(step - 1, "row", "rows")} above: ` +
          `${2 * (step - 1)} of ${total("FFMA")} FFMA`;
    if (part !== "blocks")
      return cellOf(part, 3).textContent.replace(/\.$/, "").replace(/^./, (x) => x.toLowerCase());
    const [a, e] = order[step - B - 1], products = a - e + 1;
    return `block (${a + 1}, ${e + 1}): ${products} products of blocks, ` +
      `${2 * products} of ${total("HMMA")} HMMA`;
  };
  const mark = () => {
    over.replaceChildren();
    const part = partOf(step);
    if (part === "rows") for (let a = 0; a < 4; a += 1) {
      if (step > 1) GDN.svg(over, "rect", { x: a * B, y: a * B, width: B, height: step - 1,
        fill: "none", stroke: "var(--gdn-ink)", ...used });
      GDN.svg(over, "rect", { x: a * B, y: a * B + step - 1, width: B, height: 1, fill: "none",
        stroke: "var(--gdn-ink)", "stroke-width": 0.4 });
    }
    if (part === "blocks") {
      const [a, e] = order[step - B - 1];
      for (let b = e; b <= a; b += 1) box(b === a ? a : b, b === a ? a : e, used);
      box(a, e);
    }
  };
  const point = () => {
    const [r, i] = cell, part = partOf(step), x = found[part][r][i];
    const shown = filled(r, i)
      ? x.toFixed(4).replace("-0.0000", "0.0000").replace("-", "−") : "not yet computed";
    const text = `row ${r + 1}, column ${i + 1}: ${shown}`;
    eye.setAttribute("transform", `translate(${i},${r})`);
    GDN.say(eye, r * C + i, text);
    const [a, e] = order[step - B - 1] ?? [];
    const most = (X) => Math.max(...X.slice(a * B, a * B + B)
      .flatMap((line) => line.slice(e * B, e * B + B).map(Math.abs))).toFixed(3);
    read.textContent = `At the cursor, ${text}.` + (part !== "blocks" ? ""
      : ` The largest number of the block is ${most(found.rows)}, in A it is ${most(found.A)}.`);
  };
  const show = () => {
    const part = partOf(step);
    paint(inside, found[part], filled);
    mark();
    title.replaceChildren(`Step ${step + 1} of ${last + 1}, ${doing()}.`);
    term.replaceChildren(...copies(cellOf(part, 1)), " ", ...copies(cellOf(part, 2)));
    const [lines, machine] = [4, 5].map((n) => [...cellOf(part, n).children]);
    code.replaceChildren(...lines.flatMap((line, n) => {
      const counted = document.createElement("p");
      counted.className = "gdn-scope-machine";
      counted.textContent = machine[n].textContent;
      return [line.cloneNode(true), counted];
    }));
    for (const { key, button } of small)
      button.setAttribute("aria-pressed", String(found[key] === found[part]));
    point();
  };
  const compute = () => {
    found = numbers();
    for (const { key, group } of small) paint(group, found[key], () => true);
  };

  GDN.svg(under, "path", { d: "M0 0L64 64H0z", fill: "var(--gdn-faint)", "fill-opacity": 0.35 });
  for (let n = 0; n <= C; n += B) for (const d of [`M0 ${n}H64`, `M${n} 0V64`])
    GDN.svg(under, "path", { d, stroke: "var(--gdn-faint)", "stroke-width": 0.25 });
  const eye = GDN.svg(big, "g");
  GDN.svg(eye, "rect", { x: -3, y: -3, width: 7, height: 7, fill: "transparent" });
  GDN.svg(eye, "rect", { x: -0.4, y: -0.4, width: 1.8, height: 1.8, fill: "none",
    stroke: "var(--gdn-error)", "stroke-width": 0.6 });
  eye.setAttribute("aria-valuemin", 0);
  eye.setAttribute("aria-valuemax", C * C - 1);
  const inRange = (n) => Math.max(0, Math.min(C - 1, n));
  GDN.drag(big, eye, "cell of the matrix", ([x, y]) => {
    cell = [inRange(Math.floor(y)), inRange(Math.floor(x))];
    point();
  }, ([dx, dy]) => {
    cell = [inRange(cell[0] - dy), inRange(cell[1] + dx)];
    point();
  });
  big.addEventListener("click", (event) => {
    const [x, y] = GDN.locate(big, event);
    cell = [inRange(Math.floor(y)), inRange(Math.floor(x))];
    point();
  });

  const slider = GDN.slider(host, "step", { min: 1, max: last + 1, step: 1, value: step + 1 }, (n) => {
    step = n - 1;
    if (found) show();
  });
  const go = (n) => slider.set(Math.max(1, Math.min(last + 1, n)));
  GDN.buttons(host, { "one step back": () => go(step), "one step on": () => go(step + 2) });
  for (const [label, name, min, max] of [["cosine of neighbouring keys", "likeness", 0, 0.95],
    ["decay α, about", "alpha", 0.5, 1]])
    GDN.slider(host, label, { min, max, step: 0.05, value: given[name] }, (value) => {
      given[name] = value;
      if (found) { compute(); show(); }
    });
  compute();
  show();
});
