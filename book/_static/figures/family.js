// The knobs of the two-gates rule (eq-family-two-gates): decay, erase, write gate, steps. Each
// setting shows its recurrence, its published name, what a head of 128 by 128 moves and computes,
// and the states of a memory of one row and three channels over six tokens.
"use strict";
GDN.figure("family", (host) => {
  const NAMES = { // as in gdn_ref.figures.ch23
    "none none 0 1": "linear attention",
    "head none 0 1": "Mamba-2; RetNet with a constant decay",
    "channel none 0 1": "GLA",
    "none scalar 0 1": "DeltaNet; TTT with a linear inner model, a batch of one",
    "head scalar 0 1": "Gated DeltaNet",
    "channel scalar 0 1": "KDA",
    "channel channel 1 1": "Gated DeltaNet-2",
    "none scalar 0 2": "DeltaProduct",
    "head scalar 0 2": "Gated DeltaProduct",
  };
  const KEYS = [[1, 0, 0], [0, 1, 0], [0.6, 0.8, 0], [0, 0, 1], [1, 0, 0], [0, 0.6, 0.8]];
  const VALUES = [1, 1, -1, 1, -1, 1], RATES = [0.5, 0.8, 1.0], OLD = [0.5, 0.5, 0.5];
  const dk = 128, dv = 128, C = 64, c = 16, most = 2.5;
  const state = { decay: "head", erase: "scalar", write: "0", steps: "1" };

  const example = () => {
    const mean = RATES.reduce((sum, x) => sum + x, 0) / 3;
    const alpha = { none: [1, 1, 1], head: [mean, mean, mean], channel: RATES }[state.decay];
    const erase = { none: [0, 0, 0], scalar: [1, 1, 1], channel: [1, 0.8, 0.2] }[state.erase];
    const write = state.write === "1" ? 0.4 : 1;
    const states = [OLD];
    KEYS.forEach((k, t) => {
      let S = states[t];
      for (let step = 0; step < Number(state.steps); step += 1) {
        const key = step ? [...k].reverse() : k;
        const faded = S.map((s, d) => s * (step ? 1 : alpha[d]));
        const read = faded.reduce((sum, s, d) => sum + s * erase[d] * key[d], 0);
        S = faded.map((s, d) => s + (write * VALUES[t] - read) * key[d]);
      }
      states.push(S);
    });
    return states;
  };

  const cost = () => {
    const n = Number(state.steps), rows = n * C, gated = state.write === "1";
    let gates = { none: 0, scalar: 1, channel: dk }[state.erase];
    if (gated) gates += dv;
    else if (state.erase === "channel") gates += 1;
    const decays = { none: 0, head: 1, channel: dk }[state.decay];
    const bytes = 2 * (dk + dv + n * (dk + dv + gates)) + 4 * decays;
    let flops = 2 * C * rows * (dk + dv) + 2 * dk * dv * (C + rows);
    if (state.erase !== "none") flops += 2 * rows * rows * dk + rows * rows * dv + 2 * dk * dv * rows;
    const matrices = state.erase === "none" ? 1 : 2;
    const beside = state.decay === "channel" ? matrices * 3 * dk * rows * (c + 1) / 2 : 0;
    return { bytes, flops, beside };
  };

  const equation = () => {
    const D = { none: "", head: " αₜ", channel: " Dₜ" }[state.decay];
    const erase = { none: "", scalar: " (I − βₜ kₜkₜᵀ)", channel: " (I − (eₜ⊙kₜ) kₜᵀ)" }[state.erase];
    const plain = state.erase === "none" ? "vₜ" : "βₜvₜ";
    return `Sₜ = Sₜ₋₁${D}${erase} + ${state.write === "1" ? "(wₜ⊙vₜ)" : plain} kₜᵀ`;
  };

  const choice = (label, name, options) => GDN.choice(host, label, options, state[name],
    (value) => { state[name] = value; draw(); });

  const drawing = GDN.canvas(host, 440, 222, "Three channels of the state after each of six tokens");
  const title = GDN.svg(drawing, "text", { x: 220, y: 18, "text-anchor": "middle",
    "font-weight": "bold" });
  const formula = GDN.svg(drawing, "text", { x: 220, y: 42, "text-anchor": "middle" });
  const left = 84, top = 56, wide = 48, high = 40;
  const tiles = [], numbers = [];
  for (let d = 0; d < 3; d += 1) {
    GDN.svg(drawing, "text", { x: left - 8, y: top + (d + 0.62) * high, "text-anchor": "end" },
      `channel ${d + 1}`);
    for (let t = 0; t < 7; t += 1) {
      const place = { x: left + t * wide, y: top + d * high, width: wide, height: high };
      tiles.push(GDN.svg(drawing, "rect", { ...place, stroke: "var(--gdn-faint)" }));
      numbers.push(GDN.svg(drawing, "text", { x: left + (t + 0.5) * wide,
        y: top + (d + 0.62) * high, "text-anchor": "middle" }));
    }
  }
  for (let t = 0; t < 7; t += 1) {
    GDN.svg(drawing, "text", { x: left + (t + 0.5) * wide, y: top + 3 * high + 18,
      "text-anchor": "middle" }, t ? String(t) : "old");
  }
  GDN.svg(drawing, "text", { x: left - 8, y: top + 3 * high + 18, "text-anchor": "end" }, "token");

  let read = null;
  const draw = () => {
    if (!read) return;
    const name = NAMES[`${state.decay} ${state.erase} ${state.write} ${state.steps}`];
    title.textContent = name || "no rule of our table";
    formula.textContent = equation() + (state.steps === "2" ? ", twice per token" : "");
    const states = example();
    tiles.forEach((tile, at) => {
      const d = Math.floor(at / 7), x = states[at % 7][d];
      tile.setAttribute("fill", x < 0 ? "var(--gdn-minus)" : "var(--gdn-plus)");
      tile.setAttribute("fill-opacity", 0.55 * Math.min(Math.abs(x) / most, 1));
      numbers[at].textContent = x.toFixed(2).replace("-", "−");
    });
    const { bytes, flops, beside } = cost();
    read.textContent = `${name || "No rule of our table"}. A head of 128 by 128 loads and stores `
      + `${bytes.toLocaleString("en")} bytes per token and computes ${(flops / 1e6).toFixed(1)} MFLOP `
      + `per chunk of 64 tokens in matrix products and the solve`
      + (beside ? `, and ${(beside / 1e6).toFixed(2)} MFLOP outside them.` : ".");
  };
  choice("decay", "decay", [["none", "none"], ["head", "one per head"], ["channel", "per channel"]]);
  choice("erase", "erase", [["none", "none"], ["scalar", "one strength"],
    ["channel", "gate per channel"]]);
  choice("write gate", "write", [["0", "off"], ["1", "per channel"]]);
  choice("steps per token", "steps", [["1", "1"], ["2", "2"]]);
  read = GDN.readout(host);
  draw();
});
