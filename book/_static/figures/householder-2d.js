// One row s of the state in the plane, a unit key k, and the image P s with P = I - beta k k^T
// (eq-transition). Drag s and k; the slider is beta. The row's path from beta = 0 to 2 is a
// straight line along k, crossing the line orthogonal to k at beta = 1.
"use strict";
GDN.figure("householder-2d", (host) => {
  const width = 420, height = 360, unit = 82, centre = [width / 2, height / 2];
  const limit = [2.3, 1.95];
  const drawing = GDN.canvas(host, width, height,
    "A row s of the state, the key k, the line orthogonal to k, and the image of s");
  const pixel = ([x, y]) => [centre[0] + unit * x, centre[1] - unit * y];
  const plane = ([px, py]) => [(px - centre[0]) / unit, (centre[1] - py) / unit];
  const clamp = (value, bound) => Math.max(-bound, Math.min(bound, value));

  let row = [1.5, 0.9], angle = 60, beta = 1;

  GDN.svg(drawing, "circle", { cx: centre[0], cy: centre[1], r: unit, fill: "none",
    stroke: "var(--gdn-faint)", "stroke-width": 1.5 });
  const line = (stroke, width_, dashes = "none") => GDN.svg(drawing, "line",
    { stroke: `var(--gdn-${stroke})`, "stroke-width": width_, "stroke-dasharray": dashes });
  const across = line("quiet", 1.5, "7 5");
  const path = line("key", 1.2);
  const erased = line("key", 4, "2 5");
  erased.setAttribute("stroke-linecap", "round");
  const marks = [0, 1, 2].map((at) => ({ at,
    dot: GDN.svg(drawing, "circle", { r: 3, fill: "var(--gdn-key)" }),
    text: GDN.svg(drawing, "text", { "text-anchor": "middle", "font-style": "italic" },
      at === 1 ? "β = 1" : at === 2 ? "β = 2" : "") }));

  const arrow = (role, thick) => ({
    shaft: line(role, thick),
    head: GDN.svg(drawing, "polygon", { fill: `var(--gdn-${role})` }) });
  const point = ({ shaft, head }, to) => {
    const [x, y] = pixel(to), size = Math.hypot(x - centre[0], y - centre[1]);
    const [ux, uy] = size > 1 ? [(x - centre[0]) / size, (y - centre[1]) / size] : [0, 0];
    const long = Math.min(11, size);
    const [bx, by] = [x - long * ux, y - long * uy];
    for (const [name, value] of Object.entries({ x1: centre[0], y1: centre[1], x2: bx, y2: by })) {
      shaft.setAttribute(name, value);
    }
    head.setAttribute("points",
      `${x},${y} ${bx - 5 * uy},${by + 5 * ux} ${bx + 5 * uy},${by - 5 * ux}`);
  };
  const keyArrow = arrow("key", 3), rowArrow = arrow("quiet", 3), imageArrow = arrow("state", 4);

  // A handle is easy to hit: a small disc in a wide invisible one.
  const knob = (role, name) => {
    const group = GDN.svg(drawing, "g");
    GDN.svg(group, "circle", { r: 22, fill: "transparent" });
    GDN.svg(group, "circle", { r: 8, fill: `var(--gdn-${role})`, "fill-opacity": 0.35,
      stroke: `var(--gdn-${role})`, "stroke-width": 2 });
    GDN.svg(group, "text", { x: 13, y: -9, "font-style": "italic", "font-weight": "bold" }, name);
    return group;
  };
  const keyKnob = knob("key", "k"), rowKnob = knob("quiet", "s");
  const imageName = GDN.svg(drawing, "text", { "font-style": "italic", "font-weight": "bold" },
    "Ps");

  const set = (node, [x1, y1], [x2, y2]) => {
    for (const [name, value] of Object.entries({ x1, y1, x2, y2 })) node.setAttribute(name, value);
  };
  const caseName = () => {
    if (beta === 0) return "identity";
    if (beta === 1) return "projection";
    if (beta === 2) return "reflection";
    return beta < 1 ? "partial erasure" : "overshoot";
  };
  const shown = (x) => x.toFixed(2).replace(/^-(0\.00)$/, "$1").replace("-", "−");
  const pair = ([x, y]) => `(${shown(x)}, ${shown(y)})`;

  let readout = null;
  const draw = () => {
    const key = [Math.cos(angle * Math.PI / 180), Math.sin(angle * Math.PI / 180)];
    const share = row[0] * key[0] + row[1] * key[1];
    const at = (b) => [row[0] - b * share * key[0], row[1] - b * share * key[1]];
    const image = at(beta), side = row[1] * key[0] - row[0] * key[1] < 0 ? -1 : 1;
    set(across, pixel([-3 * key[1], 3 * key[0]]), pixel([3 * key[1], -3 * key[0]]));
    set(path, pixel(row), pixel(at(2)));
    set(erased, pixel(row), pixel(image));
    for (const mark of marks) {
      const [x, y] = pixel(at(mark.at));
      mark.dot.setAttribute("cx", x);
      mark.dot.setAttribute("cy", y);
      // beside the path, on the side away from the origin; none where the image's name stands
      mark.text.setAttribute("x", clamp(x - centre[0] - 34 * side * key[1], 182) + centre[0]);
      mark.text.setAttribute("y", clamp(y - centre[1] + 5 - 30 * side * key[0], 165) + centre[1]);
      const near = Math.abs(share * (beta - mark.at)) < 0.35 || Math.abs(share) < 0.45;
      mark.text.setAttribute("visibility", near ? "hidden" : "visible");
    }
    point(keyArrow, key);
    point(rowArrow, row);
    point(imageArrow, image);
    keyKnob.setAttribute("transform", `translate(${pixel(key)})`);
    rowKnob.setAttribute("transform", `translate(${pixel(row)})`);
    const [ix, iy] = pixel(image);
    imageName.setAttribute("x", clamp(ix + 8 - centre[0], 185) + centre[0]);
    imageName.setAttribute("y", clamp(iy + 18 - centre[1], 170) + centre[1]);

    const before = Math.hypot(...row), after = Math.hypot(...image);
    GDN.say(keyKnob, angle, `k at ${angle} degrees`);
    GDN.say(rowKnob, row[0].toFixed(2), `s is ${pair(row)}`);
    if (readout) {
      readout.textContent = `s = ${pair(row)}, k at ${angle}°, β = ${beta.toFixed(2)}: `
        + `${caseName()}. Ps = ${pair(image)}; length ${before.toFixed(2)} → ${after.toFixed(2)}`
        + (before > 0.005 ? ` (ratio ${(after / before).toFixed(2)}).` : ".");
    }
  };

  const moveRow = ([x, y]) => { row = [clamp(x, limit[0]), clamp(y, limit[1])]; draw(); };
  const turnKey = (to) => { angle = ((Math.round(to) % 360) + 360) % 360; draw(); };
  keyKnob.setAttribute("aria-valuemin", 0);
  keyKnob.setAttribute("aria-valuemax", 359);
  rowKnob.setAttribute("aria-valuemin", -limit[0]);
  rowKnob.setAttribute("aria-valuemax", limit[0]);
  GDN.drag(drawing, keyKnob, "key k: its angle in degrees",
    (at) => { const [x, y] = plane(at); turnKey(Math.atan2(y, x) * 180 / Math.PI); },
    ([dx, dy]) => turnKey(angle + dx + dy));
  GDN.drag(drawing, rowKnob, "row s of the state", (at) => moveRow(plane(at)),
    ([dx, dy]) => moveRow([row[0] + 0.05 * dx, row[1] + 0.05 * dy]));
  GDN.slider(host, "β", { min: 0, max: 2, step: 0.01, value: beta },
    (value) => { beta = value; draw(); });
  readout = GDN.readout(host);
  draw();
});
