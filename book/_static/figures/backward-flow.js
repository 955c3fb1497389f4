// One chunk of the gated delta rule, three tokens, walked backwards in numbers (eq-grad-solve to
// eq-grad-decay). Step through it with the slider, or click a matrix to go to the step that
// computes it. The readout compares with the token loop walked backwards, which runs beside it.
"use strict";
GDN.figure("backward-flow", (host) => {
  const wide = 46, high = 24;
  const drawing = GDN.canvas(host, 400, 420, "The gradients of one chunk of three tokens");
  const state = { step: 3, angle: 53, beta: 1, alpha: 0.8 };

  // name: x, y of the first cell, rows, columns, title, role, the step that computes it
  const places = {
    K: [6, 24, 3, 2, "K", "key", 0],
    Q: [104, 24, 3, 2, "Q", "query", 0],
    E: [202, 24, 3, 2, "E", "error", 0],
    S: [300, 24, 2, 2, "S", "state", 0],
    A: [6, 130, 3, 3, "Ã", "key", 0],
    dO: [202, 130, 3, 2, "dO", "query", 0],
    dnext: [300, 130, 2, 2, "dS′", "state", 0],
    dE: [6, 236, 3, 2, "dE", "error", 1],
    Z: [104, 236, 3, 2, "Z", "error", 2],
    dV: [202, 236, 3, 2, "dV", "value", 5],
    dbeta: [300, 236, 3, 1, "dβ", "error", 5],
    dQ: [6, 342, 3, 2, "dQ", "query", 6],
    dK: [104, 342, 3, 2, "dK", "key", 6],
    dS: [202, 342, 2, 2, "dS", "state", 7],
    dg: [300, 342, 3, 1, "dg", "decay", 8],
  };
  const uses = ["", "Q K dO dnext", "A dE", "A dE", "A dE", "Z E S K", "dO S E K Q dV dnext",
    "dnext dO Q dV K", "Q dQ K dK S dnext E"].map((names) => names.split(" ").filter(Boolean));

  const V = [[2, 1], [1, 3], [0, 2]], Q = [[1, 0], [1, 0], [0, 1]], S = [[1, 0], [0, 1]];
  const dO = [[1, 0], [0, 1], [1, 1]], dnext = [[0.5, 0.5], [0, 0.5]];

  const dot = (a, b) => a.reduce((sum, x, n) => sum + x * b[n], 0);
  const flip = (M) => M[0].map((_, n) => M.map((row) => row[n]));
  const times = (M, N) => M.map((row) => flip(N).map((column) => dot(row, column)));
  const plus = (M, N, factor = 1) => M.map((row, r) => row.map((x, n) => x + factor * N[r][n]));
  const rows = (scale, M) => M.map((row, r) => row.map((x) => scale[r] * x));
  const mask = (M, N) => M.map((row, r) => row.map((x, n) => x * N[r][n]));
  const all = (M, N) => M.reduce((sum, row, r) => sum + dot(row, N[r]), 0);

  // The chunk form, forwards and then backwards.
  const compute = () => {
    const turn = state.angle * Math.PI / 180, { alpha, beta } = state;
    const K = [0, 1, 2].map((r) => [Math.cos(r * turn), Math.sin(r * turn)]);
    const Gamma = [0, 1, 2].map((r) => [0, 1, 2].map((i) => (i <= r ? alpha ** (r - i) : 0)));
    const gamma = [alpha, alpha ** 2, alpha ** 3], toEnd = Gamma[2];
    const overlap = mask(Gamma, times(K, flip(K)));
    const A = overlap.map((row, r) => row.map((x, i) => (i < r ? beta * x : 0)));
    const read = rows(gamma, times(K, flip(S)));
    const E = [];
    V.forEach((v, r) => E.push(v.map((x, n) =>
      beta * (x - read[r][n]) - E.reduce((sum, e, i) => sum + A[r][i] * e[n], 0))));
    const scores = mask(Gamma, times(Q, flip(K)));
    const dE = plus(times(flip(scores), dO), rows(toEnd, times(K, flip(dnext))));
    const Z = [0, 0, 0];
    for (const r of [2, 1, 0]) {
      const below = [1, 2].filter((i) => i > r);
      Z[r] = dE[r].map((x, n) => x - below.reduce((sum, i) => sum + A[i][r] * Z[i][n], 0));
    }
    const X = mask(Gamma, times(dO, flip(E)));
    const N = mask(Gamma, times(Z, flip(E))).map((row, r) =>
      row.map((x, i) => (i < r ? -beta * x : 0)));
    const dV = rows([beta, beta, beta], Z);
    const dQ = plus(rows(gamma, times(dO, S)), times(X, K));
    const reading = plus(times(N, K), rows(gamma, times(dV, S)), -1);
    const isRead = plus(plus(times(flip(N), K), times(flip(X), Q)), rows(toEnd, times(E, dnext)));
    const dK = plus(reading, isRead);
    const seen = overlap.map((row, r) => row.map((x, i) => (i < r ? x : 0)));
    const missing = plus(plus(V, read, -1), times(seen, E), -1);
    const dbeta = Z.map((z, r) => [dot(z, missing[r])]);
    const dS = plus(plus(dnext.map((row) => row.map((x) => gamma[2] * x)),
      times(flip(rows(gamma, dO)), Q)), times(flip(rows(gamma, dV)), K), -1);
    const next = plus(S.map((row) => row.map((x) => gamma[2] * x)), times(flip(E), rows(toEnd, K)));
    const dc = K.map((k, r) => dot(Q[r], dQ[r]) + dot(k, reading[r]) - dot(k, isRead[r]));
    const last = all(next, dnext);
    const dg = [[dc[0] + dc[1] + dc[2] + last], [dc[1] + dc[2] + last], [dc[2] + last]];
    return { K, Q, E, S, A, dO, dnext, dE, Z, dV, dbeta, dQ, dK, dS, dg };
  };

  // The token loop, walked backwards: z is what the gradient of the state answers at the key.
  const loop = (K) => {
    const states = [S];
    K.forEach((k, r) => {
      const faded = states[r].map((row) => row.map((x) => state.alpha * x));
      const delta = V[r].map((x, n) => state.beta * (x - dot(faded[n], k)));
      states.push(faded.map((row, n) => row.map((x, m) => x + delta[n] * k[m])));
    });
    const z = [], dg = [];
    let back = dnext;
    for (const r of [2, 1, 0]) {
      const Lambda = back.map((row, n) => row.map((x, m) => x + dO[r][n] * Q[r][m]));
      z[r] = Lambda.map((row) => dot(row, K[r]));
      back = Lambda.map((row, n) => row.map((x, m) =>
        state.alpha * (x - state.beta * z[r][n] * K[r][m])));
      dg[r] = all(states[r], back);
    }
    return { z, dg, first: back };
  };

  const shown = (x) => x.toFixed(2).replace(/^-(0\.00)$/, "$1").replace("-", "−");
  const pair = (row) => `(${row.map(shown).join(", ")})`;
  const readyAt = (name, row) => places[name][6] + (name === "Z" ? 2 - row : 0);

  const lines = GDN.svg(drawing, "g");
  const blocks = {};
  for (const [name, [x, y, count, columns, title, role]] of Object.entries(places)) {
    const group = GDN.svg(drawing, "g");
    group.style.cursor = "pointer";
    GDN.svg(group, "text", { x, y: y - 8 }, title);
    const cells = [];
    for (let row = 0; row < count; row += 1) {
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
      if (step) step.set(readyAt(name, 2));
    });
  }

  const explain = (at) => {
    const { A, dE, Z, dV, dbeta, dQ, dK, dS, dg } = at, by = loop(at.K);
    const low = (n) => "₀₁₂₃"[n];
    const same = (r) => `The reversed token loop: Λ${low(r)}k${low(r)} = ${pair(by.z[r - 1])}.`;
    const part = (i, r) => `${shown(A[i][r])} · ${pair(Z[i])}`;
    return [
      "Kept or computed again: K, Q, S, Ã, E. From outside: dO, and dS′ from the next chunk.",
      `What the outputs and the next state ask of each delta: dE row 3 is ${pair(dE[2])}.`,
      `No later token reads token 3: Z row 3 = ${pair(Z[2])}. ${same(3)}`,
      `Z row 2 = ${pair(dE[1])} − ${part(2, 1)} = ${pair(Z[1])}. ${same(2)}`,
      `Z row 1 = ${pair(dE[0])} − ${part(1, 0)} − ${part(2, 0)} = ${pair(Z[0])}. ${same(1)}`,
      `dV = BZ: row 1 is ${pair(dV[0])}. dβ₁ = ${shown(dbeta[0][0])} needs no division by β.`,
      `dQ row 1 = ${pair(dQ[0])}; dK row 1 = ${pair(dK[0])}, from both roles of the key.`,
      `dS goes to the chunk before: first row ${pair(dS[0])}; in the loop, ${pair(by.first[0])}.`,
      `dg₁ = ${shown(dg[0][0])}; in the loop, ⟨S₀, dS₀⟩ = ${shown(by.dg[0])}.`,
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
        const empty = name === "A" && column >= row;
        text.textContent = !done ? "" : empty ? "0" : shown(at[name][row][column]);
      }
    }
    lines.replaceChildren();
    for (const name of uses[state.step]) {
      const [x, y, count, columns, , role] = places[name];
      GDN.svg(lines, "rect", { x: x - 3, y: y - 3, width: columns * wide + 6,
        height: count * high + 6, rx: 3, fill: "none", stroke: `var(--gdn-${role})`,
        "stroke-width": 2.5, "stroke-dasharray": "5 4" });
    }
    read.textContent = `Step ${state.step}, keys ${state.angle}° apart, β = ` +
      `${state.beta.toFixed(2)}, α = ${state.alpha.toFixed(2)}. ${explain(at)}`;
  };

  const set = (name) => (value) => { state[name] = value; draw(); };
  step = GDN.slider(host, "step", { min: 0, max: 8, step: 1, value: 3 }, set("step"));
  GDN.slider(host, "angle between keys", { min: 0, max: 90, step: 1, value: 53 }, set("angle"));
  GDN.slider(host, "β of each token", { min: 0, max: 2, step: 0.05, value: 1 }, set("beta"));
  GDN.slider(host, "α of each token", { min: 0, max: 1, step: 0.05, value: 0.8 }, set("alpha"));
  read = GDN.readout(host);
  draw();
});
