// The forward pass of one sequence under the roof of an H100: its FLOPs and bytes (eq-flops-scan,
// eq-bytes-two-kernels), the rate it could have by them, the rate that the chain of states leaves,
// and the four times that no such program can beat (eq-four-limits).
"use strict";
GDN.figure("roofline", (host) => {
  const width = 440, height = 444, left = 58, right = 424, top = 24, bottom = 222;
  const peak = 989.4e12, bandwidth = 3.35e12, ridge = peak / bandwidth;
  const processors = 132, link = 641e-6 / 512; // seconds a chunk, as recorded
  const drawing = GDN.canvas(host, width, height,
    "FLOPs a second against FLOPs a byte, and below it the four limits in microseconds");
  const state = { C: 64, heads: 32, d: 128, T: 32768, segments: 1 };
  const low = 0.3, high = 2500; // 1e12 FLOPs a second
  const x = (intensity) => left + (right - left)
    * Math.log10(Math.min(Math.max(intensity, 6), 2000) / 6) / Math.log10(2000 / 6);
  const y = (rate) => bottom - (bottom - top)
    * Math.log10(Math.min(Math.max(rate, low), high) / low) / Math.log10(high / low);

  const set = (node, attributes) => {
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  };
  const text = (attributes, words = "") => GDN.svg(drawing, "text", attributes, words);
  const stroke = (colour, wide, dashes = "none") => ({ stroke: `var(--gdn-${colour})`,
    "stroke-width": wide, "stroke-dasharray": dashes, fill: "none" });

  GDN.svg(drawing, "path", { d: `M ${left} ${top} V ${bottom} H ${right}`, ...stroke("quiet", 1) });
  for (const [at, name] of [[10, "10"], [100, "100"], [1000, "1000"]]) {
    text({ x: x(at), y: bottom + 17, "text-anchor": "middle" }, name);
  }
  for (const [at, name] of [[1, "1"], [10, "10"], [100, "100"], [1000, "1000"]]) {
    text({ x: left - 7, y: y(at) + 5, "text-anchor": "end" }, name);
  }
  text({ x: (left + right) / 2, y: bottom + 36, "text-anchor": "middle" }, "FLOPs a byte");
  text({ x: 2, y: 14 }, "10¹² FLOPs a second");
  GDN.svg(drawing, "path", { ...stroke("ink", 2), d: `M ${x(6)} ${y(6 * bandwidth / 1e12)} `
    + `L ${x(ridge)} ${y(peak / 1e12)} H ${right}` });
  GDN.svg(drawing, "path", { d: `M ${x(ridge)} ${top} V ${bottom}`, ...stroke("quiet", 1, "2 4") });
  text({ x: x(ridge) + 5, y: bottom - 8 }, "ridge 295");
  const drop = GDN.svg(drawing, "line", stroke("time", 3));
  const could = GDN.svg(drawing, "circle", { r: 6, ...stroke("ink", 2) });
  const does = GDN.svg(drawing, "circle", { r: 6, fill: "var(--gdn-time)" });

  const rows = ["floor", "bytes", "FLOPs", "chain"].map((name, n) => {
    const at = bottom + 64 + 34 * n, role = ["quiet", "bytes", "flops", "time"][n];
    text({ x: left - 7, y: at + 15, "text-anchor": "end" }, name);
    return { bar: GDN.svg(drawing, "rect", { x: left, y: at, height: 20,
      fill: `var(--gdn-${role})` }), label: text({ y: at + 15 }) };
  });
  text({ x: (left + right) / 2, y: height - 8, "text-anchor": "middle" },
    "microseconds, at least (log scale)");

  const cost = () => {
    const { C, heads, d, T } = state;
    const keys = Math.max(Math.floor(heads / 2), 1), chunks = Math.ceil(T / C);
    const segments = Math.min(state.segments, chunks), slices = Math.ceil(d / 64);
    const floor = 4 * T * d * (keys + heads) + 8 * T * heads + 8 * heads * d * d;
    let bytes = floor + 2 * T * (keys * d + 2 * heads * C) + 8 * T * heads;
    let flops = T * heads * (6 * d * d + 4 * C * d + 2 * slices * C * d)
      + T * keys * d * (C + 16);
    const programs = heads * slices * segments, rounds = Math.ceil(programs / processors);
    let links = rounds * Math.ceil(chunks / segments);
    if (segments > 1) {
      const share = (segments - 1) / segments;
      bytes += share * T * (2 * keys * d + heads * (2 * d + 2 * C + 4))
        + 4 * heads * d * d * (2 * (2 * segments - 1 + segments - 2) + 1);
      flops += share * T * heads * (4 * d + 2 * C) * 2 * d;
      links = 1.7 * links + 8;
    }
    return { segments, programs, links, flops, bytes, floor: floor / bandwidth,
      times: { bytes: bytes / bandwidth, FLOPs: flops / peak, chain: links * link } };
  };

  const brief = (x) => (x >= 99.5 ? Math.round(x).toLocaleString("en") : x.toPrecision(2));
  const shown = (seconds) => brief(seconds * 1e6);
  const counted = (n, what) => `${Math.round(n).toLocaleString("en")} ${what}`
    + (n === 1 ? "" : "s");
  let readout = null;
  const outputs = {};
  const draw = () => {
    if (!readout) return;
    for (const [name, output] of Object.entries(outputs)) {
      output.textContent = state[name].toLocaleString("en");
    }
    const { segments, programs, links, flops, bytes, floor, times } = cost();
    const intensity = flops / bytes, roof = Math.min(intensity * bandwidth, peak) / 1e12;
    const binds = Object.keys(times).reduce((a, b) => (times[b] > times[a] ? b : a));
    const reached = flops / times[binds] / 1e12;
    set(drop, { x1: x(intensity), x2: x(intensity), y1: y(roof), y2: y(reached) });
    set(could, { cx: x(intensity), cy: y(roof) });
    set(does, { cx: x(intensity), cy: y(reached) });
    const all = [floor, times.bytes, times.FLOPs, times.chain];
    const least = Math.min(...all) / 3, most = Math.max(...all);
    rows.forEach(({ bar, label }, n) => {
      const long = (right - left - 70) * Math.log(all[n] / least) / Math.log(most / least);
      set(bar, { width: Math.max(long, 1) });
      set(label, { x: left + long + 6 });
      label.textContent = shown(all[n]);
    });
    const decide = binds === "chain" ? "The chain decides" : `The ${binds} decide`;
    readout.textContent = `${decide}: at least ${shown(times[binds])} µs, `
      + `${brief(times[binds] / floor)} times the floor. `
      + `${counted(programs, "chain")} on ${processors} processors; `
      + `${counted(links, "link")} in a row${segments > 1 ? `, in ${segments} segments` : ""}. `
      + `${intensity.toFixed(0)} FLOPs a byte, ${brief(100 * reached * 1e12 / peak)} % `
      + "of the peak rate at best.";
  };

  // sliders over powers of two
  const power = (label, name, first, last) => {
    const slider = GDN.slider(host, label, { min: first, max: last, step: 1,
      value: Math.log2(state[name]) }, (value) => { state[name] = 2 ** value; draw(); });
    outputs[name] = slider.range.parentElement.querySelector("output");
  };
  power("chunk size C", "C", 4, 8);
  power("value heads", "heads", 0, 7);
  power("width d", "d", 5, 8);
  power("tokens T", "T", 6, 18);
  power("segments", "segments", 0, 5);
  readout = GDN.readout(host);
  draw();
});
