// One chunk of the delta rule, three tokens, in numbers (eq-delta-solve, eq-delta-rule-chunk).
// Step through it with the slider, or click a matrix to go to the step that computes it. The
// readout compares the rows of E with the deltas of the token loop, which runs beside it.
"use strict";
GDN.figure("chunk-flow", (host) => {
  const wide = 46, high = 24;
  const drawing = GDN.canvas(host, 400, 330, "The matrices of one chunk of three tokens");
  const state = { step: 4, angle: 53, beta: 1 };

  // name: x, y of the first cell, rows, columns, title, role, the step that computes it
  const places = {
    K: [6, 24, 3, 2, "K", "key", 0],
    V: [104, 24, 3, 2, "V", "value", 0],
    Q: [202, 24, 3, 2, "Q", "query", 0],
    S: [300, 24, 2, 2, "S, old state", "state", 0],
    A: [6, 136, 3, 3, "A", "key", 1],
    R: [176, 136, 3, 2, "B(V − KSᵀ)", "value", 2],
    E: [300, 136, 3, 2, "E, the deltas", "error", 3],
    P: [6, 248, 3, 3, "M ⊙ QKᵀ", "query", 7],
    O: [176, 248, 3, 2, "O", "query", 7],
    next: [300, 248, 2, 2, "S′, new state", "state", 6],
  };
  // What each step uses, and the bands that show it where the two matrices are neighbours.
  const uses = ["", "K", "KVS", "AR", "AR", "AR", "KSE", "QSPE"];
  const bands = { 1: ["KA"], 2: ["KR", "VR", "SR"], 3: ["AE", "RE"], 4: ["AE", "RE"],
    5: ["AE", "RE"], 6: ["EN"], 7: ["PO", "EO"] };

  const dot = (a, b) => a.reduce((sum, x, n) => sum + x * b[n], 0);
  const V = [[2, 1], [1, 3], [0, 2]], Q = [[1, 0], [1, 0], [0, 1]], S = [[1, 0], [0, 1]];

  // The chunk form: all three tokens from the old state.
  const compute = () => {
    const turn = state.angle * Math.PI / 180;
    const K = [0, 1, 2].map((r) => [Math.cos(r * turn), Math.sin(r * turn)]);
    const A = K.map((k, r) => K.map((other, i) => (i < r ? state.beta * dot(k, other) : 0)));
    const R = V.map((v, r) => v.map((x, n) => state.beta * (x - dot(S[n], K[r]))));
    const E = [];
    R.forEach((row, r) => E.push(row.map((x, n) =>
      x - E.reduce((sum, e, i) => sum + A[r][i] * e[n], 0))));
    const P = Q.map((q, r) => K.map((k, i) => (i <= r ? dot(q, k) : 0)));
    const O = Q.map((q, r) => [0, 1].map((n) =>
      dot(S[n], q) + E.reduce((sum, e, i) => sum + P[r][i] * e[n], 0)));
    const next = S.map((row, n) => row.map((x, m) =>
      x + E.reduce((sum, e, i) => sum + e[n] * K[i][m], 0)));
    return { K, V, Q, S, A, R, E, P, O, next };
  };

  // The token loop: read, correct, write, read out, one token after another.
  const loop = (K) => {
    let now = S;
    const deltas = [], outputs = [];
    K.forEach((k, r) => {
      const delta = V[r].map((x, n) => state.beta * (x - dot(now[n], k)));
      now = now.map((row, n) => row.map((x, m) => x + delta[n] * k[m]));
      deltas.push(delta);
      outputs.push(now.map((row) => dot(row, Q[r])));
    });
    return { deltas, outputs, last: now };
  };

  const shown = (x) => x.toFixed(2).replace(/^-(0\.00)$/, "$1").replace("-", "−");
  const pair = (row) => `(${row.map(shown).join(", ")})`;
  const readyAt = (name, row) => (name === "E" ? 3 + row : places[name][6]);

  const lines = GDN.svg(drawing, "g");
  const blocks = {};
  for (const [name, [x, y, rows, columns, title, role]] of Object.entries(places)) {
    const group = GDN.svg(drawing, "g");
    group.style.cursor = "pointer";
    GDN.svg(group, "text", { x, y: y - 8 }, title);
    const cells = [];
    for (let row = 0; row < rows; row += 1) {
      for (let column = 0; column < columns; column += 1) {
        const corner = [x + column * wide, y + row * high];
        cells.push({ row, column,
          box: GDN.svg(group, "rect", { x: corner[0], y: corner[1], width: wide, height: high,
            fill: "var(--pst-color-background)" }),
          text: GDN.svg(group, "text", { x: corner[0] + wide / 2, y: corner[1] + 17,
            "text-anchor": "middle" }) });
      }
    }
    blocks[name] = { group, cells, role };
    group.addEventListener("pointerdown", () => {
      if (step) step.set(Math.max(readyAt(name, 0), name === "E" ? 3 : 0));
    });
  }

  // The band from one matrix to another, between the sides that face each other.
  const band = (from, to) => {
    const box = ([x, y, rows, columns]) => [x, y, x + columns * wide, y + rows * high];
    const a = box(places[from]), b = box(places[to]);
    const middle = (c, n) => (c[n] + c[n + 2]) / 2;
    if (from === "A" && to === "E") { // under the matrix that stands between them
      return `M${middle(a, 0)},${a[3]} Q${(middle(a, 0) + middle(b, 0)) / 2},${a[3] + 30} ${middle(b, 0)},${b[3]}`;
    }
    if (a[1] === b[1]) return `M${a[2]},${middle(a, 1)} L${b[0]},${middle(b, 1)}`;
    return `M${middle(a, 0)},${a[3]} L${middle(b, 0)},${b[1] - 21}`;
  };

  const explain = (at) => {
    const { A, R, E, O, next } = at, by = loop(at.K);
    const low = (n) => "₀₁₂₃"[n];
    const same = (r) => `The token loop: β(v${low(r)} − S${low(r - 1)}k${low(r)}) = ` +
      `${pair(by.deltas[r - 1])}.`;
    const times = (r, i) => `${shown(A[r][i])} · ${pair(E[i])}`;
    return [
      "What the chunk receives: three tokens and the old state.",
      `A needs no state, only keys: A₂₁ = ${shown(A[1][0])}, A₃₁ = ${shown(A[2][0])}.`,
      `All keys read the old state at once; what is missing, times β: row 1 is ${pair(R[0])}.`,
      `Nothing was written before token 1: E row 1 = ${pair(E[0])}. ${same(1)}`,
      `E row 2 = ${pair(R[1])} − ${times(1, 0)} = ${pair(E[1])}. ${same(2)}`,
      `E row 3 = ${pair(R[2])} − ${times(2, 0)} − ${times(2, 1)} = ${pair(E[2])}. ${same(3)}`,
      `All writes at once: first row of S′ = ${pair(next[0])}; in the token loop, ` +
        `${pair(by.last[0])}.`,
      `All outputs at once: row 2 of O = ${pair(O[1])}; in the token loop, S₂q₂ = ` +
        `${pair(by.outputs[1])}.`,
    ][state.step];
  };

  let read = null, step = null;
  const draw = () => {
    if (!read) return;
    const at = compute();
    for (const [name, { group, cells, role }] of Object.entries(blocks)) {
      for (const { row, column, box, text } of cells) {
        const ready = readyAt(name, row), done = ready <= state.step;
        box.setAttribute("stroke", done ? `var(--gdn-${role})` : "var(--gdn-faint)");
        const now = ready === state.step;
        box.setAttribute("stroke-width", now ? 3 : 1.2);
        if (now) group.append(box, text); // a thick frame lies over its neighbours
        const empty = (name === "A" && column >= row) || (name === "P" && column > row);
        text.textContent = !done ? "" : empty ? "0" : shown(at[name][row][column]);
      }
    }
    lines.replaceChildren();
    for (const name of uses[state.step]) {
      const [x, y, rows, columns, , role] = places[name];
      GDN.svg(lines, "rect", { x: x - 3, y: y - 3, width: columns * wide + 6,
        height: rows * high + 6, rx: 3, fill: "none", stroke: `var(--gdn-${role})`,
        "stroke-width": 2.5, "stroke-dasharray": "5 4" });
    }
    for (const flow of bands[state.step] || []) {
      const [from, to] = [flow[0], flow[1] === "N" ? "next" : flow[1]];
      GDN.svg(lines, "path", { d: band(from, to), fill: "none",
        stroke: `var(--gdn-${places[from][5]})`, "stroke-width": 4, "stroke-opacity": 0.45 });
    }
    read.textContent = `Step ${state.step}, keys ${state.angle}° apart, ` +
      `β = ${state.beta.toFixed(2)}. ${explain(at)}`;
  };

  const set = (name) => (value) => { state[name] = value; draw(); };
  step = GDN.slider(host, "step", { min: 0, max: 7, step: 1, value: 4 }, set("step"));
  GDN.slider(host, "angle between keys", { min: 0, max: 90, step: 1, value: 53 }, set("angle"));
  GDN.slider(host, "β of each token", { min: 0, max: 2, step: 0.05, value: 1 }, set("beta"));
  read = GDN.readout(host);
  draw();
});
