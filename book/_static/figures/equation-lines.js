// Equations on the left, lines of the two kernels on the right: pick an equation and its lines light
// up, pick a line and its equation does. The strip above is the whole source, one stroke a line; its
// marker walks from line to line by mouse, touch or the arrow keys.
// The block below is written by `python -m gdn_ref.figures.ch15_lines` from the kernels' source.
"use strict";
GDN.figure("equation-lines", (host) => {
  // from the source: begin
  const equations = [
    {"key": "slot", "formula": "slot = ⌊b/C⌋ + n + j", "role": "quiet", "says": "chunk j of sequence n has a slot of its own"},
    {"key": "address", "formula": "k[t, h, d] at (tH + h)K + d", "role": "quiet", "says": "where memory keeps an element"},
    {"key": "padding", "formula": "k, v, g, β = 0 past the end", "role": "quiet", "says": "missing tokens change nothing"},
    {"key": "c", "formula": "ĉ = g₁ + … + g_r, base 2", "role": "decay", "says": "cumulative log-decays"},
    {"key": "Gamma", "formula": "Γ_ri = 2^(ĉ_r − ĉ_i)", "role": "decay", "says": "the decay from token i to token r"},
    {"key": "A", "formula": "A_ri = β_r Γ_ri k_r·k_i", "role": "key", "says": "what token r reads of token i's write"},
    {"key": "inverse", "formula": "(I + A)⁻¹, in blocks", "role": "value", "says": "the solve, for every right-hand side at once"},
    {"key": "UT", "formula": "T = (I + A)⁻¹ B", "role": "value", "says": "the UT transform, all that goes to memory beside ĉ"},
    {"key": "delta", "formula": "Eᵀ = (Vᵀ − S Kᵀ D_γ) Tᵀ", "role": "error", "says": "the corrections of the chunk"},
    {"key": "output", "formula": "Oᵀ = S Qᵀ D_γ + Eᵀ (Γ ⊙ QKᵀ)ᵀ", "role": "query", "says": "the outputs of the chunk"},
    {"key": "state", "formula": "S′ = γ_C S + (Eᵀ D_→) K", "role": "state", "says": "the state that the next chunk receives"},
    {"key": "slices", "formula": "rows of S never meet", "role": "state", "says": "a program may own some of them"},
  ];
  const lines = [
    {"file": "ut_transform.py", "line": 93, "text": "start, end = chunk_bounds(cu_seqlens_ptr, tl.program_id(0), N, T, C, PACKED)", "eq": "slot", "says": "Which tokens are mine? The program's number is a slot; a slot has one chunk, or none."},
    {"file": "ut_transform.py", "line": 94, "text": "left = tl.minimum(end - start, C).to(tl.int32)", "eq": "padding", "says": "How many tokens the chunk really has: the last one of a sequence may be short."},
    {"file": "ut_transform.py", "line": 99, "text": "k_ptr += (start * H + h) * K", "eq": "address", "says": "Moves the pointer to the chunk's first token and to our key head; rows are H K apart."},
    {"file": "ut_transform.py", "line": 101, "text": "same = overlap(k_ptr, first, first, 16, H * K, left, K, BK, PRECISION)", "eq": "A", "says": "Products of keys inside each block of 16 tokens. No decay yet: value heads share them."},
    {"file": "ut_transform.py", "line": 104, "text": "pairs = overlap(k_ptr, first + 16, first, 16, H * K, left, K, BK, PRECISION)", "eq": "A", "says": "Products of the second block of each pair with the first. Above the diagonal: nothing."},
    {"file": "ut_transform.py", "line": 107, "text": "halves = overlap(k_ptr, first + 32, first, 32, H * K, left, K, BK, PRECISION)", "eq": "A", "says": "Products of tokens 33 to 64 with tokens 1 to 32, as one block of 32 by 32."},
    {"file": "ut_transform.py", "line": 115, "text": "beta = tl.load(beta_ptr + at, mask=valid, other=0.0).to(tl.float32)", "eq": "padding", "says": "Write strengths in float32; a missing token gets 0, so its row and column of T are 0."},
    {"file": "ut_transform.py", "line": 118, "text": "g_log2 = tl.load(g_ptr + at, mask=valid, other=0.0).to(c.dtype) * LOG2_E", "eq": "c", "says": "Natural logs become base 2, because the GPU has an instruction for powers of two."},
    {"file": "ut_transform.py", "line": 119, "text": "c = tl.cumsum(tl.where(g_log2 < RESET, RESET, g_log2))", "eq": "c", "says": "The running sum. A decay below 2^-160 counts as 2^-160, so ĉ stays finite through resets."},
    {"file": "ut_transform.py", "line": 121, "text": "tl.store(c_ptr + at + t, c, mask=valid)", "eq": "c", "says": "The first of two results: one number a token. Kernel 2 reads it."},
    {"file": "ut_transform.py", "line": 125, "text": "stretch = (c_16[:, None, :] - c_16[:, :, None]).to(tl.float32)", "eq": "Gamma", "says": "The log-decay between two tokens of a block, as a difference; rows and columns swapped."},
    {"file": "ut_transform.py", "line": 126, "text": "Gamma = tl.exp2(tl.where(r < i, stretch, float(\"-inf\")))", "eq": "Gamma", "says": "The mask goes into the exponent: 2^-inf is 0, and nothing overflows before it is hidden."},
    {"file": "ut_transform.py", "line": 127, "text": "T_inv = solve_rows(beta_16[:, None, :] * Gamma * same, 16)", "eq": "inverse", "says": "All blocks of 16 at once, row by row: 15 steps in a row, on numbers in registers."},
    {"file": "ut_transform.py", "line": 131, "text": "A21 = beta_late[:, :, None] * decay(c_late, c_early) * pairs", "eq": "A", "says": "What the late block of a pair reads of the early one; strictly below, so no mask."},
    {"file": "ut_transform.py", "line": 132, "text": "T_inv = join_pairs(T_inv, A21, C // 32, 16, PRECISION)", "eq": "inverse", "says": "Two blocks of 16 become one of 32: −T₂₂ A₂₁ T₁₁ goes below the diagonal."},
    {"file": "ut_transform.py", "line": 136, "text": "A21 = beta_late[:, :, None] * decay(c_late, c_early) * halves", "eq": "A", "says": "The same for the two halves of the chunk."},
    {"file": "ut_transform.py", "line": 137, "text": "T_inv = join_pairs(T_inv, A21, 1, 32, PRECISION)", "eq": "inverse", "says": "Two blocks of 32 become the whole chunk: 19 dependent steps in all, in place of 63."},
    {"file": "ut_transform.py", "line": 141, "text": "UT *= beta[None, :]", "eq": "UT", "says": "Columns times β: now it can be applied to values and reads that know nothing of β."},
    {"file": "ut_transform.py", "line": 143, "text": "tl.store(UT_at, UT.to(UT_ptr.dtype.element_ty), mask=valid[:, None])", "eq": "UT", "says": "The second result: C numbers a token. Rows of missing tokens are not written."},
    {"file": "chunk_scan.py", "line": 46, "text": "k = load_tile(k_ptr, H * K, left, K, C, BK, FULL and K == BK)", "eq": "padding", "says": "The chunk's keys, tokens as rows; beyond the last token and dimension zeros."},
    {"file": "chunk_scan.py", "line": 54, "text": "gamma = tl.exp2(c.to(tl.float32))[None, :]", "eq": "c", "says": "The decay from the state before the chunk to each token, laid out as a row."},
    {"file": "chunk_scan.py", "line": 55, "text": "to_end = tl.exp2((c_C - c).to(tl.float32))[None, :]", "eq": "state", "says": "The decay from each token to the end of the chunk: the last row of Γ."},
    {"file": "chunk_scan.py", "line": 56, "text": "stretch = (c[None, :] - c[:, None]).to(tl.float32)", "eq": "Gamma", "says": "The log-decay between any two tokens, transposed: columns are the later tokens."},
    {"file": "chunk_scan.py", "line": 57, "text": "Gamma = tl.exp2(tl.where(i <= r, stretch, float(\"-inf\")))", "eq": "Gamma", "says": "This time with its diagonal: a token sees its own write."},
    {"file": "chunk_scan.py", "line": 58, "text": "scores = (scale * Gamma * tl.dot(k, tl.trans(q), input_precision=PRECISION)).to(dtype)", "eq": "output", "says": "Scores, transposed. They need no state, so they can be computed while the state waits."},
    {"file": "chunk_scan.py", "line": 61, "text": "S_in = S.to(dtype)", "eq": "delta", "says": "A 16-bit copy of the state for the tensor cores; the float32 state stays as it is."},
    {"file": "chunk_scan.py", "line": 62, "text": "read = gamma * tl.dot(S_in, tl.trans(k), input_precision=PRECISION)", "eq": "delta", "says": "All keys read the old state at once; S stands on the left, where registers may feed it."},
    {"file": "chunk_scan.py", "line": 63, "text": "residual = (tl.trans(v).to(tl.float32) - read).to(UT.dtype)", "eq": "delta", "says": "Value less read: the correction each token would make if it were alone in the chunk."},
    {"file": "chunk_scan.py", "line": 64, "text": "delta = tl.dot(residual, tl.trans(UT), input_precision=PRECISION)", "eq": "delta", "says": "One product does the whole solve. The residual, just computed, is the left operand."},
    {"file": "chunk_scan.py", "line": 67, "text": "o = scale * gamma * tl.dot(S_in, tl.trans(q), input_precision=PRECISION)", "eq": "output", "says": "What the queries find in the old state."},
    {"file": "chunk_scan.py", "line": 68, "text": "o = tl.dot(delta.to(dtype), scores, acc=o, input_precision=PRECISION)", "eq": "output", "says": "What they find of the chunk's own writes is added; delta is again on the left."},
    {"file": "chunk_scan.py", "line": 73, "text": "tl.store(o_ptr + r * (HV * V) + dim, o.to(dtype), mask=(dim < V_left) & (r < left))", "eq": "padding", "says": "Outputs of tokens that do not exist are not written: they are the next sequence's place."},
    {"file": "chunk_scan.py", "line": 76, "text": "S = S * tl.exp2(c_C.to(tl.float32))", "eq": "state", "says": "The old state fades over the whole chunk, in float32."},
    {"file": "chunk_scan.py", "line": 77, "text": "return tl.dot((to_end * delta).to(dtype), k, acc=S, input_precision=PRECISION)", "eq": "state", "says": "All writes at once, added to it. The decay lies on delta, which is in registers already."},
    {"file": "chunk_scan.py", "line": 95, "text": "first_v = (tl.program_id(0) % slices) * BV", "eq": "slices", "says": "Which rows of the state this program owns."},
    {"file": "chunk_scan.py", "line": 110, "text": "at = begin + j * C", "eq": "slot", "says": "Chunk after chunk: here the order matters, so this is a loop and not a grid."},
  ];
  const files = [
    {"file": "ut_transform.py", "lines": [[0, 81], [0, 0], [4, 78], [4, 88], [4, 85], [0, 0], [0, 96], [0, 94], [0, 64], [0, 0], [0, 89], [0, 3], [0, 0], [0, 13], [0, 28], [0, 0], [0, 43], [0, 0], [0, 41], [0, 79], [0, 28], [0, 59], [0, 23], [0, 0], [0, 0], [0, 11], [0, 27], [4, 96], [4, 73], [0, 0], [0, 0], [0, 11], [0, 97], [12, 38], [4, 95], [4, 32], [4, 54], [4, 38], [8, 52], [8, 70], [8, 72], [8, 40], [8, 75], [4, 15], [0, 0], [0, 0], [0, 11], [0, 48], [4, 93], [4, 64], [0, 0], [0, 0], [0, 11], [0, 46], [4, 91], [0, 0], [4, 91], [4, 3], [4, 34], [4, 34], [4, 49], [4, 21], [8, 57], [8, 47], [8, 58], [4, 12], [0, 0], [0, 0], [0, 11], [0, 86], [4, 83], [0, 0], [4, 54], [4, 3], [4, 78], [4, 90], [4, 96], [4, 74], [0, 0], [0, 0], [0, 64], [0, 24], [4, 10], [4, 54], [4, 62], [4, 39], [4, 8], [4, 34], [4, 51], [4, 89], [0, 15], [4, 20], [4, 76], [4, 46], [4, 13], [8, 6], [0, 0], [4, 54], [4, 28], [4, 34], [4, 70], [4, 11], [8, 34], [8, 76], [4, 11], [8, 23], [8, 77], [0, 0], [4, 19], [4, 16], [4, 35], [4, 35], [4, 44], [8, 35], [8, 67], [8, 42], [8, 9], [12, 72], [12, 54], [8, 23], [8, 39], [0, 0], [8, 65], [8, 77], [8, 62], [8, 56], [8, 58], [8, 11], [12, 40], [12, 40], [12, 60], [12, 54], [8, 11], [12, 34], [12, 34], [12, 61], [12, 48], [0, 0], [8, 30], [8, 10], [12, 19], [8, 53], [8, 68]]},
    {"file": "chunk_scan.py", "lines": [[0, 93], [0, 0], [4, 88], [4, 89], [4, 88], [0, 0], [0, 96], [0, 100], [0, 93], [0, 0], [0, 44], [0, 3], [0, 0], [0, 13], [0, 28], [0, 0], [0, 35], [0, 0], [0, 0], [0, 11], [0, 82], [14, 34], [4, 81], [4, 31], [4, 34], [4, 9], [8, 33], [4, 5], [8, 75], [4, 8], [0, 0], [0, 0], [0, 11], [0, 19], [4, 66], [4, 68], [4, 52], [4, 44], [0, 15], [4, 70], [4, 23], [4, 30], [4, 44], [4, 28], [4, 28], [4, 61], [4, 58], [4, 46], [4, 76], [4, 31], [4, 61], [0, 0], [4, 82], [4, 42], [4, 51], [4, 50], [4, 57], [4, 86], [0, 0], [4, 20], [4, 18], [4, 67], [4, 59], [4, 65], [0, 0], [4, 21], [4, 72], [4, 69], [4, 31], [4, 11], [8, 49], [4, 5], [8, 83], [0, 0], [4, 72], [4, 35], [4, 78], [0, 0], [0, 0], [0, 45], [0, 22], [4, 10], [4, 83], [4, 19], [4, 85], [4, 20], [4, 37], [4, 8], [4, 52], [4, 7], [4, 89], [0, 15], [4, 41], [4, 34], [4, 42], [4, 15], [4, 19], [4, 68], [0, 0], [4, 43], [4, 33], [4, 63], [4, 35], [4, 34], [4, 9], [8, 71], [0, 0], [4, 25], [4, 46], [8, 18], [8, 19], [12, 54], [12, 62], [12, 69], [12, 63], [8, 14], [4, 21], [4, 12], [8, 19], [12, 54], [12, 62], [12, 69], [12, 44], [12, 41], [8, 14], [4, 44]]},
  ];
  // from the source: end
  const state = { line: null, eq: null };
  const step = 2.62, left = 12, rows = [30, 92];
  const drawing = GDN.canvas(host, 400, 136, "Every line of the two kernels");
  const roleOf = Object.fromEntries(equations.map(({ key, role }) => [key, role]));
  const colour = (key) => `var(--gdn-${roleOf[key]})`;

  // The strip: a stroke a line, hanging from its indentation.
  files.forEach(({ file, lines: shapes }, row) => {
    GDN.svg(drawing, "text", { x: left, y: rows[row] - 12 }, `${file}, ${shapes.length} lines`);
    shapes.forEach(([indent, length], n) => {
      if (!length) return;
      const x = left + n * step, y = rows[row] - 6 + indent * 0.3;
      GDN.svg(drawing, "line", { x1: x, x2: x, y1: y, y2: y + length * 0.3,
        stroke: "var(--gdn-quiet)", "stroke-opacity": 0.35, "stroke-width": 1.6 });
    });
  });
  lines.forEach((entry) => {
    const row = files.findIndex(({ file }) => file === entry.file);
    entry.x = left + (entry.line - 1) * step;
    entry.y = rows[row];
    const [indent, length] = files[row].lines[entry.line - 1];
    const top = entry.y - 6 + indent * 0.3;
    entry.stroke = GDN.svg(drawing, "line", { x1: entry.x, x2: entry.x, y1: top,
      y2: top + length * 0.3, stroke: colour(entry.eq) });
  });
  const marker = GDN.svg(drawing, "path", { d: "M0,0 L-7,12 L7,12 Z", fill: "var(--gdn-ink)" });

  // The two columns.
  const columns = GDN.html(host, "div");
  columns.style.cssText = "display: flex; flex-wrap: wrap; gap: 0.6rem; margin-top: 0.3rem;";
  const leftColumn = GDN.html(columns, "div", { role: "group", "aria-label": "equations" });
  leftColumn.style.cssText = "flex: 1 1 13rem; display: flex; flex-direction: column; gap: 2px;";
  const code = GDN.html(columns, "div", { role: "group", tabindex: 0,
    "aria-label": "lines of the kernels" });
  code.style.cssText = "flex: 2 1 18rem; min-width: 0; height: 23rem; overflow: hidden auto; " +
    "position: relative; border: 1px solid var(--gdn-faint); border-radius: 4px;";
  const read = GDN.readout(host);
  read.style.minHeight = "6.5em";

  const buttons = equations.map((equation) => {
    const button = GDN.html(leftColumn, "button", { type: "button", "aria-pressed": "false" },
      equation.formula);
    button.style.cssText = "text-align: left; font: inherit; font-size: 0.85rem; color: inherit; " +
      "background: none; border: 1px solid var(--gdn-faint); border-left: 4px solid " +
      `${colour(equation.key)}; border-radius: 3px; padding: 0.16rem 0.45rem; cursor: pointer;`;
    button.addEventListener("click", () => {
      state.eq = state.eq === equation.key && state.line === null ? null : equation.key;
      state.line = null;
      draw(true);
    });
    return button;
  });

  const list = GDN.html(code, "div");
  list.style.cssText = "padding: 0.2rem 0;";
  let heading = "";
  lines.forEach((entry, n) => {
    if (entry.file !== heading) {
      heading = entry.file;
      GDN.html(list, "div", {}, heading).style.cssText =
        "padding: 0.25rem 0.4rem 0.1rem; font-weight: 600; font-size: 0.85rem;";
    }
    entry.node = GDN.html(list, "div");
    entry.node.style.cssText = "font-family: var(--pst-font-family-monospace, monospace); " +
      "font-size: 0.75rem; line-height: 1.55; cursor: pointer; overflow: hidden; " +
      "text-overflow: ellipsis; padding: 0 0.5rem 0 3.6em; text-indent: -3.2em; " +
      "border-left: 4px solid transparent;";
    entry.node.textContent = `${String(entry.line).padStart(3)}  ${entry.text}`;
    entry.node.addEventListener("click", () => choose(n, false));
  });

  const choose = (n, scroll) => {
    state.line = Math.max(0, Math.min(lines.length - 1, n));
    state.eq = lines[state.line].eq;
    draw(scroll);
  };

  const explain = () => {
    if (state.eq === null) {
      const all = files.reduce((sum, { lines: shapes }) => sum + shapes.length, 0);
      return `${lines.length} of ${all} lines carry the ${equations.length} statements. ` +
        "The others name things, compute addresses or explain. Pick an equation or a line.";
    }
    const equation = equations.find(({ key }) => key === state.eq);
    const own = lines.filter(({ eq }) => eq === state.eq);
    if (state.line === null) {
      const where = files.map(({ file }) => [file, own.filter((x) => x.file === file)])
        .filter(([, found]) => found.length)
        .map(([file, found]) => `${file} ${found.map(({ line }) => line).join(", ")}`);
      return `${equation.formula}: ${equation.says}. ${own.length} ` +
        `${own.length === 1 ? "line" : "lines"}: ${where.join("; ")}.`;
    }
    const entry = lines[state.line];
    return `${entry.file}, line ${entry.line}, for ${equation.formula}. ${entry.says}`;
  };

  const draw = (scroll) => {
    const lit = (entry) => entry.eq === state.eq;
    lines.forEach((entry, n) => {
      const here = n === state.line;
      entry.stroke.setAttribute("stroke-width", lit(entry) ? 3.4 : 2);
      entry.stroke.setAttribute("stroke-opacity", state.eq === null || lit(entry) ? 1 : 0.3);
      entry.node.style.borderLeftColor = lit(entry) ? colour(entry.eq) : "transparent";
      entry.node.style.background = lit(entry) ? "var(--gdn-faint)" : "none";
      entry.node.style.whiteSpace = state.eq !== null && lit(entry) ? "pre-wrap" : "pre";
      entry.node.style.fontWeight = here ? "700" : "400";
      entry.node.style.opacity = state.eq === null || lit(entry) ? "1" : "0.6";
    });
    buttons.forEach((button, n) => {
      const on = equations[n].key === state.eq;
      button.setAttribute("aria-pressed", String(on));
      button.style.background = on ? "var(--gdn-faint)" : "none";
      button.style.fontWeight = on ? "600" : "400";
    });
    const at = lines[state.line ?? Math.max(0, lines.findIndex(lit))];
    marker.setAttribute("transform", `translate(${at.x},${at.y + 25})`);
    if (scroll && state.eq !== null) code.scrollTop = at.node.offsetTop - 60;
    read.textContent = explain();
    GDN.say(marker, lines.indexOf(at), explain());
  };

  GDN.drag(drawing, marker, "line of the kernels", ([x, y]) => {
    const row = y > 74 ? files[1].file : files[0].file;
    const distance = (entry) => Math.abs(entry.x - x) + (entry.file === row ? 0 : 1000);
    choose(lines.reduce((best, entry, n) =>
      (distance(entry) < distance(lines[best]) ? n : best), 0), true);
  }, ([dx, dy]) => choose(state.line === null ? lines.findIndex(({ eq }) => eq === state.eq) + 1
    : state.line + dx - dy, true));
  marker.setAttribute("aria-valuemin", 0);
  marker.setAttribute("aria-valuemax", lines.length - 1);
  draw(false);
});
