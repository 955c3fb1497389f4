// The Gated DeltaNet block as a diagram: pick a box by click, Tab and Enter, the arrow keys or the
// slider, and read what it computes, its shape, what it learns and what it costs in a model.
// The block below is written by `python -m gdn_ref.figures.ch19_parts` from the package.
"use strict";
GDN.figure("block-diagram", (host) => {
  // from the package: begin
  const boxes = [
    {"key": "x", "title": "token x", "formula": "x_t", "says": "the hidden vector of one token, after the stack's norm", "role": "ink", "place": [150, 4, 100, 30], "after": []},
    {"key": "qkv", "title": "W_q, W_k, W_v", "formula": "W_q x, W_k x, W_v x", "says": "three linear maps: what to ask for, where to write, what to write", "role": "key", "place": [6, 62, 148, 34], "after": ["x"]},
    {"key": "a", "title": "W_a", "formula": "a = W_a x", "says": "one number per value head: how much this token wants to forget", "role": "decay", "place": [168, 62, 60, 34], "after": ["x"]},
    {"key": "b", "title": "W_b", "formula": "b = W_b x", "says": "one number per value head: how strongly this token writes", "role": "error", "place": [242, 62, 60, 34], "after": ["x"]},
    {"key": "z", "title": "W_g", "formula": "z = W_g x", "says": "one number per value dimension: what may leave the layer", "role": "first", "place": [316, 62, 78, 34], "after": ["x"]},
    {"key": "conv", "title": "conv, SiLU", "formula": "q', k', v = silu(bias + Σ w_i x_(t−W+1+i))", "says": "each channel mixes its last inputs, so a key may be that of the token before", "role": "second", "place": [6, 132, 148, 34], "after": ["qkv"]},
    {"key": "alpha", "title": "α", "formula": "α = exp(−A softplus(a + dt_bias))", "says": "the share of the memory that is kept", "role": "decay", "place": [168, 132, 60, 34], "after": ["a"]},
    {"key": "beta", "title": "β", "formula": "β = σ(b), or 2 σ(b)", "says": "the share of the old read that is erased", "role": "error", "place": [242, 132, 60, 34], "after": ["b"]},
    {"key": "unit", "title": "q, k to length 1", "formula": "k = k' / √(|k'|² + 10⁻⁶), q likewise over √K", "says": "so that the transition never stretches the memory", "role": "key", "place": [6, 202, 148, 34], "after": ["conv"]},
    {"key": "rule", "title": "gated delta rule", "formula": "S = αS + β(v − αSk)kᵀ, o = Sq", "says": "decay, read, correct, write, read out", "role": "state", "place": [6, 272, 296, 40], "after": ["unit", "alpha", "beta"]},
    {"key": "norm", "title": "norm, then gate", "formula": "w o / rms(o) · silu(z)", "says": "the outputs of all heads get one size, then the token's gate scales each entry", "role": "first", "place": [150, 348, 244, 34], "after": ["rule", "z"]},
    {"key": "out", "title": "W_o", "formula": "y = W_o (all heads)", "says": "back to the width of a token", "role": "third", "place": [150, 418, 100, 34], "after": ["norm"]},
  ];
  const models = {
    "Qwen3-Next 80B-A3B": {
      cache: 2146304,
      x: {"shape": "2048 numbers", "parameters": 0, "flops": 0, "keeps": 0},
      qkv: {"shape": "2048 to 8192", "parameters": 16777216, "flops": 33554432, "keeps": 0},
      a: {"shape": "2048 to 32", "parameters": 65536, "flops": 131072, "keeps": 0},
      b: {"shape": "2048 to 32", "parameters": 65536, "flops": 131072, "keeps": 0},
      z: {"shape": "2048 to 4096", "parameters": 8388608, "flops": 16777216, "keeps": 0},
      conv: {"shape": "8192 channels, 4 taps", "parameters": 32768, "flops": 65536, "keeps": 49152},
      alpha: {"shape": "32 numbers", "parameters": 64, "flops": 0, "keeps": 0},
      beta: {"shape": "32 numbers", "parameters": 0, "flops": 0, "keeps": 0},
      unit: {"shape": "16 x 128, 16 x 128, 32 x 128", "parameters": 0, "flops": 0, "keeps": 0},
      rule: {"shape": "32 states of 128 x 128", "parameters": 0, "flops": 4202496, "keeps": 2097152},
      norm: {"shape": "32 x 128", "parameters": 128, "flops": 0, "keeps": 0},
      out: {"shape": "4096 to 2048", "parameters": 8388608, "flops": 16777216, "keeps": 0},
    },
    "Qwen3.5 9B": {
      cache: 2146304,
      x: {"shape": "4096 numbers", "parameters": 0, "flops": 0, "keeps": 0},
      qkv: {"shape": "4096 to 8192", "parameters": 33554432, "flops": 67108864, "keeps": 0},
      a: {"shape": "4096 to 32", "parameters": 131072, "flops": 262144, "keeps": 0},
      b: {"shape": "4096 to 32", "parameters": 131072, "flops": 262144, "keeps": 0},
      z: {"shape": "4096 to 4096", "parameters": 16777216, "flops": 33554432, "keeps": 0},
      conv: {"shape": "8192 channels, 4 taps", "parameters": 32768, "flops": 65536, "keeps": 49152},
      alpha: {"shape": "32 numbers", "parameters": 64, "flops": 0, "keeps": 0},
      beta: {"shape": "32 numbers", "parameters": 0, "flops": 0, "keeps": 0},
      unit: {"shape": "16 x 128, 16 x 128, 32 x 128", "parameters": 0, "flops": 0, "keeps": 0},
      rule: {"shape": "32 states of 128 x 128", "parameters": 0, "flops": 4202496, "keeps": 2097152},
      norm: {"shape": "32 x 128", "parameters": 128, "flops": 0, "keeps": 0},
      out: {"shape": "4096 to 4096", "parameters": 16777216, "flops": 33554432, "keeps": 0},
    },
    "Qwen3.5 35B-A3B": {
      cache: 2146304,
      x: {"shape": "2048 numbers", "parameters": 0, "flops": 0, "keeps": 0},
      qkv: {"shape": "2048 to 8192", "parameters": 16777216, "flops": 33554432, "keeps": 0},
      a: {"shape": "2048 to 32", "parameters": 65536, "flops": 131072, "keeps": 0},
      b: {"shape": "2048 to 32", "parameters": 65536, "flops": 131072, "keeps": 0},
      z: {"shape": "2048 to 4096", "parameters": 8388608, "flops": 16777216, "keeps": 0},
      conv: {"shape": "8192 channels, 4 taps", "parameters": 32768, "flops": 65536, "keeps": 49152},
      alpha: {"shape": "32 numbers", "parameters": 64, "flops": 0, "keeps": 0},
      beta: {"shape": "32 numbers", "parameters": 0, "flops": 0, "keeps": 0},
      unit: {"shape": "16 x 128, 16 x 128, 32 x 128", "parameters": 0, "flops": 0, "keeps": 0},
      rule: {"shape": "32 states of 128 x 128", "parameters": 0, "flops": 4202496, "keeps": 2097152},
      norm: {"shape": "32 x 128", "parameters": 128, "flops": 0, "keeps": 0},
      out: {"shape": "4096 to 2048", "parameters": 8388608, "flops": 16777216, "keeps": 0},
    },
    "Olmo-Hybrid 7B": {
      cache: 2280960,
      x: {"shape": "3840 numbers", "parameters": 0, "flops": 0, "keeps": 0},
      qkv: {"shape": "3840 to 11520", "parameters": 44236800, "flops": 88473600, "keeps": 0},
      a: {"shape": "3840 to 30", "parameters": 115200, "flops": 230400, "keeps": 0},
      b: {"shape": "3840 to 30", "parameters": 115200, "flops": 230400, "keeps": 0},
      z: {"shape": "3840 to 5760", "parameters": 22118400, "flops": 44236800, "keeps": 0},
      conv: {"shape": "11520 channels, 4 taps", "parameters": 46080, "flops": 92160, "keeps": 69120},
      alpha: {"shape": "30 numbers", "parameters": 60, "flops": 0, "keeps": 0},
      beta: {"shape": "30 numbers", "parameters": 0, "flops": 0, "keeps": 0},
      unit: {"shape": "30 x 96, 30 x 96, 30 x 192", "parameters": 0, "flops": 0, "keeps": 0},
      rule: {"shape": "30 states of 96 x 192", "parameters": 0, "flops": 4435200, "keeps": 2211840},
      norm: {"shape": "30 x 192", "parameters": 192, "flops": 0, "keeps": 0},
      out: {"shape": "5760 to 3840", "parameters": 22118400, "flops": 44236800, "keeps": 0},
    },
  };
  // from the package: end
  const state = { at: boxes.findIndex(({ key }) => key === "rule"), model: Object.keys(models)[0] };
  const drawing = GDN.canvas(host, 400, 496, "The parts of the block and what goes where");
  const byKey = Object.fromEntries(boxes.map((box) => [box.key, box]));
  const colour = ({ role }) => `var(--gdn-${role})`;
  const count = (n) => n.toLocaleString("en-GB");
  const large = (n) => (n < 1e5 ? count(n) : `${(n / 1e6).toFixed(n < 1e6 ? 2 : 1)} million`);

  // Lines first, so that the boxes lie over their ends.
  const lines = [];
  const connect = (from, to, startX, startY, endX, endY) => {
    const middle = (startY + endY) / 2;
    const d = startX === endX ? `M${startX},${startY} V${endY - 7}`
      : `M${startX},${startY} V${middle} H${endX} V${endY - 7}`;
    lines.push({ from, to,
      path: GDN.svg(drawing, "path", { d, fill: "none" }),
      head: GDN.svg(drawing, "path", { d: `M${endX - 4},${endY - 8} h8 l-4,8 Z` }) });
  };
  boxes.forEach((box) => {
    const [x, y, width] = box.place;
    box.after.forEach((name) => {
      const [a, b, c, d] = byKey[name].place;
      const inside = (at, left, size) => Math.min(Math.max(at, left + 10), left + size - 10);
      const end = inside(a + c / 2, x, width);
      connect(name, box.key, inside(end, a, c), b + d, end, y);
    });
  });
  const [lastX, lastY, lastWidth, lastHeight] = byKey.out.place;
  connect("out", "", lastX + lastWidth / 2, lastY + lastHeight, lastX + lastWidth / 2, 478);
  GDN.svg(drawing, "text", { x: lastX + lastWidth / 2, y: 492, "text-anchor": "middle" }, "output y");

  const nodes = boxes.map((box, n) => {
    const [x, y, width, height] = box.place;
    const group = GDN.svg(drawing, "g", { tabindex: 0, role: "button", "aria-label": box.title });
    group.style.cssText = "cursor: pointer; outline: none;";
    const frame = GDN.svg(group, "rect", { x, y, width, height, rx: 4, stroke: colour(box) });
    GDN.write(GDN.svg(group, "text", { x: x + width / 2, y: y + height / 2 + 5,
      "text-anchor": "middle" }), box.title);
    group.addEventListener("click", () => choose(n));
    group.addEventListener("focus", () => {
      if (group.matches(":focus-visible")) choose(n);
    });
    group.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Enter" || event.key === " ") choose(n);
      else if (by) nodes[Math.max(0, Math.min(boxes.length - 1, n + by))].group.focus();
      else return;
      event.preventDefault();
    });
    return { group, frame };
  });

  let step = null;
  const choose = (n) => (step ? step.set(n) : null);
  step = GDN.slider(host, "box", { min: 0, max: boxes.length - 1, step: 1, value: state.at }, (n) => {
    state.at = n;
    if (step) draw();
  });
  const menu = GDN.field(host, "model", "select");
  Object.keys(models).forEach((name) => GDN.html(menu, "option", { value: name }, name));
  menu.addEventListener("change", () => {
    state.model = menu.value;
    draw();
  });
  const read = GDN.readout(host);
  read.style.whiteSpace = "pre-line";

  const draw = () => {
    const box = boxes[state.at], model = models[state.model];
    nodes.forEach(({ group, frame }, n) => {
      const on = n === state.at;
      frame.setAttribute("stroke-width", on ? 4 : 1.5);
      frame.setAttribute("fill", on ? "var(--gdn-faint)" : "var(--pst-color-background)");
      group.setAttribute("aria-pressed", String(on));
    });
    lines.forEach(({ from, to, path, head }) => {
      const on = from === box.key || to === box.key;
      path.setAttribute("stroke", on ? "var(--gdn-ink)" : "var(--gdn-quiet)");
      path.setAttribute("stroke-width", on ? 2.2 : 1);
      head.setAttribute("fill", on ? "var(--gdn-ink)" : "var(--gdn-quiet)");
    });
    const { shape, parameters, flops, keeps } = model[box.key];
    const total = (what) => boxes.reduce((sum, { key }) => sum + model[key][what], 0);
    const share = (n, what) => {
      const percent = 100 * n / total(what);
      return percent < 0.01 ? "under 0.01 %" : `${percent.toFixed(percent < 1 ? 2 : 1)} %`;
    };
    const costs = [
      parameters ? `Learns ${large(parameters)} parameters (${share(parameters, "parameters")})`
        : "Learns nothing",
      flops ? `takes ${large(flops)} FLOPs per token (${share(flops, "flops")})` : "multiplies next to nothing",
      keeps ? `keeps ${count(keeps)} bytes, of the layer's ${count(model.cache)}`
        : "keeps nothing",
    ];
    const said = [box.formula, `${box.title}: ${box.says}.`, `${state.model}: ${shape}.`,
      `${costs.join("; ")}.`];
    GDN.write(read, said.join("\n"));
  };
  draw();
});
