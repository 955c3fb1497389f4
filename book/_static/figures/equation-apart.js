// The equations of the chunk theorem taken apart (eq-gdn-chunk-delta, eq-gdn-chunk-state,
// eq-gdn-chunk-output): choose a letter and see what it is, its shape, its numbers for three tokens,
// where it is defined, and its line in the reference and in the kernel. All words and formulas are
// those of the table below the figure; the numbers follow the sliders.
"use strict";
GDN.figure("equation-apart", (host) => {
  const table = document.querySelector(".gdn-apart");
  const S = [[1, 0], [0, -1]];
  const V = [[2, 1], [0, 2], [1, -1]];
  const given = { alpha: 0.9, beta: 0.8, angle: 50 };
  let equation = "eq-gdn-chunk-delta", part = "E";

  const times = (X, Y) => X.map((row) => Y[0].map((_, j) =>
    row.reduce((sum, x, m) => sum + x * Y[m][j], 0)));
  const turned = (X) => X[0].map((_, j) => X.map((row) => row[j]));
  const each = (X, f) => X.map((row, r) => row.map((x, i) => f(x, r, i)));
  const diagonal = (x) => x.map((_, r) => x.map((_, i) => (r === i ? x[r] : 0)));

  const numbers = () => {
    const { alpha, beta, angle } = given;
    const at = [0, 1, 2].map((n) => (n * angle * Math.PI) / 180);
    const K = at.map((turn) => [Math.cos(turn), Math.sin(turn)]);
    const Q = [...K].reverse();
    const gamma = [1, 2, 3].map((n) => alpha ** n);
    const Gamma = at.map((_, r) => at.map((_, i) => (i <= r ? alpha ** (r - i) : 0)));
    const A = each(times(K, turned(K)), (x, r, i) => (i < r ? beta * Gamma[r][i] * x : 0));
    const E = each(times(K, turned(S)), (x, r, j) => beta * (V[r][j] - gamma[r] * x));
    for (let r = 1; r < 3; r += 1) // forward substitution
      for (let i = 0; i < r; i += 1) E[r] = E[r].map((x, j) => x - A[r][i] * E[i][j]);
    const scores = times(Q, turned(K));
    const inside = times(each(scores, (x, r, i) => Gamma[r][i] * x), E);
    const O = each(times(Q, turned(S)), (x, r, j) => gamma[r] * x + inside[r][j]);
    const to = Gamma[2];
    const written = times(turned(E), each(K, (x, r) => to[r] * x));
    const next = each(S, (x, i, j) => gamma[2] * x + written[i][j]);
    return { A, E, B: diagonal([beta, beta, beta]), V, D: diagonal(gamma), K, S, next,
      end: [[gamma[2]]], to: diagonal(to), O, Q, Gamma, scores };
  };

  const drawing = host.querySelector(".gdn-drawing");
  const line = GDN.html(drawing, "div", { class: "gdn-apart-line", role: "group",
    "aria-label": "The equation; each letter is a button" });
  const panel = GDN.html(drawing, "div", { class: "gdn-apart-panel gdn-readout" });
  const words = GDN.html(panel, "div", { class: "gdn-apart-words", "aria-live": "polite" });
  const matrix = GDN.html(panel, "table", { class: "gdn-apart-matrix" });
  const code = GDN.html(drawing, "div", { class: "gdn-apart-code" });

  const row = (key) => table.querySelector(`tr[data-part="${key}"]`);
  const cells = (key) => [...row(key).cells];
  const copies = (node) => [...node.childNodes].map((child) => child.cloneNode(true));

  const showLine = () => {
    const pieces = table.querySelector(`p[data-equation="${equation}"]`);
    line.replaceChildren();
    for (const piece of pieces.children) {
      const key = piece.dataset?.part;
      const node = GDN.html(line, key ? "button" : "span", key
        ? { type: "button", "aria-pressed": String(key === part), "data-part": key,
          "aria-label": cells(key)[2].textContent } : {});
      node.append(...copies(piece));
      if (piece.matches("a, code")) node.classList.add("gdn-apart-number");
      if (key) node.addEventListener("click", () => choose(key));
    }
  };
  const showNumbers = () => {
    const found = numbers()[part];
    const largest = Math.max(1e-9, ...found.flat().map(Math.abs));
    matrix.replaceChildren();
    for (const numbersOfRow of found) {
      const tr = GDN.html(matrix, "tr");
      for (const x of numbersOfRow) {
        const shade = Math.round((45 * Math.abs(x)) / largest);
        const text = x.toFixed(2).replace("-0.00", "0.00").replace("-", "−");
        GDN.html(tr, "td", { style: `background: color-mix(in srgb, var(--gdn-${
          x < 0 ? "minus" : "plus"}) ${shade}%, transparent)` }, text);
      }
    }
    matrix.setAttribute("aria-label", `${found.length} by ${found[0].length} numbers`);
  };
  const show = () => {
    const [letter, shape, says, , defined, lines] = cells(part);
    for (const button of line.querySelectorAll("button"))
      button.setAttribute("aria-pressed", String(button.dataset.part === part));
    words.replaceChildren();
    const first = GDN.html(words, "p", { class: "gdn-apart-says" });
    first.append(...copies(letter), `: ${says.textContent}.`);
    GDN.html(words, "p", {}, "Shape: ").append(...copies(shape), ".");
    GDN.html(words, "p", {}, "Defined in ").append(...copies(defined), ".");
    code.replaceChildren(...copies(lines));
    showNumbers();
  };
  const choose = (key) => {
    part = key;
    show();
  };

  const first = { "eq-gdn-chunk-delta": "E", "eq-gdn-chunk-state": "next",
    "eq-gdn-chunk-output": "O" };
  const names = [["eq-gdn-chunk-delta", "system"], ["eq-gdn-chunk-state", "state"],
    ["eq-gdn-chunk-output", "output"]];
  GDN.choice(host, "equation of the", names, equation, (label) => {
    equation = label;
    part = first[label];
    showLine();
    show();
  });
  showLine();
  show();
  const sliders = [["decay α of each token", "alpha", 0, 1, 0.05],
    ["write strength β", "beta", 0, 2, 0.1], ["angle between keys, in degrees", "angle", 0, 90, 5]];
  for (const [label, name, min, max, step] of sliders)
    GDN.slider(host, label, { min, max, step, value: given[name] }, (value) => {
      given[name] = value;
      showNumbers();
    });
});
