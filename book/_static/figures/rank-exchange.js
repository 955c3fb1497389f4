// Ranks that exchange the pairs (F, G) of their shards: a ring, an all-gather, a tree
// (eq-exchange-times). One step runs all shards, each further step is a round of messages; a rank
// is ready when it knows the state before its shard.
"use strict";
GDN.figure("rank-exchange", (host) => {
  const MB = 2097152, LATENCY = 10e-6, BANDWIDTH = 200e9; // bytes of a state, and of an F
  const state = { R: 4, step: 2, how: "ring" };

  const rounds = (how, R) => {
    const found = [];
    if (how === "ring") {
      for (let p = 0; p < R - 1; p += 1) found.push([[p, p + 1]]);
    } else if (how === "tree") {
      for (let far = 1; far < R; far *= 2) {
        found.push(Array.from({ length: R - far }, (_, p) => [p, p + far]));
      }
    } else {
      for (let known = 1; known < R; known *= 2) {
        found.push(Array.from({ length: R }, (_, p) => [p, (p - known + R) % R]));
      }
    }
    return found;
  };

  const informed = (how, R, step) => {
    let have = Array.from({ length: R }, (_, p) => new Set([p]));
    rounds(how, R).slice(0, step).forEach((messages) => {
      const before = have.map((x) => new Set(x));
      messages.forEach(([source, target]) => before[source].forEach((q) => have[target].add(q)));
    });
    return have.map((x, p) => [...x].filter((q) => q < p).length);
  };

  const times = (R) => {
    const n = Math.ceil(Math.log2(R)), a = LATENCY, s = MB / BANDWIDTH;
    return { ring: (R - 1) * (a + s), "all-gather": n * a + (R - 1) * 2 * s,
      tree: n * (a + s) + (n - 1) * s };
  };

  const drawing = GDN.canvas(host, 440, 236, "Ranks, their pairs F and G, and the messages between");
  const picture = GDN.svg(drawing, "g");
  const colours = { ring: "first", "all-gather": "third", tree: "second" };
  const defs = GDN.svg(drawing, "defs");
  Object.entries(colours).forEach(([how, role]) => {
    const tip = GDN.svg(defs, "marker", { id: `gdn-tip-${how}`, viewBox: "0 0 10 10", refX: 9,
      refY: 5, markerWidth: 7, markerHeight: 7, orient: "auto" });
    GDN.svg(tip, "path", { d: "M 0 0 L 10 5 L 0 10 z", fill: `var(--gdn-${role})` });
  });
  let read = null;

  function draw() {
    if (!read) return;
    const { R, how } = state, made = rounds(how, R), wide = 424 / R;
    const step = Math.min(state.step, made.length + 1), done = Math.max(0, step - 1);
    const ready = informed(how, R, done).map((have, p) => have === p);
    const tile = Math.min(30, wide * 0.38);
    picture.replaceChildren();
    const square = (x, y, name, role, full) => {
      GDN.svg(picture, "rect", { x: x - tile / 2, y, width: tile, height: 30,
        fill: full ? `var(--gdn-${role})` : "none", "fill-opacity": 0.45,
        stroke: full ? "none" : "var(--gdn-quiet)", "stroke-dasharray": full ? "none" : "2 3" });
      GDN.svg(picture, "text", { x, y: y + 20, "text-anchor": "middle" }, name);
    };
    for (let p = 0; p < R; p += 1) {
      const middle = 8 + (p + 0.5) * wide;
      GDN.svg(picture, "text", { x: middle, y: 18, "text-anchor": "middle" },
        R > 6 ? String(p) : `rank ${p}`);
      GDN.svg(picture, "rect", { x: middle - wide * 0.45, y: 28, width: wide * 0.9, height: 26,
        fill: "var(--gdn-quiet)", "fill-opacity": step ? 0.85 : 0.35 });
      if (!step) continue;
      if (p) square(middle - tile * 0.56, 70, "F", "decay", true);
      square(middle + tile * 0.56, 70, "G", "state", true);
      square(middle, 192, "S", "state", ready[p]);
    }
    if (done) {
      made[done - 1].forEach(([source, target]) => {
        GDN.svg(picture, "line", { x1: 8 + (source + 0.5) * wide, y1: 106,
          x2: 8 + (target + 0.5) * wide, y2: 186, stroke: `var(--gdn-${colours[how]})`,
          "stroke-width": 1.8, "marker-end": `url(#gdn-tip-${how})` });
      });
    }
    const what = step === 0 ? "The tokens lie on the ranks."
      : step === 1 ? "All ranks have run their tokens, each from zero, and have their pairs."
        : `Round ${done} of ${made.length}.`;
    const known = step ? `${ready.filter(Boolean).length} of ${R} ranks know the state before their tokens. ` : "";
    read.textContent = `${what} ${known}With 2.1 MB a state and as much an F, 10 µs a message and `
      + `200 GB/s, all rounds of the ${how} take `
      + `${(times(R)[how] * 1e6).toFixed(0)} µs.`;
  }

  GDN.choice(host, "exchange", Object.keys(colours).map((how) => [how, how]), state.how,
    (how) => { state.how = how; draw(); });
  GDN.slider(host, "ranks", { min: 2, max: 8, step: 1, value: state.R },
    (value) => { state.R = value; draw(); });
  GDN.slider(host, "step", { min: 0, max: 8, step: 1, value: state.step },
    (value) => { state.step = value; draw(); });
  read = GDN.readout(host);
  draw();
});
