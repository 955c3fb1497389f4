// What the busiest rank sends in a forward pass (eq-exchange-bytes, eq-tree-bytes): a state along
// the ring, pairs in a tree and by an all-gather, tokens for heads by an all-to-all, and keys and
// values of ring attention.
"use strict";
GDN.figure("exchange-bytes", (host) => {
  const Hk = 16, Hv = 32, d = 128, Hc = 2, da = 256, b = 2, BANDWIDTH = 200e9;
  const state = { tokens: 18, ranks: 3 };

  const rounds = (n) => Math.ceil(Math.log2(n));
  const tree = (R, p) => rounds(R - p) + rounds(Math.min(p + 1, R - p)); // a state is as long as F

  const sent = (R, T) => {
    const S = 4 * Hv * d * d, row = b * (2 * Hk * d + 2 * Hv * d) + 8 * Hv;
    const most = Math.max(...Array.from({ length: R }, (_, p) => tree(R, p)));
    return { ring: S, tree: most * S, "all-gather": (R - 1) * 2 * S,
      heads: (R - 1) * T / (R * R) * row,
      "ring attention": (R - 1) / R * 2 * b * T * Hc * da };
  };

  const drawing = GDN.canvas(host, 440, 226, "Bytes that a rank sends, on a log scale");
  const roles = ["first", "second", "third", "fourth", "fifth"];
  const picture = GDN.svg(drawing, "g");
  const x = (bytes) => 110 + 36 * Math.max(Math.log10(bytes) - 5, 0);
  let read = null;

  const words = (bytes) => (bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB`
    : bytes >= 1e5 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e3).toFixed(1)} kB`);

  function draw() {
    if (!read) return;
    const R = 2 ** state.ranks, T = 2 ** state.tokens, found = sent(R, T);
    shown[0].textContent = T.toLocaleString("en");
    shown[1].textContent = R.toLocaleString("en");
    picture.replaceChildren();
    for (let power = 5; power <= 12; power += 1) {
      GDN.svg(picture, "line", { x1: x(10 ** power), x2: x(10 ** power), y1: 8, y2: 192,
        stroke: "var(--gdn-faint)" });
      if (power % 3 === 0) {
        GDN.svg(picture, "text", { x: x(10 ** power), y: 210, "text-anchor": "middle" },
          { 6: "1 MB", 9: "1 GB", 12: "1 TB" }[power]);
      }
    }
    Object.entries(found).forEach(([way, bytes], n) => {
      const y = 14 + 36 * n;
      GDN.svg(picture, "text", { x: 102, y: y + 18, "text-anchor": "end" }, way);
      GDN.svg(picture, "rect", { x: 110, y, width: Math.max(x(bytes) - 110, 1), height: 26,
        fill: `var(--gdn-${roles[n]})`, "fill-opacity": 0.85 });
      GDN.svg(picture, "text", { x: x(bytes) + 5, y: y + 18 }, words(bytes));
    });
    const time = (way) => {
      const us = found[way] / BANDWIDTH * 1e6;
      return us < 1000 ? `${us.toFixed(us < 10 ? 1 : 0)} µs` : `${(us / 1e3).toFixed(0)} ms`;
    };
    read.textContent = `${T.toLocaleString("en")} tokens on ${R.toLocaleString("en")} ranks, 16 key `
      + `and 32 value heads of 128, bfloat16: a state takes ${time("ring")} at 200 GB/s, the tokens `
      + `for heads ${time("heads")}`
      + (R > Hk ? ` (and ${R.toLocaleString("en")} ranks are more than the ${Hk} key heads)` : "")
      + `; keys and values of 2 attention heads of 256 take ${time("ring attention")}.`;
  }

  const sliders = [
    GDN.slider(host, "tokens", { min: 10, max: 24, step: 1, value: state.tokens },
      (value) => { state.tokens = value; draw(); }),
    GDN.slider(host, "ranks", { min: 1, max: 10, step: 1, value: state.ranks },
      (value) => { state.ranks = value; draw(); }),
  ];
  const shown = sliders.map(({ range }) => range.parentElement.querySelector("output"));
  read = GDN.readout(host);
  draw();
});
