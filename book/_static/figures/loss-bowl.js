// One row s of the state in the plane, and two tokens (k1, v1), (k2, v2). The dashed lines hold the
// rows that answer a token right (its loss, eq-recall-loss, is zero there); the ellipses are levels
// of the sum of both losses. Drag s; the sliders set the strength, the angle between the keys and
// how many writes of the two tokens in turn the path shows (eq-delta-rule-recurrence).
// The same tokens as gdn_ref/figures/ch05.py.
"use strict";
GDN.figure("loss-bowl", (host) => {
  const width = 420, height = 360, unit = 100, centre = [width / 2, height / 2];
  const limit = [1.95, 1.65], STAR = [0.8, 0.5], FIRST = 20;
  const drawing = GDN.canvas(host, width, height,
    "A row s of the memory, the lines of rows that return the values of two tokens, and the path of "
    + "the writes");
  const pixel = ([x, y]) => [centre[0] + unit * x, centre[1] - unit * y];
  const plane = ([px, py]) => [(px - centre[0]) / unit, (centre[1] - py) / unit];
  const clamp = (value, bound) => Math.max(-bound, Math.min(bound, value));
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1];
  const set = (node, values) => {
    for (const [name, value] of Object.entries(values)) node.setAttribute(name, value);
  };

  let row = [-1, -0.9], beta = 1, angle = 60, writes = 2;

  const bowl = GDN.svg(drawing, "g", { fill: "none", stroke: "var(--gdn-quiet)",
    "stroke-width": 1, opacity: 0.7 });
  const levels = [0.05, 0.2, 0.45, 0.8, 1.25, 1.8].map((level) =>
    ({ level, ring: GDN.svg(bowl, "ellipse") }));
  const tokens = [1, 2].map((number) => ({
    line: GDN.svg(drawing, "line", { stroke: "var(--gdn-key)", "stroke-width": 1.5,
      "stroke-dasharray": "7 5" }),
    shaft: GDN.svg(drawing, "line", { stroke: "var(--gdn-key)", "stroke-width": 3 }),
    head: GDN.svg(drawing, "polygon", { fill: "var(--gdn-key)" }),
    name: GDN.svg(drawing, "text", { "text-anchor": "middle", "font-style": "italic",
      "font-weight": "bold", style: "fill:var(--gdn-key)" }, number === 1 ? "k₁" : "k₂"),
  }));
  const star = GDN.svg(drawing, "circle", { r: 6, fill: "var(--gdn-value)" });
  const [starX, starY] = pixel(STAR);
  set(star, { cx: starX, cy: starY });
  const path = GDN.svg(drawing, "polyline", { fill: "none", stroke: "var(--gdn-state)",
    "stroke-width": 2.5, "stroke-linejoin": "round" });
  const dots = GDN.svg(drawing, "g", { fill: "var(--gdn-state)" });
  const last = GDN.svg(drawing, "circle", { r: 6.5, fill: "none", stroke: "var(--gdn-state)",
    "stroke-width": 2.5 });
  const handle = GDN.svg(drawing, "g");
  GDN.svg(handle, "circle", { r: 22, fill: "transparent" });
  GDN.svg(handle, "circle", { r: 8, fill: "var(--gdn-state)", "fill-opacity": 0.35,
    stroke: "var(--gdn-state)", "stroke-width": 2 });
  const handleName = GDN.svg(handle, "text", { "font-style": "italic", "font-weight": "bold" },
    "s");

  const direction = (degrees) => {
    const a = degrees * Math.PI / 180;
    return [Math.cos(a), Math.sin(a)];
  };
  const shown = (x) => x.toFixed(2).replace(/^-(0\.00)$/, "$1").replace("-", "−");

  let readout = null;
  const draw = () => {
    const keys = [direction(FIRST), direction(FIRST + angle)];
    const values = keys.map((k) => dot(k, STAR));
    const cosine = dot(keys[0], keys[1]);

    tokens.forEach(({ line, shaft, head, name }, n) => {
      const k = keys[n], along = [-k[1], k[0]];
      const ends = [-5, 5].map((t) => pixel([STAR[0] + t * along[0], STAR[1] + t * along[1]]));
      set(line, { x1: ends[0][0], y1: ends[0][1], x2: ends[1][0], y2: ends[1][1] });
      const [x, y] = pixel([0.6 * k[0], 0.6 * k[1]]), [bx, by] = pixel([0.5 * k[0], 0.5 * k[1]]);
      set(shaft, { x1: centre[0], y1: centre[1], x2: bx, y2: by });
      set(head, { points: `${x},${y} ${bx - 5 * k[1]},${by - 5 * k[0]} `
        + `${bx + 5 * k[1]},${by + 5 * k[0]}` });
      const aside = direction(n ? FIRST + angle + 9 : FIRST - 9); // so that names do not collide
      const [nx, ny] = pixel([0.75 * aside[0], 0.75 * aside[1]]);
      set(name, { x: nx, y: ny + 5 });
    });
    // The sum of the losses has its axes between the keys: curvatures 1 + cosine and 1 - cosine.
    for (const { level, ring } of levels) {
      set(ring, { cx: starX, cy: starY, rx: unit * Math.sqrt(2 * level / (1 + cosine)),
        ry: unit * Math.sqrt(2 * level / Math.max(1 - cosine, 1e-3)),
        transform: `rotate(${-(FIRST + angle / 2)} ${starX} ${starY})` });
    }

    const rows = [row];
    for (let t = 0; t < writes; t += 1) {
      const s = rows[t], k = keys[t % 2], step = beta * (values[t % 2] - dot(s, k));
      rows.push([s[0] + step * k[0], s[1] + step * k[1]]);
    }
    const points = rows.map(pixel);
    set(path, { points: points.map((p) => p.join(",")).join(" ") });
    dots.replaceChildren();
    points.slice(1).forEach(([cx, cy]) => GDN.svg(dots, "circle", { cx, cy, r: 3.5 }));
    set(last, { cx: points.at(-1)[0], cy: points.at(-1)[1],
      visibility: writes ? "visible" : "hidden" });
    set(handle, { transform: `translate(${points[0]})` });
    set(handleName, { x: row[0] < -1.7 ? 12 : -18, y: row[1] < -1.45 ? -12 : 18 });

    const off = (s) => keys.map((k, n) => Math.abs(values[n] - dot(s, k)));
    const [before, after] = [off(row), off(rows.at(-1))];
    GDN.say(handle, row[0].toFixed(2), `s is (${row.map(shown).join(", ")})`);
    if (readout) {
      const far = Math.hypot(rows.at(-1)[0] - STAR[0], rows.at(-1)[1] - STAR[1]);
      readout.textContent = `s = (${row.map(shown).join(", ")}), β = ${shown(beta)}, keys ${angle}° `
        + `apart (cosine ${shown(cosine)}). What it returns is off by `
        + `${before.map(shown).join(" at k₁ and ")} at k₂; after ${writes} ${writes === 1 ? "write" : "writes"} by `
        + `${after.map(shown).join(" and ")}. Still ${shown(far)} from the row that recalls both.`;
    }
  };

  const move = ([x, y]) => { row = [clamp(x, limit[0]), clamp(y, limit[1])]; draw(); };
  set(handle, { "aria-valuemin": -limit[0], "aria-valuemax": limit[0] });
  GDN.drag(drawing, handle, "row s of the memory", (at) => move(plane(at)),
    ([dx, dy]) => move([row[0] + 0.05 * dx, row[1] + 0.05 * dy]));
  GDN.slider(host, "β", { min: 0, max: 2, step: 0.05, value: beta },
    (value) => { beta = value; draw(); });
  GDN.slider(host, "angle from k₁ to k₂", { min: 10, max: 90, step: 1, value: angle },
    (value) => { angle = value; draw(); });
  GDN.slider(host, "writes", { min: 0, max: 20, step: 1, value: writes },
    (value) => { writes = value; draw(); });
  readout = GDN.readout(host);
  draw();
});
