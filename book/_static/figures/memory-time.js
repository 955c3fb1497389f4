// Memory against time in the backward pass: what waits between the passes in all layers, what one
// layer needs while it goes backwards, and what it moves (eq-backward-bytes, eq-backward-segments).
// The same plans as gdn_ref.figures.ch16_model.plan. Bytes; 2 for a number of q, k, v and states.
"use strict";
GDN.figure("memory-time", (host) => {
  const width = 440, left = 8, right = 352, C = 64, d = 128, B = 4, bandwidth = 3.35e12;
  const state = { keep: 0, segment: 10, T: 12, heads: 5, layers: 24 };
  const drawing = GDN.canvas(host, width, 232,
    "Three bars: bytes kept in all layers, at work in one layer, and moved by one layer");
  const titles = ["kept between the passes, all layers", "at work in one layer, for a moment",
    "moved by one layer"];
  const names = [["inputs", "inverses, states"], ["inverses", "states", "their gradients"],
    ["floor", "more"]];
  const roles = [["quiet", "state"], ["first", "state", "second"], ["quiet", "bytes"]];
  const rows = titles.map((title, n) => {
    const y = 18 + 76 * n;
    GDN.svg(drawing, "text", { x: left, y }, title);
    const bars = roles[n].map((role) => GDN.svg(drawing, "rect",
      { y: y + 7, height: 22, fill: `var(--gdn-${role})` }));
    const total = GDN.svg(drawing, "text", { y: y + 23 });
    const labels = names[n].map((name) => GDN.svg(drawing, "text", { y: y + 46 }, name));
    const keys = roles[n].map((role) => GDN.svg(drawing, "rect",
      { y: y + 36, width: 10, height: 10, fill: `var(--gdn-${role})` }));
    let x = left;
    names[n].forEach((name, i) => {
      keys[i].setAttribute("x", x);
      labels[i].setAttribute("x", x + 15);
      x += 40 + 8 * name.length;
    });
    return { bars, total };
  });

  // Bytes of a plan; `keep`: inverses and states stay from the forward pass; m chunks a segment.
  const plan = (keep, m, T, heads) => {
    const keyHeads = heads / 2, n = B * T * heads, chunks = T / C;
    const key = 2 * B * T * keyHeads * d, value = 2 * n * d, inverse = 2 * n * C;
    const states = 2 * n * d * d / C, ends = 4 * B * heads * d * d;
    const prepare = key + inverse + 12 * n;
    const first = key + value + inverse + states + 8 * n + ends;
    const floor = 4 * key + 3 * value + 16 * n + 3 * ends;
    let moved = floor + 4 * (key + inverse + states) + 3 * value + 28 * n;
    const share = keep ? 1 : Math.min(1, 1 / m + (m - 1) / chunks);
    if (keep) moved += states - prepare - first;
    else if (m < chunks) moved += first - states + 2 * states / m;
    return { inputs: 2 * key + value + 8 * n, floor, moved, programs: B * m * keyHeads,
      kept: keep ? inverse + 4 * n + states : 0,
      work: [keep ? 0 : inverse + 4 * n, keep ? 0 : share * states, states * m / chunks] };
  };

  const size = (x) => {
    const [unit, name] = x >= 1e12 ? [1e12, "TB"] : x >= 1e9 ? [1e9, "GB"] : [1e6, "MB"];
    return `${x >= 99.95 * unit ? Math.round(x / unit) : (x / unit).toPrecision(3)} ${name}`;
  };
  const outputs = {};
  let readout = null;
  const draw = () => {
    if (!readout) return;
    const T = 2 ** state.T, heads = 2 ** state.heads, chunks = T / C;
    const m = Math.min(2 ** state.segment, chunks), whole = m === chunks;
    outputs.keep.textContent = state.keep ? "yes" : "no";
    outputs.segment.textContent = whole ? "all" : m;
    outputs.T.textContent = T.toLocaleString("en");
    outputs.heads.textContent = heads;
    const now = plan(state.keep, m, T, heads), most = plan(1, chunks, T, heads);
    const full = plan(0, chunks, T, heads);
    const parts = [[now.inputs, now.kept].map((x) => x * state.layers), now.work,
      [now.floor, now.moved - now.floor]];
    const sum = (xs) => xs.reduce((a, x) => a + x, 0);
    const scales = [24 * (most.inputs + most.kept), sum(full.work), 1.35 * full.moved];
    rows.forEach(({ bars, total }, n) => {
      let x = left;
      const unit = (right - left) / Math.max(scales[n], sum(parts[n]));
      bars.forEach((bar, i) => {
        const long = parts[n][i] * unit;
        bar.setAttribute("x", x);
        bar.setAttribute("width", long);
        x += long;
      });
      total.setAttribute("x", x + 6);
      total.textContent = size(sum(parts[n]));
    });
    const layers = `${state.layers} ${state.layers === 1 ? "layer" : "layers"}`;
    const kept = state.keep ? `${size(now.kept * state.layers)} wait in ${layers}`
      : `Nothing but inputs waits in ${layers}`;
    const idle = now.programs < 132 ? ", too few" : "";
    readout.textContent = `${kept}. A layer going backwards needs ${size(sum(now.work))}, and moves `
      + `${size(now.moved)}, ${(now.moved / now.floor).toFixed(1)} times the floor: at least `
      + `${Math.round(now.moved / bandwidth * 1e6).toLocaleString("en")} µs. Kernel 3 has `
      + `${now.programs.toLocaleString("en")} ${now.programs === 1 ? "program" : "programs"} at a `
      + `time for 132 multiprocessors${idle}.`;
  };

  const slider = (label, name, min, max) => {
    const made = GDN.slider(host, label, { min, max, step: 1, value: state[name] }, (value) => {
      state[name] = value;
      draw();
    });
    outputs[name] = made.range.parentElement.querySelector("output");
  };
  slider("keep states and inverses", "keep", 0, 1);
  slider("chunks a segment", "segment", 0, 10);
  slider("tokens a sequence", "T", 10, 16);
  slider("value heads", "heads", 2, 6);
  slider("layers", "layers", 1, 96);
  readout = GDN.readout(host);
  draw();
});
