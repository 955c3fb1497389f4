// One row of tokens, four sequences: where they begin (cu_seqlens), which slot each chunk gets
// (eq-chunk-slot), how many slots stay idle (eq-packed-slots), and what a padded batch of the same
// sequences would hold (eq-padding-share).
"use strict";
GDN.figure("cu-seqlens-ruler", (host) => {
  const tokens = 64, left = 16, right = 408, unit = (right - left) / tokens;
  const rowTop = 44, slotTop = 122, padTop = 206, high = 22;
  const roles = ["first", "second", "third", "fourth"];
  const drawing = GDN.canvas(host, 440, 318,
    "A row of 64 tokens cut into four sequences, the slots of its chunks, and the padded batch");
  const state = { cuts: [20, 32, 58], C: 16 };
  let read = null;

  const pattern = GDN.svg(GDN.svg(drawing, "defs"), "pattern", {
    id: "gdn-ruler-hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)",
  });
  GDN.svg(pattern, "line", { x1: 0, y1: 0, x2: 0, y2: 6, stroke: "var(--gdn-quiet)",
    "stroke-width": 2 });

  GDN.svg(drawing, "text", { x: left, y: padTop - 8 }, "the same, padded");
  const picture = GDN.svg(drawing, "g", { "pointer-events": "none" });
  const box = (x, y, width, tall, look) =>
    GDN.svg(picture, "rect", { x, y, width: Math.max(width, 0), height: tall, ...look });
  const full = (n) => ({ fill: `var(--gdn-${roles[n]})`, "fill-opacity": 0.85 });
  const empty = { fill: "url(#gdn-ruler-hatch)", stroke: "var(--gdn-quiet)", "stroke-width": 0.6 };

  const handles = state.cuts.map((at, n) => {
    const handle = GDN.svg(drawing, "g");
    GDN.svg(handle, "rect", { x: -16, y: rowTop - 30, width: 32, height: high + 40,
      fill: "transparent" });
    GDN.svg(handle, "line", { x1: 0, x2: 0, y1: rowTop - 4, y2: rowTop + high + 4,
      stroke: "var(--gdn-ink)", "stroke-width": 2.5 });
    GDN.svg(handle, "path", { d: `M -6 ${rowTop - 14} H 6 L 0 ${rowTop - 3} Z`,
      fill: "var(--gdn-ink)" });
    const number = GDN.svg(handle, "text", { y: rowTop - 18, "text-anchor": "middle" });
    const put = (x) => {
      const [low, top] = [n ? state.cuts[n - 1] : 0, n < 2 ? state.cuts[n + 1] : tokens];
      state.cuts[n] = Math.min(Math.max(Math.round(x), low), top);
      draw();
    };
    GDN.drag(drawing, handle, `begin of sequence ${n + 1}`,
      ([x]) => put((x - left) / unit), ([dx, dy]) => put(state.cuts[n] + dx + dy));
    handle.setAttribute("aria-valuemin", 0);
    handle.setAttribute("aria-valuemax", tokens);
    return { handle, number };
  });

  const count = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

  function draw() {
    if (!read) return;
    const { C } = state;
    shown.textContent = String(C); // the slider counts powers of two
    const bounds = [0, ...state.cuts, tokens];
    const lengths = roles.map((_, n) => bounds[n + 1] - bounds[n]);
    const slots = Math.floor(tokens / C) + roles.length;
    const width = (right - left) / slots, room = Math.max(width - 4, width * 0.7);
    picture.replaceChildren();
    for (let slot = 0; slot < slots; slot += 1) {
      box(left + slot * width, slotTop, room, high, { fill: "none", stroke: "var(--gdn-quiet)",
        "stroke-dasharray": "2 3" });
      if (width > 18) {
        GDN.svg(picture, "text", { x: left + slot * width + room / 2, y: slotTop + high + 17,
          "text-anchor": "middle" }, String(slot));
      }
    }
    let chunks = 0, rest = 0;
    lengths.forEach((length, n) => {
      box(left + bounds[n] * unit, rowTop, length * unit, high, full(n));
      for (let j = 0; j * C < length; j += 1) {
        const start = bounds[n] + j * C, own = Math.min(C, length - j * C);
        const x = left + (Math.floor(bounds[n] / C) + n + j) * width;
        chunks += 1;
        rest += C - own;
        if (j) {
          GDN.svg(picture, "line", { x1: left + start * unit, x2: left + start * unit,
            y1: rowTop, y2: rowTop + high, stroke: "white", "stroke-width": 1.4 });
        }
        GDN.svg(picture, "line", { x1: left + (start + own / 2) * unit, y1: rowTop + high + 3,
          x2: x + room / 2, y2: slotTop - 3, stroke: `var(--gdn-${roles[n]})`,
          "stroke-width": 1.2 });
        box(x, slotTop, room * own / C, high, full(n));
        if (own < C) box(x + room * own / C, slotTop, room * (1 - own / C), high, empty);
      }
    });
    const longest = Math.max(...lengths);
    lengths.forEach((length, n) => {
      const y = padTop + 27 * n;
      box(left, y, length * unit, high, full(n));
      box(left + length * unit, y, (longest - length) * unit, high, empty);
      GDN.svg(picture, "text", { x: left + longest * unit + 6, y: y + 16 }, String(length));
    });
    handles.forEach(({ handle, number }, n) => {
      handle.setAttribute("transform", `translate(${left + state.cuts[n] * unit} 0)`);
      const gap = n ? state.cuts[n] - state.cuts[n - 1] : tokens;
      number.textContent = gap ? String(state.cuts[n]) : "";
      number.setAttribute("x", gap * unit < 20 ? 9 : 0);
      GDN.say(handle, state.cuts[n], `token ${state.cuts[n]}`);
    });
    const padded = longest * roles.length;
    read.textContent = `cu_seqlens = [${bounds.join(", ")}], C = ${C}: ${count(chunks, "chunk")} `
      + `in ${slots} slots, ${slots - chunks} idle; ${count(rest, "row")} of the last chunks hold `
      + `no token. Padded: ${padded} rows for ${tokens} tokens, `
      + `${Math.round(100 * (1 - tokens / padded))} % of them empty.`;
  }

  const { range } = GDN.slider(host, "chunk size C", { min: 2, max: 5, step: 1,
    value: Math.log2(state.C) }, (value) => { state.C = 2 ** value; draw(); });
  const shown = range.parentElement.querySelector("output");
  read = GDN.readout(host);
  draw();
});
