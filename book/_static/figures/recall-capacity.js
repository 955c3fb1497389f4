// How many values a memory names, against the pairs written: predicted from the keys (eq-recall-named,
// eq-recall-delta) for three memories, and tried on memories of random pairs, drawn afresh.
"use strict";
GDN.figure("recall-capacity", (host) => {
  const WIDTH = 32, MOST = 96, DRAWS = 6;
  const state = { n: 32, d_k: 16, N: 64 };

  const range = (n) => [...Array(n).keys()];
  // the distribution function of a standard normal number, by erfc's continued fraction or series
  const normal = (x) => {
    const y = Math.abs(x) / Math.SQRT2;
    let tail;
    if (y < 2.5) {
      let term = y, sum = y;
      for (let k = 1; k < 60; k += 1) { term *= -y * y / k; sum += term / (2 * k + 1); }
      tail = 1 - 2 * sum / Math.sqrt(Math.PI);
    } else {
      let fraction = 0;
      for (let k = 60; k > 0; k -= 1) fraction = k / 2 / (y + fraction);
      tail = Math.exp(-y * y) / (Math.sqrt(Math.PI) * (y + fraction));
    }
    return x > 0 ? 1 - tail / 2 : tail / 2;
  };
  const Z = range(81).map((i) => -8 + i / 5);
  const DENSITY = Z.map((z) => Math.exp(-z * z / 2) / Math.sqrt(2 * Math.PI) / 5);
  const named = (mean, own, other, N) => Z.reduce((sum, z, i) =>
    sum + DENSITY[i]
      * normal((mean + Math.sqrt(Math.max(own, 0)) * z) / Math.sqrt(other)) ** (N - 1), 0);
  const byCrosstalk = (x, N) => named(1, x / WIDTH, (1 + x) / WIDTH, N);

  // the mean over the pairs, for beta = 1 without decay: by then a pair is m writes old
  const byDelta = (n, d, N) => {
    const a = 1 - 2 / d + 2 / (d * (d + 2)), b = 1 / (d * (d + 2)), rho = 1 - 1 / d;
    const nu = [0];
    for (let t = 1; t <= n; t += 1) nu.push(rho * nu[t - 1] + 1);
    const some = Math.min(n, 40); // pairs, evenly spread: enough for the mean
    let total = 0;
    for (let place = 0; place < some; place += 1) {
      const j = n - Math.floor((place + 0.5) * n / some);
      let mean = 1, square = 1, length = 1;
      for (let m = 1; m <= n - j; m += 1) {
        mean *= 1 - 1 / d;
        square = a * square + b * rho ** (m - 1);
        length = a * length + b * nu[j + m - 1] + 1 / d;
      }
      total += named(mean, square - mean * mean + (length - square) / WIDTH, length / WIDTH, N);
    }
    return total / some;
  };
  const predicted = (rule, n, d, N) => (rule === "sum" ? byCrosstalk((n - 1) / d, N)
    : rule === "best" ? byCrosstalk(Math.max(0, n / d - 1), N) : byDelta(n, d, N));

  // memories to try
  let seed = 1;
  const uniform = () => {
    seed = (seed * 48271) % 2147483647;
    return seed / 2147483647;
  };
  const unit = (d) => {
    const x = range(d).map(() => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()));
    const length = Math.hypot(...x);
    return x.map((entry) => entry / length);
  };
  const dot = (x, y) => { let s = 0; for (let i = 0; i < x.length; i += 1) s += x[i] * y[i]; return s; };
  // row i: what the state holds of value i, so that the read at y has the weight row . y
  const held = {
    sum: (K) => K,
    delta: (K) => {
      const rows = [];
      K.forEach((k) => {
        rows.forEach((row) => { const s = dot(row, k); row.forEach((_, i) => { row[i] -= s * k[i]; }); });
        rows.push([...k]);
      });
      return rows;
    },
    best: (K) => { // least squares: (K^T K)^-1 K for many keys, K after (K K^T)^-1 for few
      const few = K.length <= K[0].length, columns = few ? K : K[0].map((_, i) => K.map((k) => k[i]));
      const n = columns.length;
      const M = columns.map((x, r) => [...columns.map((y, s) => dot(x, y) + (r === s ? 1e-9 : 0)), ...x]);
      for (let c = 0; c < n; c += 1) {
        for (let r = 0; r < n; r += 1) {
          if (r === c) continue;
          const f = M[r][c] / M[c][c];
          for (let s = c; s < M[r].length; s += 1) M[r][s] -= f * M[c][s];
        }
      }
      const X = M.map((row, c) => row.slice(n).map((entry) => entry / row[c]));
      return few ? X : K.map((_, i) => X.map((row) => row[i]));
    },
  };
  const tried = (rule, n, d, N) => {
    let right = 0;
    seed = 12345 + n + 1000 * d + N;
    for (let draw = 0; draw < DRAWS; draw += 1) {
      const K = range(n).map(() => unit(d)), book = range(N).map(() => unit(WIDTH));
      const own = range(n).map(() => Math.floor(uniform() * N)), rows = held[rule](K);
      K.forEach((k, j) => {
        const read = Array(WIDTH).fill(0);
        rows.forEach((row, i) => {
          const w = dot(row, k);
          book[own[i]].forEach((entry, c) => { read[c] += w * entry; });
        });
        let best = 0, score = -Infinity;
        book.forEach((value, c) => { const s = dot(value, read); if (s > score) { score = s; best = c; } });
        right += best === own[j] ? 1 : 0;
      });
    }
    return right / (n * DRAWS);
  };

  const drawing = GDN.canvas(host, 460, 250, "Share of values named against pairs, three memories");
  const picture = GDN.svg(drawing, "g");
  const x = (n) => 58 + 384 * n / MOST, y = (share) => 184 - 170 * share;
  const LOOKS = { sum: ["sum of writes", "--gdn-first", ""], delta: ["delta rule, once", "--gdn-third", "7 4"],
    best: ["best matrix", "--gdn-ink", "2 3"] };
  let curves = {}, read = null;

  const text = (at, words, attributes = {}) =>
    GDN.write(GDN.svg(picture, "text", { x: at[0], y: at[1], ...attributes }), words);
  const percent = (share) => `${(100 * share).toFixed(0)} %`;

  function lines() {
    const at = range(MOST / 4).map((i) => 2 + 4 * i);
    Object.keys(LOOKS).forEach((rule) => {
      curves[rule] = at.map((n) => `${x(n).toFixed(1)},${y(predicted(rule, n, state.d_k, state.N)).toFixed(1)}`);
    });
  }

  function draw() {
    if (!read) return;
    picture.replaceChildren();
    [0, 0.5, 1].forEach((share) => {
      GDN.svg(picture, "line", { x1: x(0), x2: x(MOST), y1: y(share), y2: y(share), stroke: "var(--gdn-faint)" });
      text([x(0) - 6, y(share) + 4], percent(share), { "text-anchor": "end" });
    });
    [0, 32, 64, 96].forEach((n) => text([x(n), 202], String(n), { "text-anchor": "middle" }));
    text([x(MOST / 2), 220], "pairs written, n", { "text-anchor": "middle" });
    GDN.svg(picture, "line", { x1: x(state.d_k), x2: x(state.d_k), y1: y(1), y2: y(0), stroke: "var(--gdn-quiet)" });
    text([x(state.d_k) + 4, y(0) - 4], "n = d_k");
    const said = [];
    Object.entries(LOOKS).forEach(([rule, [title, colour, dashes]], place) => {
      GDN.svg(picture, "polyline", { fill: "none", points: curves[rule].join(" "), stroke: `var(${colour})`,
        "stroke-width": 2, "stroke-dasharray": dashes });
      const left = [40, 172, 328][place]; // the legend, below
      GDN.svg(picture, "line", { x1: left, x2: left + 26, y1: 239, y2: 239, stroke: `var(${colour})`,
        "stroke-width": 2, "stroke-dasharray": dashes });
      text([left + 32, 243], title);
      const share = tried(rule, state.n, state.d_k, state.N);
      const at = { cx: x(state.n), cy: y(share), r: 5, fill: `var(${colour})` };
      if (place === 0) GDN.svg(picture, "circle", at);
      else GDN.svg(picture, "rect", { x: at.cx - 4.5, y: at.cy - 4.5, width: 9, height: 9, fill: at.fill,
        transform: place === 1 ? `rotate(45 ${at.cx} ${at.cy})` : "" });
      said.push(`${title} ${percent(predicted(rule, state.n, state.d_k, state.N))} (tried: ${percent(share)})`);
    });
    GDN.write(read, `${state.n} pairs, d_k = ${state.d_k}, ${state.N} candidates. Named: ${said.join(", ")}.`);
  }

  const slide = (label, name, limits) => GDN.slider(host, label, { ...limits, value: state[name] },
    (value) => { state[name] = value; if (name !== "n") lines(); draw(); });
  slide("pairs n", "n", { min: 2, max: 96, step: 1 });
  slide("width d_k", "d_k", { min: 4, max: 64, step: 4 });
  slide("candidates N", "N", { min: 16, max: 512, step: 16 });
  read = GDN.readout(host);
  draw();
});
