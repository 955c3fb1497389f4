// Chapter 1: the state matrix of linear attention, filled token by token (eq-linear-attention-state).
// Left, keys in the plane and a query to turn; right, the values, S, q and the read-out S q.
// The same five tokens as gdn_ref/figures/ch01.py.
"use strict";
GDN.figure("state-matrix", (host) => {
  const KEYS = [0, 90, 45, 0, 135];
  const VALUES = [[2, 0, -1], [0, 1, 2], [1, -2, 0], [-1, 1, 1], [0, 2, -2]];
  const RADIUS = 88, CENTRE = [132, 136];
  let written = 0, degrees = 0;

  const direction = (angle) => {
    const a = angle * Math.PI / 180;
    return [Math.cos(a), Math.sin(a)];
  };
  const dot = (x, y) => x.reduce((sum, xi, i) => sum + xi * y[i], 0);
  const show = (x, decimals = 1) => {
    const text = Math.abs(x).toFixed(decimals);
    return (x < 0 && Number(text) !== 0 ? "\u2212" : "") + text;
  };
  const vector = (x, decimals) => `(${x.map((xi) => show(xi, decimals)).join(", ")})`;

  const [left, right] = GDN.panes(host, "15rem", "15rem");
  const plane = GDN.canvas(left, 280, 264, "Keys and query on the unit circle");
  const board = GDN.canvas(right, 280, 264, "Values, state and read-out in numbers");

  // The plane: one arrow a key, the query on the circle.
  const defs = GDN.svg(plane, "defs");
  const head = GDN.svg(defs, "marker", { id: "state-matrix-head", viewBox: "0 0 8 8", refX: 7,
    refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" });
  GDN.svg(head, "path", { d: "M0 0 8 4 0 8z", fill: "var(--gdn-key)" });
  GDN.svg(plane, "circle", { cx: CENTRE[0], cy: CENTRE[1], r: RADIUS, fill: "none",
    stroke: "var(--gdn-quiet)" });
  const at = (angle, r) => {
    const [x, y] = direction(angle);
    return [CENTRE[0] + r * x, CENTRE[1] - r * y];
  };
  const keys = [...new Set(KEYS)].map((angle) => {
    const group = GDN.svg(plane, "g");
    const [x2, y2] = at(angle, RADIUS - 3), [x, y] = at(angle, RADIUS + 24);
    GDN.svg(group, "line", { x1: CENTRE[0], y1: CENTRE[1], x2, y2, stroke: "var(--gdn-key)",
      "stroke-width": 2.5, "marker-end": "url(#state-matrix-head)" });
    const label = GDN.svg(group, "text", { x: x + (angle === 0 ? 8 : 0), y: y + 5,
      "text-anchor": "middle" });
    return { angle, group, label };
  });
  const ray = GDN.svg(plane, "line", { x1: CENTRE[0], y1: CENTRE[1], stroke: "var(--gdn-query)",
    "stroke-width": 2, "stroke-dasharray": "5 4" });
  const handle = GDN.svg(plane, "circle", { r: 12, fill: "var(--gdn-query)", "fill-opacity": 0.75 });
  const name = GDN.svg(plane, "text", { "text-anchor": "middle", style: "font-weight:bold" }, "q");

  // The board: cells with a number in them.
  const cell = (parent, x, y, width, height) => {
    const box = GDN.svg(parent, "rect", { x, y, width, height, stroke: "var(--gdn-quiet)" });
    const text = GDN.svg(parent, "text", { x: x + width / 2, y: y + height / 2 + 5,
      "text-anchor": "middle" });
    return (value, decimals) => {
      text.textContent = show(value, decimals);
      box.setAttribute("fill", value < 0 ? "var(--gdn-minus)" : "var(--gdn-plus)");
      box.setAttribute("fill-opacity", Math.min(0.55, Math.abs(value) * 0.18));
    };
  };
  const grid = (x, y, rows, columns, width, height) => [...Array(rows)].map((_, r) =>
    [...Array(columns)].map((_, c) => cell(board, x + c * width, y + r * height, width, height)));
  const caption = (x, y, text, role) => GDN.svg(board, "text", { x, y, "text-anchor": "middle",
    style: `font-weight:bold; fill:var(--gdn-${role})` }, text);

  const tokens = VALUES.map((value, n) => {
    const group = GDN.svg(board, "g"), x = 10 + 54 * n;
    GDN.svg(group, "text", { x: x + 22, y: 16, "text-anchor": "middle",
      style: "fill:var(--gdn-value)" }, `v${GDN.low(n + 1)}`);
    value.forEach((v, r) => cell(group, x, 24 + 24 * r, 44, 24)(v, 0));
    const frame = GDN.svg(group, "rect", { x: x - 3, y: 21, width: 50, height: 78, rx: 4,
      fill: "none", stroke: "var(--gdn-ink)", "stroke-width": 2 });
    return { group, frame };
  });
  caption(58, 138, "S", "state");
  caption(163, 138, "q", "query");
  caption(247, 138, "S q", "query");
  const state = grid(10, 148, 3, 2, 48, 34);
  const query = grid(141, 165, 2, 1, 44, 34);
  const output = grid(223, 148, 3, 1, 48, 34);
  GDN.svg(board, "text", { x: 123, y: 204, "text-anchor": "middle" }, "\u00d7");
  GDN.svg(board, "text", { x: 204, y: 204, "text-anchor": "middle" }, "=");

  const draw = () => {
    const q = direction(degrees), now = [...Array(written).keys()];
    const S = [0, 1, 2].map((r) => [0, 1].map((c) =>
      now.reduce((sum, n) => sum + VALUES[n][r] * direction(KEYS[n])[c], 0)));
    const o = S.map((row) => dot(row, q));
    S.forEach((row, r) => row.forEach((s, c) => state[r][c](s)));
    q.forEach((x, r) => query[r][0](x, 2));
    o.forEach((x, r) => output[r][0](x));
    tokens.forEach(({ group, frame }, n) => {
      group.setAttribute("opacity", n < written ? 1 : 0.35);
      frame.setAttribute("visibility", n === written - 1 ? "visible" : "hidden");
    });
    keys.forEach(({ angle, group, label }) => {
      const mine = now.filter((n) => KEYS[n] === angle);
      const names = (mine.length ? mine : [KEYS.indexOf(angle)]).map((n) => `k${GDN.low(n + 1)}`);
      group.setAttribute("opacity", mine.length ? 1 : 0.3);
      label.textContent = names.join(" ");
    });
    const [x, y] = at(degrees, RADIUS), [nx, ny] = at(degrees - 15, RADIUS - 22);
    handle.setAttribute("cx", x);
    handle.setAttribute("cy", y);
    ray.setAttribute("x2", x);
    ray.setAttribute("y2", y);
    name.setAttribute("x", nx);
    name.setAttribute("y", ny + 5);
    GDN.say(handle, degrees, `query at ${degrees} degrees`);
    text.textContent = report(q, o, now);
  };

  const report = (q, o, now) => {
    if (!now.length) return "Nothing written: S is zero and every read-out is zero. Write a token.";
    const weights = now.map((n) => dot(direction(KEYS[n]), q));
    const asked = now.filter((n) => KEYS[n] === degrees);
    const told = `q at ${degrees}\u00b0: S q = ${vector(o)}. Weights k\u00b7q of tokens 1 to `
      + `${written}: ${vector(weights, 2)}. `;
    if (!asked.length) return told + "No key written points this way: you read a mixture.";
    const value = VALUES[asked.at(-1)];
    const error = Math.hypot(...o.map((x, r) => x - value[r]));
    const verdict = error < 1e-9 ? "Exact." : `Off by ${show(error, 2)}.`;
    if (asked.length > 1) {
      return told + `Keys 1 and 4 are equal, so their values add. Asked for v4: ${verdict.toLowerCase()}`;
    }
    return told + `You ask for v${GDN.low(asked[0] + 1)} = ${vector(value, 0)}. ${verdict}`;
  };

  // Turn the query; near a key's angle it snaps to it.
  const turn = (to) => {
    degrees = ((Math.round(to) % 360) + 360) % 360;
    draw();
  };
  GDN.drag(plane, handle, "Query", ([x, y]) => {
    const to = Math.atan2(CENTRE[1] - y, x - CENTRE[0]) * 180 / Math.PI;
    const near = KEYS.find((angle) => Math.abs(angle - to) < 4);
    turn(near ?? to);
  }, ([dx, dy]) => turn(5 * (Math.round(degrees / 5) + dx + dy)));
  handle.setAttribute("aria-valuemin", 0);
  handle.setAttribute("aria-valuemax", 359);

  const text = GDN.readout(host);
  GDN.slider(host, "tokens written", { min: 0, max: 5, step: 1, value: 2 },
    (value) => { written = value; draw(); });
});
