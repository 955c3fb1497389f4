// The unit sphere and its image under P = I - beta k k^T (eq-transition) in three dimensions:
// squashed along k by 1 - beta, untouched in the plane orthogonal to k. Drag (or use the arrow
// keys) to walk round it; the sliders are beta and the angle between the key k and a row s.
"use strict";
GDN.figure("householder-3d", (host) => {
  const width = 420, height = 350, unit = 104, centre = [width / 2, height / 2];
  const drawing = GDN.canvas(host, width, height,
    "The unit sphere, its image, the key k and a row s, in three dimensions");
  const radians = (degrees) => degrees * Math.PI / 180;

  let beta = 1.4, angle = 50; // k is the third axis; s leans by `angle`

  const squash = ([x, y, z]) => [x, y, (1 - beta) * z];

  // Circles of latitude and longitude on the unit sphere; k is its pole.
  const step = 7.5, round = Array.from({ length: 49 }, (_, i) => radians(step * i));
  const circles = [];
  for (const latitude of [-60, -30, 0, 30, 60].map(radians)) {
    circles.push(round.map((t) => [Math.cos(latitude) * Math.cos(t),
      Math.cos(latitude) * Math.sin(t), Math.sin(latitude)]));
  }
  for (const longitude of [0, 30, 60, 90, 120, 150].map(radians)) {
    circles.push(round.map((t) => [Math.cos(t) * Math.cos(longitude),
      Math.cos(t) * Math.sin(longitude), Math.sin(t)]));
  }

  const stroke = (role, thick, opacity = 1, dashes = "none") => GDN.svg(drawing, "path",
    { fill: "none", stroke: `var(--gdn-${role})`, "stroke-width": thick,
      "stroke-opacity": opacity, "stroke-dasharray": dashes });
  const ball = stroke("quiet", 0.7, 0.45), rim = stroke("quiet", 1, 0.8);
  const back = stroke("state", 0.8, 0.4);
  const plane = GDN.svg(drawing, "polygon", { fill: "var(--gdn-quiet)", "fill-opacity": 0.16,
    stroke: "var(--gdn-quiet)", "stroke-dasharray": "6 4" });
  const front = stroke("state", 1.6), edge = stroke("state", 2.2);
  const fall = stroke("key", 4, 1, "2 5");
  fall.setAttribute("stroke-linecap", "round");
  const arrow = (role, name) => ({
    shaft: stroke(role, 3.5),
    head: GDN.svg(drawing, "polygon", { fill: `var(--gdn-${role})` }),
    text: GDN.svg(drawing, "text", { "font-style": "italic", "font-weight": "bold" }, name) });
  const key = arrow("key", "k"), row = arrow("quiet", "s"), image = arrow("state", "Ps");

  const segments = (curve) => curve.slice(1).map((to, i) => [curve[i], to]);
  const trace = (pairs) => pairs.map(([from, to]) => {
    const [a, b] = [pixel(from), pixel(to)];
    return `M${a[0].toFixed(1)} ${a[1].toFixed(1)}L${b[0].toFixed(1)} ${b[1].toFixed(1)}`;
  }).join("");
  // Is the image's surface turned towards us here? Its outward normal at P u is (1 - beta) times
  // u across k and 1 times u along k, up to sign; a flat image (beta = 1) shows whole.
  const faces = ([x, y, z]) => {
    const thin = 1 - beta;
    return Math.abs(thin) < 0.005
      || Math.sign(thin) * view([thin * x, thin * y, z])[2] >= 0;
  };
  // The outline: the great circle whose image has its normal at right angles to our line of sight.
  const outline = (thin) => {
    const [level, , sight] = look(); // the first is orthogonal to our line of sight
    const pole = [thin * sight[0], thin * sight[1], sight[2]];
    const size = Math.hypot(...pole);
    const [a, b, c] = size > 1e-6 ? pole.map((value) => value / size) : [0, 0, 1];
    const third = [-c * level[1], c * level[0], a * level[1] - b * level[0]];
    return round.map((t) =>
      level.map((value, i) => Math.cos(t) * value + Math.sin(t) * third[i]));
  };
  const point = ({ shaft, head, text }, to) => {
    const [x, y] = pixel(to), size = Math.hypot(x - centre[0], y - centre[1]);
    const [ux, uy] = size > 1 ? [(x - centre[0]) / size, (y - centre[1]) / size] : [0, 0];
    const long = Math.min(11, size), [bx, by] = [x - long * ux, y - long * uy];
    shaft.setAttribute("d", `M${centre} L${bx} ${by}`);
    head.setAttribute("points",
      `${x},${y} ${bx - 5 * uy},${by + 5 * ux} ${bx + 5 * uy},${by - 5 * ux}`);
    text.setAttribute("x", x + 12 * ux + (ux < 0 ? -14 : 4));
    text.setAttribute("y", y + 12 * uy + 4);
  };

  // The sphere is the handle.
  const { look, view, pixel, words } = GDN.turntable(drawing,
    { centre, unit, radius: 118, turn: 30, tilt: 18 }, () => draw());

  let readout = null;
  const draw = () => {
    const leaning = [1.35 * Math.sin(radians(angle)), 0, 1.35 * Math.cos(radians(angle))];
    const moved = squash(leaning);
    ball.setAttribute("d", circles.map((curve) => trace(segments(curve))).join(""));
    const near = [], far = [];
    for (const [from, to] of circles.flatMap(segments)) {
      const middle = from.map((value, i) => (value + to[i]) / 2);
      (faces(middle) ? near : far).push([squash(from), squash(to)]);
    }
    front.setAttribute("d", trace(near));
    back.setAttribute("d", trace(far));
    rim.setAttribute("d", trace(segments(outline(1))));
    edge.setAttribute("d", trace(segments(outline(1 - beta).map(squash))));
    plane.setAttribute("points", round.map((t) =>
      pixel([1.3 * Math.cos(t), 1.3 * Math.sin(t), 0]).map((p) => p.toFixed(1))).join(" "));
    fall.setAttribute("d", trace([[leaning, moved]]));
    const pole = [0, 0, 1.45];
    point(key, pole);
    point(row, leaning);
    point(image, moved);
    // Tips that meet share a name; at the tip of k it stands on the other side.
    const apart = (a, b) => Math.hypot(...pixel(a).map((x, i) => x - pixel(b)[i]));
    const together = apart(leaning, moved) < 22;
    row.text.textContent = together ? "s, Ps" : "s";
    image.text.textContent = together ? "" : "Ps";
    for (const [{ text }, tip] of [[row, leaning], [image, moved]]) {
      const aside = apart(tip, pole) < 26;
      text.setAttribute("text-anchor", aside ? "end" : "start");
      if (aside) {
        text.setAttribute("x", pixel(tip)[0] - 12);
        text.setAttribute("y", pixel(tip)[1] + 14);
      }
    }
    if (readout) {
      const ratio = Math.hypot(...moved) / Math.hypot(...leaning);
      const factor = (1 - beta).toFixed(2).replace("-", "−");
      readout.textContent = `β = ${beta.toFixed(2)}: lengths along k are multiplied by ${factor}, `
        + `lengths across k by 1. A row ${angle}° from k becomes ${ratio.toFixed(2)} times as `
        + `long. ${words()}`;
    }
  };

  GDN.slider(host, "β", { min: 0, max: 2, step: 0.01, value: beta },
    (value) => { beta = value; draw(); });
  GDN.slider(host, "k to s, degrees", { min: 0, max: 180, step: 1, value: angle },
    (value) => { angle = value; draw(); });
  readout = GDN.readout(host);
  draw();
});
