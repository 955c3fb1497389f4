"""Which line of the forward kernels carries which equation; data of the figure `equation-lines`.

`python -m gdn_ref.figures.ch15_lines` writes it into book/_static/figures/equation-lines.js; a test
fails when figure and source differ.
"""

from .equation_lines import Source

FILES = ("forward/transform.py", "forward/scan.py")

EQUATIONS = {  # key: formula, colour role, what it says
    "slot": ("slot = ⌊b/C⌋ + n + j", "quiet", "chunk j of sequence n has a slot of its own"),
    "address": ("k[t, h, d] at (tH + h)K + d", "quiet", "where memory keeps an element"),
    "padding": ("k, v, g, β = 0 past the end", "quiet", "missing tokens change nothing"),
    "c": ("ĉ = g₁ + … + g_r, base 2", "decay", "cumulative log-decays"),
    "Gamma": ("Γ_ri = 2^(ĉ_r − ĉ_i)", "decay", "the decay from token i to token r"),
    "A": ("A_ri = β_r Γ_ri k_r·k_i", "key", "what token r reads of token i's write"),
    "inverse": ("(I + A)⁻¹, in blocks", "first", "the solve, for every right-hand side at once"),
    "UT": ("T = (I + A)⁻¹ B", "first", "the UT transform, all that goes to memory beside ĉ"),
    "delta": ("Eᵀ = (Vᵀ − S Kᵀ D_γ) Tᵀ", "error", "the corrections of the chunk"),
    "output": ("Oᵀ = S Qᵀ D_γ + Eᵀ (Γ ⊙ QKᵀ)ᵀ", "query", "the outputs of the chunk"),
    "state": ("S′ = γ_C S + (Eᵀ D_→) K", "state", "the state that the next chunk receives"),
    "slices": ("rows of S are independent", "state", "a program may own some of them"),
    "shares": ("silent before its own share", "quiet", "several programs share a sequence"),
}

T, S = FILES
LINES = (  # file, the words by which the line is found, equation, what it does
    (T, "start, end = chunk_bounds(", "slot",
     "Finds the program's tokens: its number is a slot, and a slot has one chunk or none."),
    (T, "left = tl.minimum(end - start, C)", "padding",
     "How many tokens the chunk has: the last chunk of a sequence may be short."),
    (T, "k_ptr = given.k_ptr + (start * H + h) * K", "address",
     "Moves the pointer to the chunk's first token and to our key head; rows are H K apart."),
    (T, "same = overlap(k_ptr, first, first, 16", "A",
     "Products of keys inside each block of 16 tokens. No decay yet: value heads share them."),
    (T, "pairs = overlap(", "A",
     "Products of the second block of each pair with the first; none above the diagonal."),
    (T, "halves = overlap(", "A",
     "Products of tokens 33 to 64 with tokens 1 to 32, as one block of 32 by 32."),
    (T, "beta = tl.load(given.beta_ptr + at", "padding",
     "Write strengths in float32; a missing token gets 0, so its row and column of T are 0."),
    (T, "g_log2 = tl.load(given.g_ptr + at", "c",
     "Natural logs become base 2, because the GPU has an instruction for powers of two."),
    (T, "c = tl.cumsum(", "c",
     "The running sum. A decay below 2^-160 counts as 2^-160, so ĉ stays finite through resets."),
    (T, "tl.store(given.c_ptr + at + t, c", "c",
     "The first of two results, one number per token, which kernel 2 reads."),
    (T, "stretch = (c_16[:, None, :]", "Gamma",
     "The log-decay between two tokens of a block, as a difference; rows and columns swapped."),
    (T, "Gamma = tl.exp2(tl.where(r < i", "Gamma",
     "The mask goes into the exponent: 2^-inf is 0, and nothing overflows before it is hidden."),
    (T, "T_inv = solve_rows(beta_16", "inverse",
     "All blocks of 16 at once, row by row: 15 steps in a row, on numbers in registers."),
    (T, "A21 = beta_late[:, :, None] * decay(c_late, c_early) * pairs", "A",
     "What the late block of a pair reads of the early one; strictly below, so no mask."),
    (T, "T_inv = join_pairs(T_inv, A21, C // 32, 16", "inverse",
     "Two blocks of 16 become one of 32: −T₂₂ A₂₁ T₁₁ goes below the diagonal."),
    (T, "A21 = beta_late[:, :, None] * decay(c_late, c_early) * halves", "A",
     "The same for the two halves of the chunk."),
    (T, "T_inv = join_pairs(T_inv, A21, 1, 32", "inverse",
     "Two blocks of 32 become the whole chunk: 19 dependent steps in all, in place of 63."),
    (T, "UT *= beta[None, :]", "UT",
     "Multiplies columns by β, so that it applies to values and reads without β."),
    (T, "tl.store(UT_at, UT", "UT",
     "The second result: C numbers per token. Rows of missing tokens are not written."),
    (S, "k = load_tile(chunk.k_ptr", "padding",
     "The chunk's keys, tokens as rows; beyond the last token and dimension zeros."),
    (S, "gamma = tl.exp2(", "c",
     "The decay from the state before the chunk to each token, laid out as a row."),
    (S, "to_end = tl.exp2(", "state",
     "The decay from each token to the end of the chunk: the last row of Γ."),
    (S, "stretch = (c[None, :] - c[:, None])", "Gamma",
     "The log-decay between any two tokens, transposed: columns are the later tokens."),
    (S, "Gamma = tl.exp2(tl.where(i <= r", "Gamma",
     "This time with the diagonal, because a query reads its own token's write."),
    (S, "scores = (scale * Gamma *", "output",
     "Scores, transposed. They need no state, so they can be computed while the state waits."),
    (S, "S_in = S.to(dtype)", "delta",
     "A 16-bit copy of the state for the tensor cores; the float32 state stays as it is."),
    (S, "read = gamma * tl.dot(S_in", "delta",
     "All keys read the old state at once; S stands on the left, where registers may feed it."),
    (S, "residual = tl.trans(v)", "delta",
     "Value minus read: the correction each token would make if it were alone in the chunk."),
    (S, "delta = tl.dot(residual", "delta",
     "One product does the whole solve. The residual, just computed, is the left operand."),
    (S, "o = scale * gamma * tl.dot(S_in", "output",
     "What the queries read from the old state."),
    (S, "o = tl.dot(delta.to(dtype), scores", "output",
     "Adds what they read of the chunk's own writes; delta is again on the left."),
    (S, "o.to(dtype), mask=(dim < V_left)", "padding",
     "Outputs of missing tokens are not written, because the next sequence begins there."),
    (S, "S = S * tl.exp2(c_C", "state",
     "The old state decays over the whole chunk, in float32."),
    (S, "return tl.dot((to_end * delta)", "state",
     "Adds all writes at once. The decay multiplies delta, which is in registers already."),
    (S, "first_v = (tl.program_id(0) % slices) * BV", "slices",
     "Which rows of the state this program owns."),
    (S, "tokens, silent, last = share(", "shares",
     "Where heads are few: the token up to which this program goes, and its first output."),
    (S, "for j in tl.range(0, silent", "shares",
     "Before its own chunks it only updates the state, without queries and outputs."),
    (S, "for j in tl.range(silent, full", "slot",
     "Chunk after chunk: here the order matters, so this is a loop and not a grid."),
    (S, "tl.store(given.S_last_ptr + S_at", "shares",
     "Of programs that share a sequence, the one that reaches its end writes the last state."),
)  # fmt: skip


FORWARD = Source("forward", FILES, EQUATIONS, LINES)

if __name__ == "__main__":
    FORWARD.write()
