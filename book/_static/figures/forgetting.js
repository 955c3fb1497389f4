// What is left of the tokens 0 to 128 back, for one decay and a reset (eq-half-life). The dashed
// box is as high as a weight of one and has the area of all weights. The handle asks one token: how
// much of it is left, and how that compares with the crosstalk of a stream (eq-decay-recall).
"use strict";
GDN.figure("forgetting", (host) => {
  const width = 440, height = 300, left = 46, right = 424, top = 28, bottom = 240;
  const ages = 128, keyWidth = 128;
  const drawing = GDN.canvas(host, width, height,
    "The weight of each past token under decay, the newest at the right");
  const state = { halfLife: 20, reset: 0, age: 40 };
  const x = (age) => right - (right - left) * age / (ages + 1);
  const y = (weight) => bottom - (bottom - top) * weight;
  const step = x(0) - x(1);

  const rect = (attributes) => GDN.svg(drawing, "rect", attributes);
  const line = (stroke, wide, dashes = "none") => GDN.svg(drawing, "line",
    { stroke: `var(--gdn-${stroke})`, "stroke-width": wide, "stroke-dasharray": dashes });
  const set = (node, attributes) => {
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  };
  const label = (attributes, text = "") => GDN.svg(drawing, "text", attributes, text);

  const bars = [];
  for (let age = 0; age <= ages; age += 1) {
    bars.push(rect({ x: x(age) - step, width: step + 0.2, fill: "var(--gdn-decay)" }));
  }
  set(line("quiet", 1), { x1: left, y1: bottom, x2: right, y2: bottom });
  for (const age of [0, 32, 64, 96, 128]) {
    label({ x: x(age) - step / 2, y: bottom + 18, "text-anchor": "middle" }, String(age));
  }
  for (const weight of [0, 0.5, 1]) {
    label({ x: left - 8, y: y(weight) + 5, "text-anchor": "end" }, String(weight));
  }
  label({ x: (left + right) / 2, y: bottom + 38, "text-anchor": "middle" }, "tokens back");
  label({ x: left, y: 15 }, "what is left");

  const box = GDN.svg(drawing, "path", { fill: "none", stroke: "var(--gdn-ink)", "stroke-width": 1.5,
    "stroke-dasharray": "4 4" });
  const half = line("decay", 2, "2 4");
  const dot = GDN.svg(drawing, "circle", { r: 5, fill: "var(--gdn-decay)",
    stroke: "var(--gdn-ink)", "stroke-width": 1.5 });
  const cut = line("error", 2.5);
  const cutName = label({ y: top + 14 });
  const probe = line("query", 3);
  const knob = GDN.svg(drawing, "g");
  GDN.svg(knob, "rect", { x: -18, y: top - 10, width: 36, height: bottom - top + 20,
    fill: "transparent" });
  GDN.svg(knob, "circle", { cy: bottom, r: 9, fill: "var(--gdn-query)", "fill-opacity": 0.5,
    stroke: "var(--gdn-query)", "stroke-width": 2 });

  const percent = (share) => (share >= 0.0995 ? (100 * share).toFixed(0)
    : (100 * share).toPrecision(2)) + " %";
  let readout = null;
  const draw = () => {
    const { halfLife, reset, age } = state;
    const alpha = 0.5 ** (1 / halfLife);
    const kept = reset ? reset : Infinity;
    const weight = (n) => (n > kept ? 0 : alpha ** n);
    bars.forEach((bar, n) => set(bar, { y: y(weight(n)), height: bottom - y(weight(n)),
      "fill-opacity": n === age ? 0.9 : 0.4 }));

    const sum = (1 - alpha ** (kept + 1)) / (1 - alpha);
    const edges = `H ${right} V ${bottom}`; // the left one may be out of sight
    set(box, { d: sum > ages + 1 ? `M ${left} ${top} ${edges} H ${left}`
      : `M ${x(sum)} ${top} ${edges} H ${x(sum)} Z` });
    const inView = halfLife <= ages && halfLife <= kept;
    const at = { x: x(halfLife) - step / 2, y: y(0.5) };
    set(half, { x1: left, y1: at.y, x2: at.x, y2: at.y, visibility: inView ? "visible" : "hidden" });
    set(dot, { cx: at.x, cy: at.y, visibility: inView ? "visible" : "hidden" });
    const edge = x(reset + 1), nearLeft = edge < left + 60;
    set(cut, { x1: edge, y1: top - 6, x2: edge, y2: bottom,
      visibility: reset ? "visible" : "hidden" });
    set(cutName, { x: edge + (nearLeft ? 5 : -5), "text-anchor": nearLeft ? "start" : "end" });
    cutName.textContent = reset ? "reset" : "";
    const place = x(age) - step / 2;
    set(probe, { x1: place, y1: y(weight(age)), x2: place, y2: bottom });
    knob.setAttribute("transform", `translate(${place} 0)`);
    GDN.say(knob, age, `${age} tokens back, ${percent(weight(age))} left`);
    if (!readout) return;

    const others = (1 - alpha ** (2 * (kept + 1))) / (1 - alpha * alpha) - alpha ** (2 * age);
    const ratio = keyWidth * alpha ** (2 * age) / others;
    const shown = ratio < 9.95 ? ratio.toPrecision(2) : Math.round(ratio);
    const token = age ? `The token ${age} back` : "The newest token";
    const asked = age > kept
      ? `${token} is gone: the reset lies between.`
      : `${token} keeps ${percent(weight(age))}; among random keys of width ${keyWidth} its `
        + `signal is ${shown} times the crosstalk.`;
    readout.textContent = `α = ${alpha.toFixed(4)}, half-life ${halfLife} `
      + `${halfLife === 1 ? "token" : "tokens"}: all weights together are ${sum.toFixed(1)}. `
      + asked;
  };

  const ask = (age) => {
    state.age = Math.max(0, Math.min(ages, Math.round(age)));
    draw();
  };
  GDN.drag(drawing, knob, "The token asked about",
    ([px]) => ask((right - px - step / 2) / step), ([dx, dy]) => ask(state.age - (dx || dy)));

  const input = (name) => (value) => { state[name] = value; draw(); };
  GDN.slider(host, "half-life in tokens", { min: 1, max: 200, step: 1, value: 20 },
    input("halfLife"));
  GDN.slider(host, "reset, tokens back (0: none)", { min: 0, max: 128, step: 1, value: 0 },
    input("reset"));
  readout = GDN.readout(host);
  draw();
});
