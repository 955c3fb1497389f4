// Chapter 2: up to five unit keys in the plane, each with a value of its own. Left, drag the keys;
// right, row j is the read at key j: its share of every value (eq-gram-recall with V = I). The
// squared shares of other values are the crosstalk (eq-crosstalk); a sum of writes cannot push
// their mean below n/2 - 1 (eq-welch-bound), no matrix below 1 - rank/n (eq-least-squares-error).
// The same start as gdn_ref/figures/ch02.py.
"use strict";
GDN.figure("crosstalk", (host) => {
  const START = [0, 60, 150, 30, 105];
  const RADIUS = 84, CENTRE = [136, 128];
  const angles = [...START];
  let pairs = 3, best = false;

  const radians = (degrees) => degrees * Math.PI / 180;
  const direction = (degrees) => [Math.cos(radians(degrees)), Math.sin(radians(degrees))];
  const dot = ([a, b], [c, d]) => a * c + b * d;
  const show = (x) => {
    const text = Math.abs(x).toFixed(2);
    return (x < 0 && Number(text) !== 0 ? "\u2212" : "") + text;
  };
  const set = (node, attributes) => {
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  };

  const [left, right] = GDN.panes(host, "15rem", "15rem");
  const plane = GDN.canvas(left, 300, 256, "Unit keys on a circle");
  const board = GDN.canvas(right, 280, 276, "The share of every value in every read");

  GDN.svg(plane, "circle", { cx: CENTRE[0], cy: CENTRE[1], r: RADIUS, fill: "none",
    stroke: "var(--gdn-quiet)" });
  const at = (degrees, r) => {
    const [x, y] = direction(degrees);
    return [CENTRE[0] + r * x, CENTRE[1] - r * y];
  };
  const keys = START.map((_, j) => {
    const group = GDN.svg(plane, "g");
    const arm = GDN.svg(group, "line", { x1: CENTRE[0], y1: CENTRE[1], stroke: "var(--gdn-key)",
      "stroke-width": 2.5 });
    const knob = GDN.svg(group, "g");
    GDN.svg(knob, "circle", { r: 20, fill: "transparent" });
    GDN.svg(knob, "circle", { r: 9, fill: "var(--gdn-key)", "fill-opacity": 0.45,
      stroke: "var(--gdn-key)", "stroke-width": 2 });
    const name = GDN.svg(group, "text", { style: "font-weight:bold" });
    set(knob, { "aria-valuemin": 0, "aria-valuemax": 359 });
    return { group, arm, knob, name };
  });

  // The table is drawn anew for each number of pairs, as large as it may be.
  const LEFT = 34, TOP = 34, SIDE = 236;
  const table = GDN.svg(board, "g");
  let cells = [];
  const layOut = () => {
    table.replaceChildren();
    const size = Math.min(64, SIDE / pairs);
    const label = (x, y, text, role) => GDN.svg(table, "text", { x, y, "text-anchor": "middle",
      style: `font-weight:bold; fill:var(--gdn-${role})` }, text);
    cells = [...Array(pairs)].map((_, j) => {
      label(LEFT + size * (j + 0.5), TOP - 10, `v${GDN.low(j + 1)}`, "value");
      label(LEFT - 16, TOP + size * (j + 0.5) + 5, `k${GDN.low(j + 1)}`, "key");
      return [...Array(pairs)].map((_, i) => {
        const box = GDN.svg(table, "rect", { x: LEFT + size * i, y: TOP + size * j, width: size,
          height: size, stroke: "var(--gdn-quiet)" });
        const text = GDN.svg(table, "text", { x: LEFT + size * (i + 0.5),
          y: TOP + size * (j + 0.5) + 5, "text-anchor": "middle" });
        return (share) => {
          text.textContent = show(share);
          set(box, { fill: share < 0 ? "var(--gdn-minus)" : "var(--gdn-plus)",
            "fill-opacity": Math.min(0.6, 0.6 * Math.abs(share)) });
        };
      });
    });
    keys.forEach(({ group }, j) => (j < pairs ? plane.append(group) : group.remove()));
  };

  // K^T K of the written keys; the best matrix reads with its inverse, or on a line if all agree.
  const reads = () => {
    const K = angles.slice(0, pairs).map(direction);
    const [a, b, d] = [[0, 0], [0, 1], [1, 1]].map(([r, c]) =>
      K.reduce((sum, k) => sum + k[r] * k[c], 0));
    const det = a * d - b * b, flat = det < 1e-9;
    const apply = ([x, y]) => {
      if (!best) return [x, y];
      return flat ? [x / pairs, y / pairs] : [(d * x - b * y) / det, (a * y - b * x) / det];
    };
    return { shares: K.map((asked) => K.map((k) => dot(apply(k), asked))), rank: flat ? 1 : 2 };
  };

  let readout = null;
  const draw = () => {
    const { shares, rank } = reads();
    shares.forEach((row, j) => row.forEach((share, i) => cells[j][i](share)));
    keys.forEach(({ arm, knob, name }, j) => {
      const [x, y] = at(angles[j], RADIUS);
      set(arm, { x2: x, y2: y });
      // Keys that stand close share one name, at the first of them.
      const close = angles.slice(0, pairs).map((other, i) => [other, i])
        .filter(([other]) => Math.abs((other - angles[j] + 540) % 360 - 180) < 16)
        .map(([, i]) => i + 1);
      const [nx, ny] = at(angles[j], RADIUS + 16), side = Math.cos(radians(angles[j]));
      set(name, { x: nx, y: ny + 5 - 5 * Math.sin(radians(angles[j])),
        "text-anchor": Math.abs(side) < 0.3 ? "middle" : side > 0 ? "start" : "end" });
      name.textContent = close[0] === j + 1 ? `k${GDN.low(close.join(","))}` : "";
      knob.setAttribute("transform", `translate(${x} ${y})`);
      GDN.say(knob, angles[j], `key ${j + 1} at ${angles[j]} degrees`);
    });
    if (!readout) return;
    const errors = shares.map((row, j) =>
      row.reduce((sum, share, i) => sum + (share - (i === j ? 1 : 0)) ** 2, 0));
    const mean = errors.reduce((sum, error) => sum + error, 0) / pairs;
    const worst = errors.indexOf(Math.max(...errors));
    const others = shares[worst].map((share, i) => [i, share])
      .filter(([i, share]) => i !== worst && Math.abs(share) >= 0.005)
      .map(([i, share]) => `${share < 0 ? "\u2212" : "+"} ${Math.abs(share).toFixed(2)} v${GDN.low(i + 1)}`);
    const told = mean < 1e-9 ? "Every read is exact."
      : `The read at k${GDN.low(worst + 1)} returns ${show(shares[worst][worst])} v${GDN.low(worst + 1)} `
        + `${others.join(" ")}. Mean squared error ${mean.toFixed(2)}.`;
    const floors = `With ${pairs} keys in the plane a sum cannot get below `
      + `${(pairs / 2 - 1).toFixed(2)}; these keys, with the best matrix, `
      + `${(1 - rank / pairs).toFixed(2)}.`;
    const places = angles.slice(0, pairs).map((degrees) => `${degrees}\u00b0`).join(", ");
    readout.textContent = `${best ? "Best matrix" : "Sum of the writes"}, keys at ${places}. `
      + `${told} ${floors}`;
  };

  const turn = (j, to) => {
    angles[j] = ((Math.round(to) % 360) + 360) % 360;
    draw();
  };
  keys.forEach(({ knob }, j) => GDN.drag(plane, knob, `Key ${j + 1}: its angle in degrees`,
    ([x, y]) => turn(j, Math.atan2(CENTRE[1] - y, x - CENTRE[0]) * 180 / Math.PI),
    ([dx, dy]) => turn(j, angles[j] + dx + dy)));

  GDN.choice(host, "memory", [[false, "sum of the writes"], [true, "best matrix"]], best,
    (value) => { best = value; draw(); });
  GDN.slider(host, "pairs written", { min: 2, max: 5, step: 1, value: pairs },
    (value) => { pairs = value; layOut(); draw(); });
  GDN.buttons(host, { "Spread the keys evenly": () => {
    angles.forEach((_, j) => { if (j < pairs) angles[j] = Math.round(180 * j / pairs); });
    draw();
  } });
  readout = GDN.readout(host);
  draw();
});
