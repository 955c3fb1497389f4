// Six keys on the unit sphere act on sixty rows, one after the other: S P_1 P_2 ... P_r; rings show
// where one step, S (I - W^T K), puts the same rows (eq-wy-product, eq-wy-matrix). Drag a key, or
// the sphere; sliders for the keys applied and for their strengths. The rows and keys are those of
// gdn_ref/figures/ch07_reflections.py.
"use strict";
GDN.figure("reflections", (host) => {
  const width = 400, height = 320, unit = 148, centre = [width / 2, height / 2];
  const PAUSE = 1200, COUNT = 60;
  const drawing = GDN.canvas(host, width, height,
    "Sixty rows in three dimensions, before and after the keys on a sphere have acted on them");
  const radians = (degrees) => degrees * Math.PI / 180;
  const onSphere = ([round, up]) => [Math.cos(radians(up)) * Math.cos(radians(round)),
    Math.cos(radians(up)) * Math.sin(radians(round)), Math.sin(radians(up))];
  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  const less = (a, factor, b) => a.map((x, i) => x - factor * b[i]); // a - factor b
  const apart = (a, b) => Math.hypot(...less(a, 1, b));

  // A screw, which narrows: its mirror image turns the other way.
  const rows = Array.from({ length: COUNT }, (_, n) => {
    const along = n / (COUNT - 1), angle = 6 * Math.PI * along, thick = 0.42 - 0.25 * along;
    return [0.3 + thick * Math.cos(angle), 0.15 + thick * Math.sin(angle), 1.5 * along - 0.65];
  });
  const K = [[75, 5], [5, 50], [-15, -20], [45, -50], [100, 45], [30, 10]].map(onSphere);
  const beta = K.map(() => 2);
  let taken = 3, chosen = "all", rings = "wy", moved = 0, ready = false;

  // Token by token; path[r] are the rows after r keys.
  const steps = () => {
    const path = [rows];
    for (let r = 0; r < taken; r += 1)
      path.push(path[r].map((s) => less(s, beta[r] * dot(s, K[r]), K[r])));
    return path;
  };
  // w_r = beta_r (k_r - sum of w_i (k_i . k_r)); the slip forgets the sum.
  const wys = () => {
    const W = [];
    for (let r = 0; r < taken; r += 1) {
      let w = K[r];
      if (rings === "wy") W.forEach((before, i) => { w = less(w, dot(K[i], K[r]), before); });
      W.push(w.map((x) => beta[r] * x));
    }
    return W;
  };
  const atOnce = (W) => rows.map((s) => {
    const read = W.map((w) => dot(s, w));
    return read.reduce((sum, x, i) => less(sum, x, K[i]), s);
  });
  // The rank of the product: how many of its rows are left once each loses what is along others.
  const rank = () => {
    let left = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
    for (let r = 0; r < taken; r += 1)
      left = left.map((s) => less(s, beta[r] * dot(s, K[r]), K[r]));
    for (let found = 0; ; found += 1) {
      left.sort((a, b) => Math.hypot(...b) - Math.hypot(...a));
      const [first, ...others] = left, size = dot(first ?? [0], first ?? [0]);
      if (size < 1e-18) return found;
      left = others.map((s) => less(s, dot(s, first) / size, first));
    }
  };

  const path = (role, thick, opacity) => GDN.svg(drawing, "path", { fill: "none",
    stroke: `var(--gdn-${role})`, "stroke-width": thick, "stroke-opacity": opacity });
  const globe = GDN.turntable(drawing, { centre, unit, radius: unit, turn: 30, tilt: 18 },
    () => draw());
  const ball = path("quiet", 0.7, 0.4);
  GDN.svg(drawing, "circle", { cx: centre[0], cy: centre[1], r: unit, fill: "none",
    stroke: "var(--gdn-quiet)", "stroke-opacity": 0.8 });
  const fall = path("key", 0.8, 0.6), threadBefore = path("quiet", 1, 0.6);
  const thread = path("state", 1, 0.6);
  const dots = (attributes) => rows.map(() => GDN.svg(drawing, "circle", attributes));
  const before = dots({ r: 2, fill: "var(--gdn-quiet)" });
  const after = dots({ r: 2.6, fill: "var(--gdn-state)" });
  const rounds = dots({ r: 4.6, fill: "none", stroke: "var(--gdn-ink)", "stroke-width": 0.8 });
  for (const node of drawing.querySelectorAll("path, circle:not(.gdn-handle)"))
    node.style.pointerEvents = "none"; // what lies on the sphere leaves it to be turned

  const line = (points) => `M${points.map((at) =>
    globe.pixel(at).map((x) => x.toFixed(1)).join(" ")).join("L")}`;
  const around = Array.from({ length: 49 }, (_, i) => 7.5 * i);
  const circles = [...[-60, -30, 0, 30, 60].map((up) => around.map((t) => onSphere([t, up]))),
    ...[0, 30, 60, 90, 120, 150].map((round) => around.map((t) => onSphere([round, t])))];
  const put = (nodes, points) => nodes.forEach((node, n) => {
    const [x, y] = globe.pixel(points[n]);
    node.setAttribute("cx", x.toFixed(2));
    node.setAttribute("cy", y.toFixed(2));
  });

  // A key's handle; k and -k do the same, so that one at the back is drawn hollow and stays there.
  const handles = K.map((_, r) => {
    const knob = GDN.svg(drawing, "g");
    GDN.svg(knob, "circle", { r: 15, fill: "transparent" });
    const shape = GDN.svg(knob, "circle", { r: 10, stroke: "var(--gdn-key)", "stroke-width": 2 });
    const text = GDN.svg(knob, "text", { "text-anchor": "middle", dy: "0.35em" }, `${r + 1}`);
    const point = (right, up, depth) => {
      const size = Math.hypot(right, up, depth);
      const axes = globe.look();
      K[r] = [0, 1, 2].map((i) =>
        (right * axes[0][i] + up * axes[1][i] + depth * axes[2][i]) / size);
      moved = r;
      draw();
    };
    GDN.drag(drawing, knob, `key ${r + 1}`, ([x, y]) => {
      const right = (x - centre[0]) / unit, up = (centre[1] - y) / unit;
      const inside = Math.sqrt(Math.max(0, 1 - right * right - up * up));
      point(right, up, globe.view(K[r])[2] < 0 ? -inside : inside);
    }, ([dx, dy]) => {
      const [right, up, depth] = globe.view(K[r]), step = 0.05 * (depth < 0 ? -1 : 1);
      point(right + dx * step * depth, up + dy * step * depth,
        depth - dx * step * right - dy * step * up);
    });
    knob.setAttribute("aria-valuemin", -180);
    knob.setAttribute("aria-valuemax", 180);
    return { knob, shape, text };
  });
  const degrees = (x) => String(Math.round(x * 180 / Math.PI)).replace("-", "−");
  const where = ([x, y, z]) => [degrees(Math.atan2(y, x)), degrees(Math.asin(z))];

  const small = (x) => {
    if (x === 0) return "0";
    if (x >= 0.01) return x.toFixed(2);
    const [digits, power] = x.toExponential(0).split("e");
    return `${digits} · 10${power.replace(/./g, (sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)] ?? "")}`;
  };
  const PLACES = ["at the origin", "on a line", "in a plane", "in space"];
  const words = (path, landed) => {
    const last = path[taken];
    const gap = Math.max(...last.map((s, n) => apart(s, landed[n])));
    const ratios = last.map((s, n) => Math.hypot(...s) / Math.hypot(...rows[n]));
    const determinant = beta.slice(0, taken).reduce((product, b) => product * (1 - b), 1);
    const shape = PLACES[rank()];
    const low = Math.min(...ratios), high = Math.max(...ratios);
    const lengths = high - low < 1e-9 && Math.abs(high - 1) < 1e-9 ? "every length is kept"
      : `lengths are ${low.toFixed(2)} to ${high.toFixed(2)} times those before`;
    const hand = determinant < 0 && shape === "in space" ? ", and the screw turns the other way" : "";
    const number = determinant.toFixed(2).replace(/^-(?=0.00$)/, "").replace("-", "−");
    const [round, up] = where(K[moved]);
    return `${taken} of 6 keys applied: the rings are off by ${small(gap)} at most. `
      + `Determinant ${number}: ${lengths}, the rows lie ${shape}${hand}. `
      + `Key ${moved + 1} points ${round}° round and ${up}° up, β = ${beta[moved].toFixed(2)}. `
      + globe.words();
  };

  let readout = null;
  const draw = () => {
    const path = steps(), last = path[taken], landed = atOnce(wys());
    ball.setAttribute("d", circles.map(line).join(""));
    threadBefore.setAttribute("d", line(rows));
    thread.setAttribute("d", line(last));
    const from = path[Math.max(0, taken - 1)];
    fall.setAttribute("d", taken ? last.map((s, n) => line([from[n], s])).join("") : "");
    put(before, rows);
    put(after, last);
    put(rounds, landed);
    handles.forEach(({ knob, shape, text }, r) => {
      const [x, y] = globe.pixel(K[r]), front = globe.view(K[r])[2] >= 0, applied = r < taken;
      knob.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
      shape.setAttribute("fill", applied && front ? "var(--gdn-key)"
        : "var(--pst-color-background)");
      shape.setAttribute("stroke-dasharray", applied ? "none" : "3 3");
      text.setAttribute("style", applied && front
        ? "fill: var(--pst-color-background); font-weight: bold; font-size: 14px"
        : "font-size: 14px");
      const [round, up] = where(K[r]);
      GDN.say(knob, round.replace("−", "-"), `${round} degrees round and ${up} degrees up, `
        + `strength ${beta[r].toFixed(2)}, ${applied ? "applied" : "not applied"}`);
    });
    if (readout) readout.textContent = words(path, landed);
  };

  let timer = null;
  const stop = () => {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
    readout?.setAttribute("aria-live", "polite");
  };
  const step = () => applied.set(taken < K.length ? taken + 1 : 0);
  const applied = GDN.slider(host, "keys applied", { min: 0, max: 6, step: 1, value: taken },
    (value) => { taken = value; if (ready) draw(); });
  applied.range.addEventListener("pointerdown", () => stop());
  const [play] = GDN.buttons(host, {
    Play: () => {
      if (timer !== null) { stop(); return; }
      readout.setAttribute("aria-live", "off"); // who listens hears the steps, not the clock
      play.textContent = "Pause";
      timer = setInterval(() => { step(); if (taken === K.length) stop(); }, PAUSE);
      step();
    },
    Step: () => { stop(); step(); },
  });
  GDN.choice(host, "strength of", [["all", "all"], ...K.map((_, r) => [r, `k${GDN.low(r + 1)}`])],
    chosen, (value) => {
      chosen = value;
      if (value !== "all") strength.set(beta[moved = value]);
      draw();
    });
  const strength = GDN.slider(host, "β", { min: 0, max: 2, step: 0.05, value: 2 }, (value) => {
    if (!ready) return;
    if (chosen === "all") beta.fill(value);
    else beta[moved = chosen] = value;
    draw();
  });
  GDN.choice(host, "rings", [["wy", "one WY step"], ["slip", "w = βk, without the sum"]],
    rings, (value) => { rings = value; draw(); });
  readout = GDN.readout(host);
  ready = true;
  draw();
});
