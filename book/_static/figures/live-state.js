// The first page: one head's state decays, is read, corrected and written, token after token
// (eq-gdn-step). Turn the key by its handle; the sliders are alpha and beta; the table asks the
// state for every value it was given.
"use strict";
GDN.figure("live-state", (host) => {
  const KEYS = [15, 105, 60, 150, 15, 80];
  const VALUES = [[2, 0, -1], [0, 1, 2], [1, -2, 0], [-1, 1, 1], [0, 2, -2], [2, -1, 1]];
  const STEPS = ["decay", "read", "correct", "write"];
  const RADIUS = 84, CENTRE = [130, 118], SHOWN = 4, PAUSE = 1100;
  let state, past, token, phase, degrees, alpha = 0.95, beta = 1, timer = null;

  const direction = (angle) => [Math.cos(angle * Math.PI / 180), Math.sin(angle * Math.PI / 180)];
  const times = (S, x) => S.map((row) => row[0] * x[0] + row[1] * x[1]);
  const show = (x, decimals = 1) => {
    const text = Math.abs(x).toFixed(decimals);
    return (x < 0 && Number(text) !== 0 ? "\u2212" : "") + text;
  };
  const vector = (x) => `(${x.map((xi) => show(xi)).join(", ")})`;
  const value = () => VALUES[token % VALUES.length];

  // The four steps from the state that the token finds; `phase` says how many are done.
  const compute = () => {
    const k = direction(degrees), decayed = state.map((row) => row.map((s) => alpha * s));
    const r = times(decayed, k), delta = value().map((v, i) => beta * (v - r[i]));
    const written = decayed.map((row, i) => row.map((s, j) => s + delta[i] * k[j]));
    return { k, r, delta, S: phase < 1 ? state : phase < 4 ? decayed : written };
  };

  const [circle, numbers] = GDN.panes(host, "13rem", "17rem");
  const plane = GDN.canvas(circle, 260, 236, "The keys as directions in the plane");
  const board = GDN.canvas(numbers, 348, 236, "State, key, read, value and correction");

  GDN.svg(plane, "circle", { cx: CENTRE[0], cy: CENTRE[1], r: RADIUS, fill: "none",
    stroke: "var(--gdn-quiet)" });
  const ray = () => ({
    line: GDN.svg(plane, "line", { x1: CENTRE[0], y1: CENTRE[1], stroke: "var(--gdn-key)",
      "stroke-width": 2 }),
    name: GDN.svg(plane, "text", { "text-anchor": "middle" }),
  });
  const earlier = Array.from({ length: SHOWN - 1 }, ray), current = ray();
  current.line.setAttribute("stroke-width", 3.5);
  current.name.setAttribute("style", "font-weight:bold");
  const knob = GDN.svg(plane, "g");
  GDN.svg(knob, "circle", { r: 22, fill: "transparent" });
  GDN.svg(knob, "circle", { r: 10, fill: "var(--gdn-key)", "fill-opacity": 0.8 });
  const point = ({ line, name }, angle, text, opacity) => {
    const [x, y] = direction(angle);
    line.setAttribute("x2", CENTRE[0] + RADIUS * x);
    line.setAttribute("y2", CENTRE[1] - RADIUS * y);
    name.setAttribute("x", CENTRE[0] + (RADIUS + 24) * x);
    name.setAttribute("y", CENTRE[1] - (RADIUS + 22) * y + 5);
    name.textContent = text;
    line.setAttribute("opacity", opacity);
  };

  // The board: columns of cells, and the names of the four steps under them.
  const column = (x, y, rows, name, role) => {
    GDN.svg(board, "text", { x: x + 23, y: y - 8, "text-anchor": "middle",
      style: `font-weight:bold; fill:var(--gdn-${role})` }, name);
    return cells(x, y, rows);
  };
  const cells = (x, y, rows) => {
    const boxes = Array.from({ length: rows }, (_, i) => ({
      box: GDN.svg(board, "rect", { x, y: y + 36 * i, width: 46, height: 36,
        stroke: "var(--gdn-quiet)" }),
      text: GDN.svg(board, "text", { x: x + 23, y: y + 36 * i + 23, "text-anchor": "middle" }),
    }));
    return (numbers) => boxes.forEach(({ box, text }, i) => {
      const known = numbers !== null, x_ = known ? numbers[i] : 0;
      text.textContent = known ? show(x_, rows === 2 ? 2 : 1) : "";
      box.setAttribute("fill", x_ < 0 ? "var(--gdn-minus)" : "var(--gdn-plus)");
      box.setAttribute("fill-opacity", Math.min(0.5, Math.abs(x_) * 0.17));
    });
  };
  GDN.svg(board, "text", { x: 52, y: 24, "text-anchor": "middle",
    style: "font-weight:bold; fill:var(--gdn-state)" }, "S");
  const left = cells(6, 32, 3), right = cells(52, 32, 3);
  const key = column(122, 50, 2, "k", "key");
  const read = column(184, 32, 3, "r = S k", "query");
  const wanted = column(240, 32, 3, "v", "value");
  const missing = column(296, 32, 3, "\u03b4", "error");
  const FORMULAS = ["S \u2190 \u03b1 S", "r = S k", "\u03b4 = \u03b2 (v \u2212 r)",
    "S \u2190 S + \u03b4 k\u1d40"];
  const steps = STEPS.map((name, i) => {
    const x = 3 + 87 * i, group = GDN.svg(board, "g");
    const frame = GDN.svg(group, "rect", { x, y: 166, width: 82, height: 54, rx: 5,
      stroke: "var(--gdn-ink)", fill: "var(--gdn-faint)" });
    GDN.svg(group, "text", { x: x + 41, y: 187, "text-anchor": "middle",
      style: "font-weight:bold" }, name);
    GDN.svg(group, "text", { x: x + 41, y: 208, "text-anchor": "middle",
      style: "font-size:11.5px" }, FORMULAS[i]);
    return { group, frame };
  });

  const asking = GDN.html(host, "div", { class: "gdn-asked" });
  const table = GDN.html(asking, "table");
  GDN.html(table, "caption", {}, "What the state returns now, asked with each key");
  const head = GDN.html(GDN.html(table, "thead"), "tr");
  for (const name of ["token", "given", "returned", "off by"]) {
    GDN.html(head, "th", { scope: "col" }, name);
  }
  const lines = GDN.html(table, "tbody");

  const draw = () => {
    const { k, r, delta, S } = compute();
    left(S.map((row) => row[0]));
    right(S.map((row) => row[1]));
    key(k);
    read(phase >= 2 ? r : null);
    wanted(value());
    missing(phase >= 3 ? delta : null);
    steps.forEach(({ group, frame }, i) => {
      group.setAttribute("opacity", i < phase ? 1 : 0.45);
      frame.setAttribute("stroke-width", i === phase - 1 ? 2.5 : 0);
    });
    const recent = past.slice(1 - SHOWN);
    earlier.forEach((node, i) => {
      const shown = recent[i];
      point(node, shown?.degrees ?? 0, shown ? `k${GDN.low(shown.token + 1)}` : "", shown ? 0.45 : 0);
    });
    point(current, degrees, "", 1);
    const [x, y] = k;
    knob.setAttribute("transform",
      `translate(${CENTRE[0] + RADIUS * x} ${CENTRE[1] - RADIUS * y})`);
    current.name.textContent = `k${GDN.low(token + 1)}`;
    GDN.say(knob, degrees, `key of token ${token + 1} at ${degrees} degrees`);

    const asked = phase === 4 ? [...recent, { token, degrees, value: value() }] : recent;
    lines.replaceChildren();
    for (const line of asked) {
      const back = times(S, direction(line.degrees));
      const off = Math.hypot(...back.map((b, i) => b - line.value[i]));
      const row = GDN.html(lines, "tr");
      GDN.html(row, "th", { scope: "row" }, `${line.token + 1}`);
      for (const cell of [vector(line.value), vector(back), show(off, 2)]) {
        GDN.html(row, "td", {}, cell);
      }
    }
    says.textContent = tell(r, delta, S, k);
  };
  const tell = (r, delta, S, k) => {
    const name = `Token ${token + 1}, key at ${degrees}\u00b0, value ${vector(value())}. `;
    return name + [
      `It arrives. Its step will keep ${show(alpha, 2)} of the state and write with strength `
        + `${show(beta, 2)}.`,
      `Decay: the state keeps ${show(alpha, 2)} of itself.`,
      `Read: under this key it holds ${vector(r)}.`,
      `Correct: \u03b4 = ${vector(delta)} is ${show(beta, 2)} of what is missing.`,
      `Write: asked with this key, the state now returns ${vector(times(S, k))}.`,
    ][phase];
  };

  const step = () => {
    if (phase === 4) {
      state = compute().S;
      past.push({ token, degrees, value: value() });
      token += 1;
      degrees = KEYS[token % KEYS.length];
      phase = 0;
    }
    phase += 1;
    draw();
  };
  const stop = () => {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
    says.setAttribute("aria-live", "polite");
  };
  const restart = () => {
    state = [[0, 0], [0, 0], [0, 0]];
    past = [];
    token = 0;
    phase = 0;
    degrees = KEYS[0];
  };
  const [play] = GDN.buttons(host, {
    Play: () => {
      if (timer !== null) { stop(); return; }
      says.setAttribute("aria-live", "off"); // a reader who listens hears the steps, not the clock
      play.textContent = "Pause";
      timer = setInterval(step, PAUSE);
      step();
    },
    Step: () => { stop(); step(); },
    "Start again": () => { stop(); restart(); draw(); },
  });

  const turn = (to) => { degrees = ((Math.round(to) % 360) + 360) % 360; draw(); };
  GDN.drag(plane, knob, "Key of the token", ([x, y]) => {
    stop();
    const to = Math.atan2(CENTRE[1] - y, x - CENTRE[0]) * 180 / Math.PI;
    const near = past.slice(1 - SHOWN).find((one) => Math.abs(one.degrees - to) < 4);
    turn(near?.degrees ?? to);
  }, ([dx, dy]) => turn(5 * (Math.round(degrees / 5) + dx + dy)));
  knob.setAttribute("aria-valuemin", 0);
  knob.setAttribute("aria-valuemax", 359);

  const says = GDN.readout(host);
  restart();
  for (let done = 0; done < 4; done += 1) step(); // the first token is in when the page opens
  GDN.slider(host, "\u03b1, kept", { min: 0, max: 1, step: 0.01, value: alpha },
    (to) => { alpha = to; draw(); });
  GDN.slider(host, "\u03b2, written", { min: 0, max: 2, step: 0.01, value: beta },
    (to) => { beta = to; draw(); });
  host.append(asking);
});
