// What a hybrid stack keeps and moves (eq-hybrid-cache-bytes, eq-hybrid-state-bytes,
// eq-hybrid-decode-bytes), against the context: the stack, and attention in every layer.
"use strict";
GDN.figure("hybrid-cost", (host) => {
  const width = 440, height = 470, left = 58, right = 424;
  const bandwidth = 3.35e12; // bytes per second
  const models = [ // as in gdn_ref.figures.ch20_models
    { name: "Qwen3-Next 80B-A3B", layers: 48, width: 2048, q: 16, kv: 2, head: 256, hk: 16, hv: 32,
      dk: 128, dv: 128, ffn: 512, vocab: 151936, gated: 1, experts: 512, chosen: 10, shared: 512 },
    { name: "Qwen3.5 9B", layers: 32, width: 4096, q: 16, kv: 4, head: 256, hk: 16, hv: 32,
      dk: 128, dv: 128, ffn: 12288, vocab: 248320, gated: 1, experts: 0, chosen: 0, shared: 0 },
    { name: "Qwen3.5 35B-A3B", layers: 40, width: 2048, q: 16, kv: 2, head: 256, hk: 16, hv: 32,
      dk: 128, dv: 128, ffn: 512, vocab: 248320, gated: 1, experts: 256, chosen: 8, shared: 512 },
    { name: "Olmo-Hybrid 7B", layers: 32, width: 3840, q: 30, kv: 30, head: 128, hk: 30, hv: 30,
      dk: 96, dv: 192, ffn: 11008, vocab: 100352, gated: 0, experts: 0, chosen: 0, shared: 0 },
  ];
  const taps = 4;
  const state = { model: 0, T: 32768, eighths: 2, n: 8 };
  const drawing = GDN.canvas(host, width, height,
    "Bytes that a sequence keeps, and milliseconds of a decoding step, against the context");

  const costs = (m, eighths, T, n) => {
    const full = m.layers * eighths / 8, linear = m.layers - full;
    const channels = 2 * m.hk * m.dk + m.hv * m.dv, values = m.hv * m.dv;
    const row = 2 * m.kv * m.head * 2;
    const layerState = 4 * values * m.dk + 2 * taps * channels;
    const expert = 3 * m.width * m.ffn;
    let common = linear * (m.width * (channels + values + 2 * m.hv) + taps * channels
      + values * m.width) + full * m.width * m.head * ((2 + m.gated) * m.q + 2 * m.kv)
      + m.width * m.vocab;
    let read = 0;
    if (m.experts) {
      common += m.layers * (m.width * (m.experts + 1) + 3 * m.width * m.shared);
      read = m.experts * (1 - (1 - m.chosen / m.experts) ** n);
    } else {
      common += m.layers * expert;
    }
    const states = linear * layerState, caches = full * row * T;
    const weights = 2 * (common + m.layers * read * expert);
    return { full, caches, states, kept: caches + states, equal: layerState / row, weights,
      moved: weights + n * (2 * states + full * row * (T + 1)) };
  };

  const contexts = Array.from({ length: 57 }, (_, i) => 2 ** (6 + i / 4));
  const x = (T) => left + (right - left) * (Math.log2(T) - 6) / 14;
  const set = (node, attributes) => {
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  };
  const text = (attributes, words = "") => GDN.svg(drawing, "text", attributes, words);
  const stroke = (colour, wide, dashes = "none") => ({ stroke: `var(--gdn-${colour})`,
    "stroke-width": wide, "stroke-dasharray": dashes, fill: "none" });

  const panel = (title, top, bottom, role) => {
    GDN.svg(drawing, "path", { d: `M ${left} ${top} V ${bottom} H ${right}`,
      ...stroke("quiet", 1) });
    text({ x: 2, y: top - 10 }, title);
    const ticks = Array.from({ length: 7 }, () => text({ x: left - 7, "text-anchor": "end" }));
    const here = GDN.svg(drawing, "line", stroke("quiet", 1, "2 4"));
    const lines = { floor: GDN.svg(drawing, "path", stroke("weights", 1.5, "2 3")),
      other: GDN.svg(drawing, "path", stroke("quiet", 1.5, "6 4")),
      own: GDN.svg(drawing, "path", stroke(role, 3)) };
    const dot = GDN.svg(drawing, "circle", { r: 6, fill: "var(--gdn-ink)" });
    // `own`, `other`, `floor`: functions of the context; the axis has whole powers of ten
    return (own, other, floor) => {
      const all = contexts.flatMap((T) => [own(T), other(T)]).concat(floor ? [floor] : []);
      const low = Math.floor(Math.log10(Math.min(...all)));
      const high = Math.max(Math.ceil(Math.log10(Math.max(...all))), low + 1);
      const y = (v) => bottom - (bottom - top) * (Math.log10(v) - low) / (high - low);
      const path = (f) => contexts.map((T, i) => `${i ? "L" : "M"} ${x(T)} ${y(f(T))}`).join(" ");
      set(lines.own, { d: path(own) });
      set(lines.other, { d: path(other) });
      set(lines.floor, { d: floor ? `M ${left} ${y(floor)} H ${right}` : "" });
      set(here, { x1: x(state.T), x2: x(state.T), y1: top, y2: bottom });
      set(dot, { cx: x(state.T), cy: y(own(state.T)) });
      ticks.forEach((tick, i) => {
        const shown = i <= high - low;
        const name = low + i > 4 ? `10${"⁵⁶⁷⁸⁹"[low + i - 5]}` // longer numbers have no room
          : (10 ** (low + i)).toLocaleString("en", { maximumFractionDigits: 5 });
        tick.textContent = shown ? name : "";
        if (shown) set(tick, { y: y(10 ** (low + i)) + 5 });
      });
    };
  };
  const memory = panel("GiB per sequence", 34, 196, "bytes");
  const time = panel("ms a step, at least", 248, 410, "time");
  for (const [T, name] of [[256, "256"], [4096, "4 Ki"], [65536, "64 Ki"], [2 ** 20, "1 Mi"]]) {
    text({ x: x(T), y: 428, "text-anchor": T < 2 ** 20 ? "middle" : "end" }, name);
  }
  text({ x: (left + right) / 2, y: 450, "text-anchor": "middle" }, "context, tokens");
  text({ x: right, y: 24, "text-anchor": "end", style: "fill: var(--gdn-bytes)" }, "this stack");
  text({ x: right - 84, y: 24, "text-anchor": "end", style: "fill: var(--gdn-quiet)" },
    "attention everywhere");
  text({ x: right, y: 238, "text-anchor": "end", style: "fill: var(--gdn-weights)" }, "weights alone");

  const brief = (v) => (v === 0 ? "0" : v >= 99.5 ? Math.round(v).toLocaleString("en") : v.toPrecision(2));
  const size = (bytes) => (bytes >= 2 ** 30 ? `${brief(bytes / 2 ** 30)} GiB`
    : `${brief(bytes / 2 ** 20)} MiB`);
  let readout = null;
  const outputs = {};
  const draw = () => {
    if (!readout) return;
    const m = models[state.model], { eighths, T, n } = state;
    const at = (t) => costs(m, eighths, t, n), all = (t) => costs(m, 8, t, n);
    memory((t) => at(t).kept / 2 ** 30, (t) => all(t).kept / 2 ** 30);
    time((t) => at(t).moved / bandwidth * 1e3, (t) => all(t).moved / bandwidth * 1e3,
      at(T).weights / bandwidth * 1e3);
    const own = at(T), other = all(T);
    outputs.model.textContent = m.name;
    outputs.T.textContent = T.toLocaleString("en");
    outputs.eighths.textContent = `${own.full} of ${m.layers}`;
    outputs.n.textContent = n.toLocaleString("en");
    const ratio = other.kept / own.kept;
    const against = Math.abs(ratio - 1) < 0.005 ? "as much as with attention everywhere"
      : `${brief(ratio >= 1 ? ratio : 1 / ratio)} times ${ratio >= 1 ? "less" : "more"} `
        + "than with attention everywhere";
    readout.textContent = `A sequence of ${T.toLocaleString("en")} tokens keeps ${size(own.kept)}: `
      + `${size(own.caches)} in caches, ${size(own.states)} in states. That is ${against}; `
      + `equal at ${Math.round(own.equal).toLocaleString("en")} tokens, for any share. A step of `
      + `${n.toLocaleString("en")} moves ${brief(own.moved / 1e9)} GB: at least `
      + `${brief(own.moved / bandwidth * 1e3)} ms at 3.35 TB/s, `
      + `${brief(own.moved / n / 1e9)} GB a token, `
      + `${(100 * own.weights / own.moved).toFixed(0)} % of it weights.`;
  };

  const slider = (label, name, first, last, from, to) => {
    const value = from(state[name]);
    const made = GDN.slider(host, label, { min: first, max: last, step: 1, value }, (to_) => {
      state[name] = to(to_);
      draw();
    });
    outputs[name] = made.range.parentElement.querySelector("output");
  };
  const same = (v) => v, power = (v) => 2 ** v;
  slider("context", "T", 6, 20, Math.log2, power);
  slider("attention layers", "eighths", 0, 8, same, same);
  slider("sequences", "n", 0, 10, Math.log2, power);
  slider("model", "model", 0, models.length - 1, same, same);
  readout = GDN.readout(host);
  draw();
});
