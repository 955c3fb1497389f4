// Equations on the left, lines of some kernels on the right: pick an equation and its lines light up,
// pick a line and its equation does. The strip above is the whole source, one stroke a line; its
// marker walks from line to line by mouse, touch or the arrow keys. `data-kernels` says which:
// "forward" (chapter 15) or "backward" (chapter 16).
// The blocks below are written by `python -m gdn_ref.figures.ch15_lines` and `.ch16_lines` from the
// kernels' source.
"use strict";
GDN.figure("equation-lines", (host) => {
  const sources = { forward: {
    // forward, from the source: begin
    equations: [
      {"key": "slot", "formula": "slot = ⌊b/C⌋ + n + j", "role": "quiet", "says": "chunk j of sequence n has a slot of its own"},
      {"key": "address", "formula": "k[t, h, d] at (tH + h)K + d", "role": "quiet", "says": "where memory keeps an element"},
      {"key": "padding", "formula": "k, v, g, β = 0 past the end", "role": "quiet", "says": "missing tokens change nothing"},
      {"key": "c", "formula": "ĉ = g₁ + … + g_r, base 2", "role": "decay", "says": "cumulative log-decays"},
      {"key": "Gamma", "formula": "Γ_ri = 2^(ĉ_r − ĉ_i)", "role": "decay", "says": "the decay from token i to token r"},
      {"key": "A", "formula": "A_ri = β_r Γ_ri k_r·k_i", "role": "key", "says": "what token r reads of token i's write"},
      {"key": "inverse", "formula": "(I + A)⁻¹, in blocks", "role": "first", "says": "the solve, for every right-hand side at once"},
      {"key": "UT", "formula": "T = (I + A)⁻¹ B", "role": "first", "says": "the UT transform, all that goes to memory beside ĉ"},
      {"key": "delta", "formula": "Eᵀ = (Vᵀ − S Kᵀ D_γ) Tᵀ", "role": "error", "says": "the corrections of the chunk"},
      {"key": "output", "formula": "Oᵀ = S Qᵀ D_γ + Eᵀ (Γ ⊙ QKᵀ)ᵀ", "role": "query", "says": "the outputs of the chunk"},
      {"key": "state", "formula": "S′ = γ_C S + (Eᵀ D_→) K", "role": "state", "says": "the state that the next chunk receives"},
      {"key": "slices", "formula": "rows of S are independent", "role": "state", "says": "a program may own some of them"},
      {"key": "shares", "formula": "silent before its own share", "role": "quiet", "says": "several programs share a sequence"},
    ],
    lines: [
      {"file": "forward/transform.py", "line": 96, "text": "start, end = chunk_bounds(", "eq": "slot", "says": "Finds the program's tokens: its number is a slot, and a slot has one chunk or none."},
      {"file": "forward/transform.py", "line": 99, "text": "left = tl.minimum(end - start, C).to(tl.int32)", "eq": "padding", "says": "How many tokens the chunk has: the last chunk of a sequence may be short."},
      {"file": "forward/transform.py", "line": 104, "text": "k_ptr = given.k_ptr + (start * H + h) * K", "eq": "address", "says": "Moves the pointer to the chunk's first token and to our key head; rows are H K apart."},
      {"file": "forward/transform.py", "line": 106, "text": "same = overlap(k_ptr, first, first, 16, H * K, left, K, BK, PRECISION)", "eq": "A", "says": "Products of keys inside each block of 16 tokens. No decay yet: value heads share them."},
      {"file": "forward/transform.py", "line": 109, "text": "pairs = overlap(k_ptr, first + 16, first, 16, H * K, left, K, BK, PRECISION)", "eq": "A", "says": "Products of the second block of each pair with the first; none above the diagonal."},
      {"file": "forward/transform.py", "line": 112, "text": "halves = overlap(k_ptr, first + 32, first, 32, H * K, left, K, BK, PRECISION)", "eq": "A", "says": "Products of tokens 33 to 64 with tokens 1 to 32, as one block of 32 by 32."},
      {"file": "forward/transform.py", "line": 120, "text": "beta = tl.load(given.beta_ptr + at, mask=valid, other=0.0).to(tl.float32)", "eq": "padding", "says": "Write strengths in float32; a missing token gets 0, so its row and column of T are 0."},
      {"file": "forward/transform.py", "line": 123, "text": "g_log2 = tl.load(given.g_ptr + at, mask=valid, other=0.0).to(c.dtype) * LOG2_E", "eq": "c", "says": "Natural logs become base 2, because the GPU has an instruction for powers of two."},
      {"file": "forward/transform.py", "line": 124, "text": "c = tl.cumsum(tl.where(g_log2 < RESET, RESET, g_log2))", "eq": "c", "says": "The running sum. A decay below 2^-160 counts as 2^-160, so ĉ stays finite through resets."},
      {"file": "forward/transform.py", "line": 126, "text": "tl.store(given.c_ptr + at + t, c, mask=valid)", "eq": "c", "says": "The first of two results, one number per token, which kernel 2 reads."},
      {"file": "forward/transform.py", "line": 130, "text": "stretch = (c_16[:, None, :] - c_16[:, :, None]).to(tl.float32)", "eq": "Gamma", "says": "The log-decay between two tokens of a block, as a difference; rows and columns swapped."},
      {"file": "forward/transform.py", "line": 131, "text": "Gamma = tl.exp2(tl.where(r < i, stretch, float(\"-inf\")))", "eq": "Gamma", "says": "The mask goes into the exponent: 2^-inf is 0, and nothing overflows before it is hidden."},
      {"file": "forward/transform.py", "line": 132, "text": "T_inv = solve_rows(beta_16[:, None, :] * Gamma * same, 16)", "eq": "inverse", "says": "All blocks of 16 at once, row by row: 15 steps in a row, on numbers in registers."},
      {"file": "forward/transform.py", "line": 136, "text": "A21 = beta_late[:, :, None] * decay(c_late, c_early) * pairs", "eq": "A", "says": "What the late block of a pair reads of the early one; strictly below, so no mask."},
      {"file": "forward/transform.py", "line": 137, "text": "T_inv = join_pairs(T_inv, A21, C // 32, 16, PRECISION)", "eq": "inverse", "says": "Two blocks of 16 become one of 32: −T₂₂ A₂₁ T₁₁ goes below the diagonal."},
      {"file": "forward/transform.py", "line": 141, "text": "A21 = beta_late[:, :, None] * decay(c_late, c_early) * halves", "eq": "A", "says": "The same for the two halves of the chunk."},
      {"file": "forward/transform.py", "line": 142, "text": "T_inv = join_pairs(T_inv, A21, 1, 32, PRECISION)", "eq": "inverse", "says": "Two blocks of 32 become the whole chunk: 19 dependent steps in all, in place of 63."},
      {"file": "forward/transform.py", "line": 146, "text": "UT *= beta[None, :]", "eq": "UT", "says": "Multiplies columns by β, so that it applies to values and reads without β."},
      {"file": "forward/transform.py", "line": 148, "text": "tl.store(UT_at, UT.to(given.UT_ptr.dtype.element_ty), mask=valid[:, None])", "eq": "UT", "says": "The second result: C numbers per token. Rows of missing tokens are not written."},
      {"file": "forward/scan.py", "line": 54, "text": "k = load_tile(chunk.k_ptr, case.H * case.K, left, case.K, C, BK, FULL and case.K == BK)", "eq": "padding", "says": "The chunk's keys, tokens as rows; beyond the last token and dimension zeros."},
      {"file": "forward/scan.py", "line": 61, "text": "gamma = tl.exp2(c.to(tl.float32))[None, :]", "eq": "c", "says": "The decay from the state before the chunk to each token, laid out as a row."},
      {"file": "forward/scan.py", "line": 62, "text": "to_end = tl.exp2((c_C - c).to(tl.float32))[None, :]", "eq": "state", "says": "The decay from each token to the end of the chunk: the last row of Γ."},
      {"file": "forward/scan.py", "line": 65, "text": "stretch = (c[None, :] - c[:, None]).to(tl.float32)", "eq": "Gamma", "says": "The log-decay between any two tokens, transposed: columns are the later tokens."},
      {"file": "forward/scan.py", "line": 66, "text": "Gamma = tl.exp2(tl.where(i <= r, stretch, float(\"-inf\")))", "eq": "Gamma", "says": "This time with the diagonal, because a query reads its own token's write."},
      {"file": "forward/scan.py", "line": 67, "text": "scores = (scale * Gamma * tl.dot(k, tl.trans(q), input_precision=PRECISION)).to(dtype)", "eq": "output", "says": "Scores, transposed. They need no state, so they can be computed while the state waits."},
      {"file": "forward/scan.py", "line": 70, "text": "S_in = S.to(dtype)", "eq": "delta", "says": "A 16-bit copy of the state for the tensor cores; the float32 state stays as it is."},
      {"file": "forward/scan.py", "line": 71, "text": "read = gamma * tl.dot(S_in, tl.trans(k), input_precision=PRECISION)", "eq": "delta", "says": "All keys read the old state at once; S stands on the left, where registers may feed it."},
      {"file": "forward/scan.py", "line": 72, "text": "residual = tl.trans(v).to(tl.float32) - read", "eq": "delta", "says": "Value minus read: the correction each token would make if it were alone in the chunk."},
      {"file": "forward/scan.py", "line": 77, "text": "delta = tl.dot(residual.to(UT.dtype), tl.trans(UT), input_precision=PRECISION)", "eq": "delta", "says": "One product does the whole solve. The residual, just computed, is the left operand."},
      {"file": "forward/scan.py", "line": 81, "text": "o = scale * gamma * tl.dot(S_in, tl.trans(q), input_precision=PRECISION)", "eq": "output", "says": "What the queries read from the old state."},
      {"file": "forward/scan.py", "line": 82, "text": "o = tl.dot(delta.to(dtype), scores, acc=o, input_precision=PRECISION)", "eq": "output", "says": "Adds what they read of the chunk's own writes; delta is again on the left."},
      {"file": "forward/scan.py", "line": 88, "text": "tl.store(o_ptr + r * (HV * V) + dim, o.to(dtype), mask=(dim < V_left) & (r < left))", "eq": "padding", "says": "Outputs of missing tokens are not written, because the next sequence begins there."},
      {"file": "forward/scan.py", "line": 91, "text": "S = S * tl.exp2(c_C.to(tl.float32))", "eq": "state", "says": "The old state decays over the whole chunk, in float32."},
      {"file": "forward/scan.py", "line": 92, "text": "return tl.dot((to_end * delta).to(dtype), k, acc=S, input_precision=PRECISION)", "eq": "state", "says": "Adds all writes at once. The decay multiplies delta, which is in registers already."},
      {"file": "forward/scan.py", "line": 106, "text": "first_v = (tl.program_id(0) % slices) * BV", "eq": "slices", "says": "Which rows of the state this program owns."},
      {"file": "forward/scan.py", "line": 116, "text": "tokens, silent, last = share((end - begin).to(tl.int32), p, SHARES, C)", "eq": "shares", "says": "Where heads are few: the token up to which this program goes, and its first output."},
      {"file": "forward/scan.py", "line": 129, "text": "for j in tl.range(0, silent, num_stages=case.STAGES):", "eq": "shares", "says": "Before its own chunks it only updates the state, without queries and outputs."},
      {"file": "forward/scan.py", "line": 138, "text": "for j in tl.range(silent, full, num_stages=case.STAGES):", "eq": "slot", "says": "Chunk after chunk: here the order matters, so this is a loop and not a grid."},
      {"file": "forward/scan.py", "line": 157, "text": "tl.store(given.S_last_ptr + S_at, S, mask=S_valid & last)", "eq": "shares", "says": "Of programs that share a sequence, the one that reaches its end writes the last state."},
    ],
    files: [
      {"file": "forward/transform.py", "lines": [[0, 81], [0, 0], [4, 78], [4, 88], [4, 85], [0, 0], [0, 96], [0, 94], [0, 64], [0, 0], [0, 89], [0, 3], [0, 0], [0, 34], [0, 0], [0, 13], [0, 28], [0, 0], [0, 42], [0, 51], [0, 0], [0, 59], [0, 23], [0, 0], [0, 0], [0, 11], [0, 27], [4, 96], [4, 73], [0, 0], [0, 0], [0, 11], [0, 97], [12, 38], [4, 95], [4, 32], [4, 54], [4, 38], [8, 52], [8, 70], [8, 72], [8, 40], [8, 75], [4, 15], [0, 0], [0, 0], [0, 11], [0, 48], [4, 93], [4, 64], [0, 0], [0, 0], [0, 11], [0, 46], [4, 91], [0, 0], [4, 91], [4, 3], [4, 34], [4, 34], [4, 49], [4, 21], [8, 57], [8, 47], [8, 58], [4, 12], [0, 0], [0, 0], [0, 11], [0, 86], [4, 83], [0, 0], [4, 54], [4, 3], [4, 78], [4, 90], [4, 96], [4, 74], [0, 0], [0, 0], [0, 86], [0, 28], [4, 86], [0, 1], [0, 80], [0, 83], [0, 0], [0, 0], [0, 11], [0, 67], [4, 24], [4, 24], [4, 26], [4, 40], [4, 52], [4, 26], [8, 72], [4, 1], [4, 46], [4, 13], [8, 6], [0, 0], [4, 54], [4, 41], [4, 34], [4, 70], [4, 11], [8, 34], [8, 76], [4, 11], [8, 23], [8, 77], [0, 0], [4, 19], [4, 16], [4, 35], [4, 35], [4, 44], [8, 35], [8, 73], [8, 48], [8, 14], [12, 78], [12, 54], [8, 42], [8, 45], [0, 0], [8, 65], [8, 77], [8, 62], [8, 56], [8, 58], [8, 11], [12, 40], [12, 40], [12, 60], [12, 54], [8, 11], [12, 34], [12, 34], [12, 61], [12, 48], [0, 0], [8, 30], [8, 15], [12, 19], [8, 59], [8, 74]]},
      {"file": "forward/scan.py", "lines": [[0, 93], [0, 0], [4, 88], [4, 89], [4, 88], [0, 0], [0, 96], [0, 100], [0, 93], [0, 72], [0, 0], [0, 44], [0, 3], [0, 0], [0, 34], [0, 0], [0, 13], [0, 28], [0, 0], [0, 54], [0, 25], [0, 0], [0, 74], [0, 23], [4, 12], [4, 86], [4, 16], [0, 1], [0, 100], [0, 51], [0, 22], [4, 82], [0, 1], [0, 35], [0, 76], [0, 0], [0, 0], [0, 11], [0, 19], [4, 91], [0, 2], [4, 87], [4, 26], [4, 24], [4, 24], [4, 26], [4, 26], [4, 40], [4, 23], [4, 36], [4, 44], [4, 28], [4, 28], [4, 87], [4, 64], [4, 52], [4, 82], [4, 37], [0, 0], [4, 82], [4, 42], [4, 51], [4, 14], [8, 87], [8, 50], [8, 57], [8, 86], [0, 0], [4, 20], [4, 18], [4, 67], [4, 44], [4, 19], [8, 23], [8, 88], [8, 25], [4, 78], [0, 0], [4, 14], [8, 21], [8, 72], [8, 69], [8, 31], [8, 11], [12, 55], [8, 5], [12, 19], [12, 83], [0, 0], [4, 72], [4, 35], [4, 78], [0, 0], [0, 0], [0, 11], [0, 60], [4, 24], [4, 26], [4, 24], [4, 24], [4, 24], [4, 26], [4, 34], [4, 41], [4, 44], [4, 42], [4, 15], [4, 19], [4, 27], [4, 76], [4, 85], [4, 10], [4, 11], [4, 14], [8, 39], [8, 70], [8, 20], [0, 0], [4, 43], [4, 38], [4, 73], [4, 35], [4, 39], [4, 14], [8, 77], [0, 0], [4, 25], [4, 14], [8, 53], [12, 18], [12, 14], [16, 44], [16, 74], [16, 58], [16, 12], [12, 14], [12, 75], [4, 56], [8, 18], [8, 14], [12, 63], [12, 74], [12, 58], [12, 43], [8, 14], [8, 76], [4, 21], [4, 12], [8, 14], [12, 63], [12, 74], [12, 58], [12, 43], [8, 14], [8, 30], [8, 80], [4, 57]]},
    ],
    // forward, from the source: end
  }, backward: {
    // backward, from the source: begin
    equations: [
      {"key": "state", "formula": "S′ = γ_C S + Eᵀ D_→ K", "role": "state", "says": "the chunks' states, computed again"},
      {"key": "delta", "formula": "E = L B (V − D_γ K Sᵀ)", "role": "error", "says": "the corrections, computed again, twice"},
      {"key": "Gamma", "formula": "Γ_ri = 2^(ĉ_r − ĉ_i)", "role": "decay", "says": "the decay from token i to token r"},
      {"key": "order", "formula": "dS = dS′ Fᵀ + …, last chunk first", "role": "quiet", "says": "a state's gradient waits for later chunks"},
      {"key": "solve", "formula": "Z = Lᵀ (Pᵀ dO + D_→ K dS′ᵀ)", "role": "error", "says": "back through the solve"},
      {"key": "dstate", "formula": "dS = γ_C dS′ + (D_γ dO)ᵀ Q − …", "role": "state", "says": "the gradient of the state before the chunk"},
      {"key": "dv", "formula": "dV = B Z", "role": "value", "says": "the values' gradient, in the place of Z"},
      {"key": "pairs", "formula": "X = Γ ⊙ dO Eᵀ,  N = −B tril(Γ ⊙ Z Eᵀ)", "role": "key", "says": "one number per pair of tokens"},
      {"key": "dq", "formula": "dQ = D_γ dO S + X K", "role": "query", "says": "the queries' gradient"},
      {"key": "dk", "formula": "dK = … + Xᵀ Q + (N + Nᵀ) K", "role": "key", "says": "both roles of a key in one product"},
      {"key": "dbeta", "formula": "dβ: row sums of Z ⊙ R − Y ⊙ K Kᵀ", "role": "error", "says": "the strengths' gradient, no division"},
      {"key": "dg", "formula": "dg: all that crosses a token", "role": "decay", "says": "the decays' gradient, nothing cancels"},
      {"key": "group", "formula": "dq, dk: sums over value heads", "role": "quiet", "says": "one program, one order, no atomics"},
    ],
    lines: [
      {"file": "backward/states.py", "line": 48, "text": "read = gamma * tl.dot(S.to(dtype), tl.trans(k), input_precision=PRECISION)", "eq": "delta", "says": "What the keys read from the state, transposed as in the forward kernel."},
      {"file": "backward/states.py", "line": 49, "text": "residual = beta * (tl.trans(v).to(tl.float32) - read)", "eq": "delta", "says": "Here beta is applied explicitly, because the inverse in memory is without it."},
      {"file": "backward/states.py", "line": 50, "text": "E = tl.dot(residual.to(T_inv.dtype), tl.trans(T_inv), input_precision=PRECISION)", "eq": "delta", "says": "One product does the solve. E stays in registers; kernel 3 computes it again."},
      {"file": "backward/states.py", "line": 53, "text": "S = S * tl.exp2(c_C.to(tl.float32))", "eq": "state", "says": "The old state decays over the whole chunk, in float32."},
      {"file": "backward/states.py", "line": 54, "text": "return tl.dot((to_end * E).to(dtype), k, acc=S, input_precision=PRECISION)", "eq": "state", "says": "All writes of the chunk are added to it."},
      {"file": "backward/states.py", "line": 86, "text": "for j in tl.range(0, chunks - 1, num_stages=case.STAGES):", "eq": "state", "says": "All chunks but the last, whose final state the forward pass has already returned."},
      {"file": "backward/state_gradients.py", "line": 58, "text": "stretch = (c[:, None] - c[None, :]).to(tl.float32)", "eq": "Gamma", "says": "The log-decay between any two tokens of the chunk; rows are the later ones."},
      {"file": "backward/state_gradients.py", "line": 59, "text": "Gamma = tl.exp2(tl.where((i <= r) & (r < left), stretch, float(\"-inf\")))", "eq": "Gamma", "says": "The mask goes into the exponent."},
      {"file": "backward/state_gradients.py", "line": 60, "text": "scores = (scale * Gamma * tl.dot(q, tl.trans(k), input_precision=PRECISION)).to(dtype)", "eq": "solve", "says": "P, the scores once more: 2 C² d FLOPs, cheaper than C numbers per token from memory."},
      {"file": "backward/state_gradients.py", "line": 63, "text": "dE = to_end * tl.dot(dS.to(dtype), tl.trans(k), input_precision=PRECISION)", "eq": "solve", "says": "The corrections' gradient through the next state; dS′ is on the left, in registers."},
      {"file": "backward/state_gradients.py", "line": 64, "text": "dE = tl.dot(do, scores, acc=dE, input_precision=PRECISION)", "eq": "solve", "says": "Adds their gradient through the outputs."},
      {"file": "backward/state_gradients.py", "line": 66, "text": "Z = tl.dot(dE.to(dtype), T_inv.to(dtype), acc=lost, input_precision=PRECISION)", "eq": "solve", "says": "The transposed solve as one product; L in the gradients' type, which has their range."},
      {"file": "backward/state_gradients.py", "line": 68, "text": "dV = (factor(beta) * Z).to(dtype)", "eq": "dv", "says": "dV = B Z, rounded once. Where beta is small, Z itself is stored for kernel 3."},
      {"file": "backward/state_gradients.py", "line": 75, "text": "dS = dS * tl.exp2(c_C.to(tl.float32))", "eq": "dstate", "says": "The gradient decays over the chunk, as the state does."},
      {"file": "backward/state_gradients.py", "line": 76, "text": "dS = tl.dot((scale * gamma * do).to(dtype), q, acc=dS, input_precision=PRECISION)", "eq": "dstate", "says": "The state's gradient through the chunk's outputs."},
      {"file": "backward/state_gradients.py", "line": 77, "text": "return tl.dot((-gamma * beta * Z).to(dtype), k, acc=dS, input_precision=PRECISION)", "eq": "dstate", "says": "Minus the part that the chunk's keys, which read the state, overwrite."},
      {"file": "backward/state_gradients.py", "line": 110, "text": "at = begin + (chunks - 1) * C", "eq": "order", "says": "It begins with the last chunk, which may be short."},
      {"file": "backward/state_gradients.py", "line": 124, "text": "at = begin + (full - 1 - j) * C", "eq": "order", "says": "Then whole chunks, from the last to the first."},
      {"file": "backward/state_gradients.py", "line": 134, "text": "tl.store(given.dS_first_ptr + S_at, dS, mask=S_valid)", "eq": "order", "says": "After the first chunk this is the gradient of the initial state."},
      {"file": "backward/chunk_gradients.py", "line": 94, "text": "dq = tl.zeros((C, BK), tl.float32)", "eq": "group", "says": "Two sums, in registers, for the key head ..."},
      {"file": "backward/chunk_gradients.py", "line": 97, "text": "for hv in range(h * group, (h + 1) * group):", "eq": "group", "says": "... and its value heads one after the other: one order, so the same bits each time."},
      {"file": "backward/chunk_gradients.py", "line": 124, "text": "dv = rest(beta) * Z.to(tl.float32)", "eq": "dv", "says": "What was loaded is dV; for tokens with a small beta it is Z, which is multiplied now."},
      {"file": "backward/chunk_gradients.py", "line": 127, "text": "tl.store(given.dV_ptr + v_at, dv.to(dtype), mask=valid & (beta < LEAST))", "eq": "dv", "says": "Only these are written, over Z. It saves a tensor, but the kernel must run only once."},
      {"file": "backward/chunk_gradients.py", "line": 129, "text": "read = gamma * tl.dot(k, tl.trans(S), input_precision=PRECISION)", "eq": "delta", "says": "What the keys read, computed again; here tokens are rows."},
      {"file": "backward/chunk_gradients.py", "line": 130, "text": "R = v.to(tl.float32) - read", "eq": "delta", "says": "Values minus what was read."},
      {"file": "backward/chunk_gradients.py", "line": 131, "text": "dbeta += row_sums(Z.to(tl.float32) * R)", "eq": "dbeta", "says": "The first part of dβ, slice by slice of the values."},
      {"file": "backward/chunk_gradients.py", "line": 132, "text": "k_reads -= row_sums(dv * read)", "eq": "dg", "says": "What comes from the old state through the keys."},
      {"file": "backward/chunk_gradients.py", "line": 133, "text": "old += tl.sum(S.to(tl.float32) * dS.to(tl.float32))", "eq": "dg", "says": "What goes from the old state to the next."},
      {"file": "backward/chunk_gradients.py", "line": 134, "text": "E = tl.dot(T_inv, (beta * R).to(T_inv.dtype), input_precision=PRECISION)", "eq": "delta", "says": "The corrections for the second time: storing them would cost d_v numbers per token."},
      {"file": "backward/chunk_gradients.py", "line": 137, "text": "dO_E = tl.dot(do, E_T, acc=dO_E, input_precision=PRECISION)", "eq": "pairs", "says": "dO Eᵀ, summed over slices of the values."},
      {"file": "backward/chunk_gradients.py", "line": 138, "text": "Z_E = tl.dot(Z, E_T, acc=Z_E, input_precision=PRECISION)", "eq": "pairs", "says": "Z Eᵀ, from which the gradient of the solve's matrix follows."},
      {"file": "backward/chunk_gradients.py", "line": 139, "text": "dq = tl.dot((scale * gamma * do).to(dtype), S, acc=dq, input_precision=PRECISION)", "eq": "dq", "says": "What the queries read from the old state."},
      {"file": "backward/chunk_gradients.py", "line": 140, "text": "dk = tl.dot((-gamma * dv).to(dtype), S, acc=dk, input_precision=PRECISION)", "eq": "dk", "says": "The key as a reader of the old state."},
      {"file": "backward/chunk_gradients.py", "line": 141, "text": "dk = tl.dot((to_end * E).to(dtype), dS, acc=dk, input_precision=PRECISION)", "eq": "dk", "says": "The key as an address in the next state."},
      {"file": "backward/chunk_gradients.py", "line": 142, "text": "q_reads += row_sums(q.to(tl.float32) * dq)", "eq": "dg", "says": "What this head added to dQ, times q: its reads of the old state. No product of its own."},
      {"file": "backward/chunk_gradients.py", "line": 143, "text": "k_is_read += row_sums(k.to(tl.float32) * dk) - k_reads", "eq": "dg", "says": "The same for dK: what its tokens write to the next state."},
      {"file": "backward/chunk_gradients.py", "line": 146, "text": "Gamma = tl.exp2(tl.where((i <= r) & (r < left), stretch, float(\"-inf\")))", "eq": "Gamma", "says": "Short chunks are masked as well."},
      {"file": "backward/chunk_gradients.py", "line": 147, "text": "X = scale * Gamma * dO_E", "eq": "pairs", "says": "With the diagonal, because a query reads its own token's write."},
      {"file": "backward/chunk_gradients.py", "line": 148, "text": "Y = tl.where(i < r, Gamma * Z_E, 0.0)", "eq": "pairs", "says": "Without the diagonal, because a key does not. N is −B Y."},
      {"file": "backward/chunk_gradients.py", "line": 150, "text": "dbeta = (dbeta - row_sums(Y * overlap)) / factor(beta_t)", "eq": "dbeta", "says": "What earlier tokens had written, by row sums: no product with E."},
      {"file": "backward/chunk_gradients.py", "line": 154, "text": "J = X * tl.dot(q, tl.trans(k), input_precision=PRECISION) + Y * overlap", "eq": "dg", "says": "All that token r reads from token i, in one matrix."},
      {"file": "backward/chunk_gradients.py", "line": 156, "text": "dg = crossings(J, q_reads + k_reads, k_is_read, old, C)", "eq": "dg", "says": "The rectangles of eq-grad-crossing."},
      {"file": "backward/chunk_gradients.py", "line": 160, "text": "dq = tl.dot(X.to(dtype), k, acc=dq, input_precision=PRECISION)", "eq": "dq", "says": "What the queries read of the chunk's own writes."},
      {"file": "backward/chunk_gradients.py", "line": 161, "text": "dk = tl.dot(tl.trans(X.to(dtype)), q, acc=dk, input_precision=PRECISION)", "eq": "dk", "says": "The keys' gradient through the queries that read them."},
      {"file": "backward/chunk_gradients.py", "line": 162, "text": "dk = tl.dot((Y + tl.trans(Y)).to(dtype), k, acc=dk, input_precision=PRECISION)", "eq": "dk", "says": "Y now holds N: both roles of a key, reader and address, in one product."},
      {"file": "backward/chunk_gradients.py", "line": 167, "text": "tl.store(given.dq_ptr + at, dq.to(dtype), mask=valid)", "eq": "group", "says": "Written once, when all heads have been added."},
    ],
    files: [
      {"file": "backward/states.py", "lines": [[0, 83], [0, 0], [4, 88], [4, 88], [0, 0], [0, 83], [0, 0], [0, 44], [0, 3], [0, 0], [0, 34], [0, 0], [0, 13], [0, 28], [0, 0], [0, 66], [0, 0], [0, 94], [0, 25], [4, 14], [4, 81], [0, 1], [0, 95], [0, 95], [0, 35], [0, 67], [0, 0], [0, 0], [0, 11], [0, 80], [4, 48], [4, 24], [4, 26], [4, 26], [4, 40], [4, 36], [4, 87], [4, 92], [4, 54], [4, 19], [4, 94], [4, 54], [4, 37], [4, 42], [4, 51], [0, 0], [4, 20], [4, 74], [4, 53], [4, 80], [0, 0], [4, 68], [4, 35], [4, 74], [0, 0], [0, 0], [0, 11], [0, 64], [4, 24], [4, 26], [4, 24], [4, 24], [4, 24], [4, 26], [4, 29], [4, 41], [4, 36], [4, 36], [4, 42], [4, 19], [4, 76], [4, 75], [4, 52], [0, 0], [4, 43], [4, 38], [4, 35], [4, 39], [4, 14], [8, 81], [8, 77], [0, 0], [4, 40], [4, 28], [4, 32], [4, 57], [8, 80], [8, 24], [8, 18], [8, 16], [12, 75], [12, 88], [8, 14], [8, 53], [4, 83], [8, 80]]},
      {"file": "backward/state_gradients.py", "lines": [[0, 84], [0, 0], [4, 83], [4, 83], [4, 83], [0, 0], [0, 95], [0, 98], [0, 37], [0, 0], [0, 36], [0, 3], [0, 0], [0, 34], [0, 0], [0, 13], [0, 28], [0, 0], [0, 35], [0, 66], [0, 0], [0, 97], [0, 33], [0, 33], [4, 22], [4, 86], [4, 31], [0, 1], [0, 89], [0, 32], [4, 79], [0, 1], [0, 35], [0, 75], [0, 0], [0, 0], [0, 11], [0, 94], [4, 82], [4, 24], [4, 26], [4, 26], [4, 40], [4, 36], [4, 49], [4, 28], [4, 28], [4, 87], [4, 87], [4, 86], [4, 54], [4, 19], [4, 94], [4, 54], [4, 37], [4, 42], [4, 51], [4, 50], [4, 72], [4, 86], [0, 0], [4, 85], [4, 74], [4, 58], [4, 96], [4, 78], [4, 31], [4, 33], [4, 11], [8, 57], [4, 5], [8, 91], [0, 0], [4, 15], [4, 37], [4, 81], [4, 82], [0, 0], [0, 0], [0, 11], [0, 75], [4, 24], [4, 26], [4, 24], [4, 24], [4, 24], [4, 26], [4, 31], [4, 41], [4, 36], [4, 36], [4, 42], [4, 19], [4, 76], [4, 75], [4, 52], [0, 0], [4, 43], [4, 38], [4, 63], [4, 35], [4, 40], [4, 15], [8, 84], [8, 81], [0, 0], [4, 32], [4, 52], [4, 28], [4, 29], [4, 16], [8, 25], [8, 83], [8, 13], [12, 63], [12, 75], [12, 57], [12, 44], [8, 14], [8, 30], [8, 78], [4, 25], [4, 51], [8, 31], [8, 25], [8, 83], [8, 13], [12, 63], [12, 75], [12, 57], [12, 44], [8, 14], [8, 74], [4, 53]]},
      {"file": "backward/chunk_gradients.py", "lines": [[0, 71], [0, 0], [4, 88], [4, 63], [4, 83], [4, 81], [7, 63], [4, 82], [4, 86], [0, 0], [0, 93], [0, 84], [0, 96], [0, 98], [0, 86], [0, 0], [0, 36], [0, 3], [0, 0], [0, 34], [0, 0], [0, 13], [0, 28], [0, 0], [0, 48], [0, 80], [0, 0], [0, 0], [0, 11], [0, 16], [4, 24], [0, 0], [0, 0], [0, 11], [0, 45], [4, 87], [0, 0], [4, 93], [4, 3], [4, 28], [4, 28], [4, 53], [4, 70], [4, 65], [0, 0], [0, 0], [0, 95], [0, 27], [0, 33], [4, 22], [4, 78], [4, 64], [0, 1], [0, 100], [0, 40], [0, 32], [4, 69], [0, 1], [0, 0], [0, 0], [0, 11], [0, 75], [4, 24], [4, 26], [4, 24], [4, 24], [4, 24], [4, 26], [4, 26], [4, 40], [4, 40], [4, 29], [4, 14], [8, 20], [8, 75], [8, 26], [8, 60], [8, 25], [4, 5], [8, 36], [8, 26], [12, 72], [8, 1], [4, 46], [4, 13], [8, 6], [0, 0], [4, 36], [4, 19], [4, 29], [4, 26], [4, 63], [4, 63], [4, 34], [4, 34], [0, 0], [4, 44], [8, 30], [8, 82], [8, 22], [8, 44], [8, 61], [8, 44], [8, 42], [8, 51], [8, 66], [0, 0], [8, 35], [8, 34], [8, 34], [8, 42], [8, 36], [8, 44], [8, 9], [8, 30], [8, 34], [8, 48], [12, 20], [12, 81], [12, 83], [12, 82], [12, 82], [12, 84], [12, 34], [12, 66], [12, 57], [12, 72], [0, 0], [12, 64], [12, 27], [12, 39], [12, 30], [12, 51], [12, 72], [0, 0], [12, 27], [12, 59], [12, 56], [12, 81], [12, 74], [12, 74], [8, 42], [8, 54], [0, 0], [8, 50], [8, 72], [8, 24], [8, 37], [8, 59], [8, 56], [8, 56], [8, 19], [8, 14], [12, 71], [12, 34], [12, 55], [12, 50], [0, 0], [8, 59], [8, 62], [8, 72], [8, 78], [0, 0], [4, 31], [4, 29], [4, 30], [4, 53], [4, 53]]},
    ],
    // backward, from the source: end
  } };
  const { equations, lines, files } = sources[host.parentElement.dataset.kernels || "forward"];
  const state = { line: null, eq: null };
  host.classList.add("gdn-wide");
  // The strip is drawn at its own size: a finger finds the marker on a phone, too.
  const wide = Math.max(320, host.clientWidth), high = 70;
  const left = 16, rows = files.map((_, row) => 30 + high * row);
  const step = (wide - 2 * left) / Math.max(...files.map(({ lines: shapes }) => shapes.length));
  const drawing = GDN.canvas(host, wide, 8 + high * files.length, "Every line of the kernels");
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
  const marker = GDN.svg(drawing, "g");
  GDN.svg(marker, "rect", { x: -13, y: -5, width: 26, height: 26, fill: "transparent" });
  GDN.svg(marker, "path", { d: "M0,0 L-7,12 L7,12 Z", fill: "var(--gdn-ink)" });

  // The two columns.
  const columns = GDN.html(drawing.parentElement, "div", { class: "gdn-listed" });
  const leftColumn = GDN.html(columns, "div", { role: "group", "aria-label": "equations" });
  const code = GDN.html(columns, "div", { class: "gdn-lines", role: "group", tabindex: 0,
    "aria-label": "lines of the kernels" });
  const read = GDN.readout(host);

  const buttons = equations.map((equation) => {
    const button = GDN.html(leftColumn, "button", { type: "button", class: "gdn-button",
      "aria-pressed": "false", style: `border-left: 4px solid ${colour(equation.key)}` });
    GDN.write(button, equation.formula);
    button.addEventListener("click", () => {
      state.eq = state.eq === equation.key && state.line === null ? null : equation.key;
      state.line = null;
      draw(true);
    });
    return button;
  });

  let heading = "";
  lines.forEach((entry, n) => {
    if (entry.file !== heading) {
      heading = entry.file;
      GDN.html(code, "p", { class: "gdn-file" }, heading);
    }
    entry.node = GDN.html(code, "div");
    GDN.html(entry.node, "span", {}, `${entry.line}`);
    GDN.html(entry.node, "code", {}, entry.text);
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
      entry.node.style.fontWeight = here ? "700" : "400";
      entry.node.style.opacity = state.eq === null || lit(entry) ? "1" : "0.6";
    });
    buttons.forEach((button, n) => {
      const on = equations[n].key === state.eq;
      button.setAttribute("aria-pressed", String(on));
    });
    const at = lines[state.line ?? Math.max(0, lines.findIndex(lit))];
    marker.setAttribute("transform", `translate(${at.x},${at.y + 26})`);
    if (scroll && state.eq !== null) code.scrollTop = at.node.offsetTop - 60;
    GDN.write(read, explain());
    GDN.say(marker, lines.indexOf(at), explain());
  };

  GDN.drag(drawing, marker, "line of the kernels", ([x, y]) => {
    const row = files[Math.max(0, Math.min(files.length - 1, Math.floor((y - 12) / high)))].file;
    const distance = (entry) => Math.abs(entry.x - x) + (entry.file === row ? 0 : 1000);
    choose(lines.reduce((best, entry, n) =>
      (distance(entry) < distance(lines[best]) ? n : best), 0), true);
  }, ([dx, dy]) => choose(state.line === null ? lines.findIndex(({ eq }) => eq === state.eq) + 1
    : state.line + dx - dy, true));
  marker.setAttribute("aria-valuemin", 0);
  marker.setAttribute("aria-valuemax", lines.length - 1);
  draw(false);
});
