// Three boxes hold 1, 2 and 3, and each letter of a word exchanges two of them: one token of the
// delta rule with the key e_i - e_j, brought to length 1 (eq-swap-strength). The plane of the
// picture is the one in which the contents keep their sum; a key's mirror is a line in it.
"use strict";
GDN.figure("state-walk", (host) => {
  const SWAPS = { a: [0, 1], b: [1, 2], c: [0, 2] };
  const state = { word: "abcab", beta: 2 };

  // the contents after each letter, the start first
  const walk = (word, beta) => {
    const rows = [[1, 2, 3]];
    for (const letter of word) {
      const [i, j] = SWAPS[letter], row = [...rows[rows.length - 1]];
      const shift = beta / 2 * (row[i] - row[j]);
      row[i] -= shift;
      row[j] += shift;
      rows.push(row);
    }
    return rows;
  };
  // where a row lies in the plane of its sum
  const place = ([x, y, z]) => [(x - y) / Math.SQRT2, (2 * z - x - y) / Math.sqrt(6)];

  const width = 440, height = 300, unit = 82, centre = [width / 2, height / 2 + 4];
  const drawing = GDN.canvas(host, width, height, "The contents of three boxes as a point, and the "
    + "three lines in which swaps mirror it");
  const picture = GDN.svg(drawing, "g");
  const pixel = (row) => { const [x, y] = place(row);
    return [centre[0] + unit * x, centre[1] - unit * y]; };
  const shown = (x) => (Math.abs(x - Math.round(x)) < 5e-3 ? String(Math.round(x)) : x.toFixed(2));

  let read = null;
  const draw = () => {
    if (!read) return;
    picture.replaceChildren();
    const text = (at, words, attributes = {}) =>
      GDN.svg(picture, "text", { x: at[0], y: at[1], "text-anchor": "middle", ...attributes }, words);
    for (const [letter, [i, j]] of Object.entries(SWAPS)) {
      const along = [1, 1, 1].map((x, n) => (n === i || n === j ? -0.5 : 1));
      const end = (far) => pixel(along.map((x) => 2 + far * x));
      const [from, to] = [end(-1.32), end(1.32)];
      GDN.svg(picture, "line", { x1: from[0], y1: from[1], x2: to[0], y2: to[1],
        stroke: "var(--gdn-key)", "stroke-width": 1.5, "stroke-dasharray": "7 5" });
      const name = end(1.5);
      text([name[0], name[1] + 5], letter, { fill: "var(--gdn-key)", "font-weight": "bold" });
    }
    for (const row of [[1, 2, 3], [2, 1, 3], [3, 1, 2], [3, 2, 1], [2, 3, 1], [1, 3, 2]]) {
      const [x, y] = pixel(row), far = pixel(row.map((n) => 2 + 1.22 * (n - 2)));
      GDN.svg(picture, "circle", { cx: x, cy: y, r: 4, fill: "none", stroke: "var(--gdn-quiet)" });
      text([far[0], far[1] + 5], row.join(" "));
    }
    const rows = walk(state.word, state.beta), points = rows.map(pixel);
    points.slice(1).forEach(([x, y], n) => {
      const last = n === points.length - 2;
      GDN.svg(picture, "line", { x1: points[n][0], y1: points[n][1], x2: x, y2: y,
        stroke: "var(--gdn-state)", "stroke-width": last ? 3.5 : 1.5,
        "stroke-opacity": last ? 1 : 0.6 });
    });
    const [x, y] = points[points.length - 1];
    GDN.svg(picture, "circle", { cx: x, cy: y, r: 8, fill: "var(--gdn-state)" });
    const end = rows[rows.length - 1];
    const left = Math.hypot(...end.map((n) => n - 2)) / Math.SQRT2;
    read.textContent = `After ${state.word ? [...state.word].join(", ") : "nothing"}: the boxes hold `
      + `${end.map(shown).join(", ")}. Distance from the middle: ${(100 * left).toFixed(0)} %.`;
  };

  const field = GDN.field(host, "swaps", "input", { type: "text", value: state.word, maxlength: 24,
    autocapitalize: "none", autocomplete: "off", spellcheck: "false" });
  field.addEventListener("input", () => {
    state.word = [...field.value.toLowerCase()].filter((letter) => letter in SWAPS).join("");
    draw();
  });
  GDN.slider(host, "β", { min: 0, max: 2, step: 0.05, value: state.beta },
    (value) => { state.beta = value; draw(); });
  read = GDN.readout(host);
  draw();
});
