// The two gates of one token on a map, and below it one row s of the state in the plane: before the
// token, after the decay, after the write (eq-gdn-rows). Drag the point of the gates, the key and
// the row. The colour of the map is the weight of the old answer at the key (eq-gdn-spectrum); one
// may read before the decay (eq-gdn-order).
"use strict";
GDN.figure("alpha-beta-map", (host) => {
  const width = 440, height = 556, left = 62, right = 424, top = 14, bottom = 214, cells = 20;
  const centre = [150, 428], unit = 105, wanted = 1, frame = [12, 246, 428, 550];
  const drawing = GDN.canvas(host, width, height,
    "A map of decay and write strength, and one row of the state before and after a token");
  const state = { alpha: 0.7, beta: 1, angle: 60, row: [2, 1.2], first: false };
  const x = (alpha) => left + (right - left) * alpha;
  const y = (beta) => bottom - (bottom - top) * beta / 2;
  const pixel = ([px, py]) => [centre[0] + unit * px, centre[1] - unit * py];
  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

  const set = (node, attributes) => {
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  };
  const line = (parent, role, wide, dashes = "none") => GDN.svg(parent, "line",
    { stroke: `var(--gdn-${role})`, "stroke-width": wide, "stroke-dasharray": dashes });
  const between = (node, [x1, y1], [x2, y2]) => set(node, { x1, y1, x2, y2 });
  const text = (attributes, words) => GDN.svg(drawing, "text", attributes, words);
  const kept = (alpha, beta) => (state.first ? alpha - beta : alpha * (1 - beta));

  // The map: a tile's colour is the weight of the old answer, purple above zero, orange below.
  const tiles = [];
  for (let i = 0; i < cells; i += 1) {
    for (let j = 0; j < cells; j += 1) {
      const [alpha, beta] = [(i + 0.5) / cells, 2 * (j + 0.5) / cells];
      const tile = GDN.svg(drawing, "rect", { x: x(i / cells), y: y(2 * (j + 1) / cells),
        width: (right - left) / cells, height: (bottom - top) / cells,
        "shape-rendering": "crispEdges" });
      tiles.push({ tile, alpha, beta });
    }
  }
  const grows = GDN.svg(drawing, "polygon", { fill: "none", stroke: "var(--gdn-error)",
    "stroke-width": 2.5, points: `${x(0)},${y(1)} ${x(1)},${y(2)} ${x(0)},${y(2)}` });
  const growsName = text({ x: x(0) + 8, y: y(2) + 18 }, "grows");
  GDN.svg(drawing, "rect", { x: left, y: top, width: right - left, height: bottom - top,
    fill: "none", stroke: "var(--gdn-quiet)" });
  between(line(drawing, "quiet", 1, "4 4"), [x(0), y(1)], [x(1), y(1)]);
  for (const beta of [0, 1, 2]) {
    text({ x: left - 8, y: y(beta) + (beta === 2 ? 11 : 5), "text-anchor": "end" }, String(beta));
  }
  for (const [alpha, anchor] of [[0, "start"], [0.5, "middle"], [1, "end"]]) {
    text({ x: x(alpha), y: bottom + 18, "text-anchor": anchor }, String(alpha));
  }
  text({ x: left - 40, y: y(1.5), "font-style": "italic" }, "β");
  text({ x: x(0.25), y: bottom + 18, "font-style": "italic", "text-anchor": "middle" },
    "α, the decay");
  text({ x: x(0) + 6, y: y(0) - 7 }, "reset");
  text({ x: x(1) - 6, y: y(0) - 7, "text-anchor": "end" }, "neutral");
  const mirror = text({ x: x(1) - 6, y: y(2) + 18, "text-anchor": "end" }, "mirror");
  text({ x: x(1) - 6, y: y(1) - 7, "text-anchor": "end" }, "replace");

  // The plane: the row, where the decay takes it, and where the write does.
  const target = line(drawing, "value", 2, "7 5");
  const targetName = text({ "text-anchor": "middle" }, "returns v");
  const faded = line(drawing, "decay", 3, "2 4");
  const written = line(drawing, "key", 3);
  const keyArrow = line(drawing, "key", 3);
  const origin = { cx: centre[0], cy: centre[1], r: 3, fill: "var(--gdn-quiet)" };
  GDN.svg(drawing, "circle", origin);
  const dot = (role, words) => {
    const group = GDN.svg(drawing, "g");
    GDN.svg(group, "circle", { r: 6, fill: `var(--gdn-${role})`, stroke: "var(--gdn-ink)" });
    const name = GDN.svg(group, "text", { x: 10, y: -8, "font-style": "italic" }, words);
    return { group, name };
  };
  const fadedDot = dot("decay", "αs"), after = dot("state", "new s");
  after.name.setAttribute("font-weight", "bold");
  const knob = (role, words) => {
    const group = GDN.svg(drawing, "g");
    GDN.svg(group, "circle", { r: 20, fill: "transparent" });
    GDN.svg(group, "circle", { r: 8, fill: `var(--gdn-${role})`, "fill-opacity": 0.4,
      stroke: `var(--gdn-${role})`, "stroke-width": 2 });
    GDN.svg(group, "text", { x: 12, y: -9, "font-style": "italic", "font-weight": "bold" }, words);
    return group;
  };
  const rowKnob = knob("quiet", "s"), keyKnob = knob("key", "k"), gates = knob("ink", "");
  const at = (node, [px, py]) => node.setAttribute("transform", `translate(${px} ${py})`);

  const number = (value) => value.toFixed(2).replace(/^-(0\.00)$/, "$1").replace("-", "−");
  let readout = null;
  const colour = () => {
    for (const { tile, alpha, beta } of tiles) {
      const weight = kept(alpha, beta);
      set(tile, { fill: `var(--gdn-${weight < 0 ? "minus" : "plus"})`,
        "fill-opacity": 0.6 * Math.min(1, Math.abs(weight)) });
    }
    for (const node of [grows, growsName]) {
      node.setAttribute("visibility", state.first ? "visible" : "hidden");
    }
    mirror.setAttribute("visibility", state.first ? "hidden" : "visible");
  };
  const draw = () => {
    const { alpha, beta, angle, row, first } = state;
    const turn = angle * Math.PI / 180, key = [Math.cos(turn), Math.sin(turn)];
    const old = row[0] * key[0] + row[1] * key[1], seen = first ? old : alpha * old;
    const shrunk = [alpha * row[0], alpha * row[1]], delta = beta * (wanted - seen);
    const image = [shrunk[0] + delta * key[0], shrunk[1] + delta * key[1]];
    const along = (s) => pixel([wanted * key[0] - s * key[1], wanted * key[1] + s * key[0]]);
    const cut = (s) => { // the target line ends at the frame of the plane
      let [low, high] = [0, s];
      for (let i = 0; i < 30; i += 1) {
        const middle = (low + high) / 2, [px, py] = along(middle);
        const inside = px > frame[0] && px < frame[2] && py > frame[1] && py < frame[3];
        if (inside) low = middle; else high = middle;
      }
      return low;
    };
    const ends = [along(cut(-6)), along(cut(6))];
    between(target, ...ends);
    const far = (end) => Math.hypot(end[0] - pixel(image)[0], end[1] - pixel(image)[1]);
    const end = far(ends[0]) > far(ends[1]) ? ends[0] : ends[1];
    const inward = end.map((from, i) => from + 0.2 * (pixel(key)[i] - from));
    const aside = 18 + 28 * Math.abs(key[0]); // to the origin's side of the line
    set(targetName, { x: clamp(inward[0] - aside * key[0], 48, width - 48),
      y: clamp(inward[1] + aside * key[1] + 5, 262, 546) });
    between(keyArrow, centre, pixel(key));
    between(faded, pixel(row), pixel(shrunk));
    // a row that leaves the frame stops at its edge, on its straight way along the key
    const room = [[-1.3, 2.6], [-1.1, 1.7]].map(([low, high], i) => {
      const way = image[i] - shrunk[i];
      return way > 0 ? (high - shrunk[i]) / way : way < 0 ? (low - shrunk[i]) / way : 1;
    });
    const part = Math.max(0, Math.min(1, ...room));
    const shown = shrunk.map((from, i) => from + part * (image[i] - from));
    after.name.textContent = part < 1 ? "new s, outside" : "new s";
    between(written, pixel(shrunk), pixel(shown));
    at(rowKnob, pixel(row));
    at(keyKnob, pixel(key));
    at(gates, [x(alpha), y(beta)]);
    at(fadedDot.group, pixel(shrunk));
    at(after.group, pixel(shown));
    const close = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]) < 0.3;
    fadedDot.name.setAttribute("visibility",
      close(shrunk, row) || close(shrunk, image) ? "hidden" : "visible");
    set(after.name, { x: key[0] < 0 ? 11 : -11, y: key[1] < 0 && !close(image, row) ? -8 : 21,
      "text-anchor": key[0] < 0 ? "start" : "end" });
    GDN.say(gates, alpha.toFixed(2), `decay ${alpha.toFixed(2)}, strength ${beta.toFixed(2)}`);
    GDN.say(keyKnob, angle, `key at ${angle} degrees`);
    GDN.say(rowKnob, row[0].toFixed(2), `row at ${number(row[0])}, ${number(row[1])}`);
    if (!readout) return;

    const weight = kept(alpha, beta), answer = image[0] * key[0] + image[1] * key[1];
    const size = Math.max(alpha, Math.abs(weight));
    const verdict = Math.abs(weight) > 1.0001
      ? `A key that comes again grows the old answer ${number(Math.abs(weight))}-fold each time.`
      : `No row grows: the greatest factor is ${number(size)}.`;
    readout.textContent = `${first ? "Read, then decay" : "Decay, then read"}; `
      + `α = ${alpha.toFixed(2)}, β = ${beta.toFixed(2)}. At the key the old answer counts `
      + `${number(weight)} times and the new value ${number(beta)} times: it was ${number(old)}, `
      + `is ${number(answer)}, wanted ${number(wanted)}. Other answers keep ${number(alpha)}. `
      + verdict;
  };

  const setGates = (alpha, beta) => {
    const round = (value) => Math.round(100 * value) / 100;
    state.alpha = clamp(round(alpha), 0, 1);
    state.beta = clamp(round(beta), 0, 2);
    draw();
  };
  const turnKey = (to) => { state.angle = ((Math.round(to) % 360) + 360) % 360; draw(); };
  const moveRow = (px, py) => {
    state.row = [clamp(px, -1.2, 2.5), clamp(py, -1.1, 1.65)];
    draw();
  };
  const plane = ([px, py]) => [(px - centre[0]) / unit, (centre[1] - py) / unit];
  for (const [node, low, high] of [[gates, 0, 1], [keyKnob, 0, 359], [rowKnob, -1.2, 2.5]]) {
    set(node, { "aria-valuemin": low, "aria-valuemax": high });
  }
  GDN.drag(drawing, rowKnob, "Row s of the state",
    (point) => moveRow(...plane(point)),
    ([dx, dy]) => moveRow(state.row[0] + 0.05 * dx, state.row[1] + 0.05 * dy));
  GDN.drag(drawing, keyKnob, "Key k: its angle in degrees",
    (point) => { const [px, py] = plane(point); turnKey(Math.atan2(py, px) * 180 / Math.PI); },
    ([dx, dy]) => turnKey(state.angle + 3 * (dx + dy)));
  GDN.drag(drawing, gates, "The two gates: decay to the right, write strength upwards",
    ([px, py]) => setGates((px - left) / (right - left), 2 * (bottom - py) / (bottom - top)),
    ([dx, dy]) => setGates(state.alpha + 0.02 * dx, state.beta + 0.05 * dy));
  GDN.choice(host, "the read", [[false, "after the decay"], [true, "before the decay"]], state.first,
    (first) => { state.first = first; colour(); draw(); });
  readout = GDN.readout(host);
  colour();
  draw();
});
