"""Which line of the backward kernels carries which equation; data of the figure `equation-lines`.

`python -m gdn_ref.figures.ch16_lines` writes it into book/_static/figures/equation-lines.js; a test
fails when figure and source differ.
"""

from .equation_lines import Source

FILES = ("backward/states.py", "backward/state_gradients.py", "backward/chunk_gradients.py")

EQUATIONS = {  # key: formula, colour role, what it says
    "state": ("S′ = γ_C S + Eᵀ D_→ K", "state", "the chunks' states, computed again"),
    "delta": ("E = L B (V − D_γ K Sᵀ)", "error", "the corrections, computed again, twice"),
    "Gamma": ("Γ_ri = 2^(ĉ_r − ĉ_i)", "decay", "the decay from token i to token r"),
    "order": (
        "dS = dS′ Fᵀ + …, last chunk first",
        "quiet",
        "a state's gradient waits for later chunks",
    ),
    "solve": ("Z = Lᵀ (Pᵀ dO + D_→ K dS′ᵀ)", "error", "back through the solve"),
    "dstate": (
        "dS = γ_C dS′ + (D_γ dO)ᵀ Q − …",
        "state",
        "the gradient of the state before the chunk",
    ),
    "dv": ("dV = B Z", "value", "the values' gradient, in the place of Z"),
    "pairs": ("X = Γ ⊙ dO Eᵀ,  N = −B tril(Γ ⊙ Z Eᵀ)", "key", "one number a pair of tokens"),
    "dq": ("dQ = D_γ dO S + X K", "query", "the queries' gradient"),
    "dk": ("dK = … + Xᵀ Q + (N + Nᵀ) K", "key", "both roles of a key in one product"),
    "dbeta": ("dβ: row sums of Z ⊙ R − Y ⊙ K Kᵀ", "error", "the strengths' gradient, no division"),
    "dg": ("dg: all that crosses a token", "decay", "the decays' gradient, nothing cancels"),
    "group": ("dq, dk: value heads add up", "quiet", "one program, one order, no atomics"),
}

S, G, A = FILES
LINES = (  # file, the words by which the line is found, equation, what it does
    (S, "read = gamma * tl.dot(S.to(dtype)", "delta",
     "What the keys read of the state; as in the forward kernel, on its side."),
    (S, "residual = beta * (tl.trans(v)", "delta",
     "Here beta is applied by hand: the inverse in memory is without it."),
    (S, "E = tl.dot(residual.to(T_inv.dtype)", "delta",
     "One product does the solve. E stays in registers; kernel 3 computes it again."),
    (S, "S = S * tl.exp2(c_C", "state", "The old state fades over the whole chunk, in float32."),
    (S, "return tl.dot((to_end * E)", "state", "All writes of the chunk are added to it."),
    (S, "for j in tl.range(0, chunks - 1", "state",
     "One chunk less than there are: what the last makes of its state, the forward pass returned."),
    (G, "stretch = (c[:, None] - c[None, :])", "Gamma",
     "The log-decay between any two tokens of the chunk; rows are the later ones."),
    (G, "Gamma = tl.exp2(tl.where((i <= r) & (r < left)", "Gamma",
     "The mask goes into the exponent."),
    (G, "scores = (scale * Gamma *", "solve",
     "P, the scores once more: 2 C² d FLOPs, cheaper than C numbers a token from memory."),
    (G, "dE = to_end * tl.dot(dS.to(dtype)", "solve",
     "What the next state asks of the corrections; dS′ stands on the left, in registers."),
    (G, "dE = tl.dot(do, scores, acc=dE", "solve", "What the outputs ask is added."),
    (G, "Z = tl.dot(dE.to(dtype), T_inv.to(dtype)", "solve",
     "The transposed solve as one product; L in the gradients' type, which has their range."),
    (G, "dV = (factor(beta) * Z).to(dtype)", "dv",
     "dV = B Z, rounded once. Where beta is small Z itself goes to memory, to be found again."),
    (G, "dS = dS * tl.exp2(c_C", "dstate", "The gradient fades over the chunk, as the state does."),
    (G, "dS = tl.dot((scale * gamma * do)", "dstate", "What the chunk's outputs ask of the state."),
    (G, "return tl.dot((-gamma * beta * Z)", "dstate",
     "Less what the chunk's keys, which read the state, overwrite."),
    (G, "at = begin + (chunks - 1) * C", "order",
     "It begins with the last chunk, which may be short."),
    (G, "at = begin + (full - 1 - j) * C", "order",
     "Then whole chunks, from the end to the front."),
    (G, "tl.store(dS_first_ptr + S_at, dS", "order",
     "What is left after the first chunk is the gradient of the initial state."),
    (A, "dv = rest(beta) * Z.to(tl.float32)", "dv",
     "Loaded was dV, but for tokens with a small beta: theirs is still to be multiplied."),
    (A, "tl.store(dV_ptr + v_at, dv.to(dtype)", "dv",
     "Theirs alone is written, over Z: no second tensor, and no second launch on the same data."),
    (A, "read = gamma * tl.dot(k, tl.trans(S)", "delta",
     "What the keys read, once more; here tokens are rows."),
    (A, "R = v.to(tl.float32) - read", "delta", "Values less what was read."),
    (A, "E = tl.dot(T_inv, (beta * R)", "delta",
     "The corrections for the second time: storing them would cost d_v numbers a token."),
    (A, "dbeta += row_sums(Z.to(tl.float32) * R)", "dbeta",
     "The first part of dβ, slice by slice of the values."),
    (A, "k_reads -= row_sums(dv * read)", "dg",
     "What comes from the old state by way of the keys."),
    (A, "old += tl.sum(S.to(tl.float32) * dS", "dg", "What goes from the old state to the next."),
    (A, "dO_E = tl.dot(do, E_T", "pairs", "dO Eᵀ, summed over slices of the values."),
    (A, "Z_E = tl.dot(Z, E_T", "pairs", "Z Eᵀ: all that is needed of the solve's matrix."),
    (A, "dq = tl.dot((scale * gamma * do)", "dq", "What the queries find in the old state."),
    (A, "dk = tl.dot((-gamma * dv).to(dtype), S", "dk", "The key as a reader of the old state."),
    (A, "dk = tl.dot((to_end * E).to(dtype), dS", "dk", "The key as an address in the next state."),
    (A, "q_reads += row_sums(q.to(tl.float32) * dq)", "dg",
     "What this head added to dQ, times q: its reads of the old state. No product of its own."),
    (A, "k_is_read += row_sums(k.to(tl.float32) * dk)", "dg",
     "The same of dK: what its tokens leave to the next state."),
    (A, "Gamma = tl.exp2(tl.where((i <= r) & (r < left)", "Gamma",
     "Short chunks are masked as well."),
    (A, "X = scale * Gamma * dO_E", "pairs", "With its diagonal: a query sees its own token."),
    (A, "Y = tl.where(i < r, Gamma * Z_E, 0.0)", "pairs", "Without: a key does not. N is −B Y."),
    (A, "dbeta = (dbeta - row_sums(Y * overlap)) / factor(beta_t)", "dbeta",
     "What earlier tokens had written, by row sums: no product with E."),
    (A, "J = X * tl.dot(q, tl.trans(k)", "dg",
     "All that token r gets from token i, in one matrix."),
    (A, "dg = crossings(J, q_reads + k_reads", "dg", "The rectangles of eq-grad-crossing."),
    (A, "dq = tl.dot(X.to(dtype), k, acc=dq", "dq", "What they find of the chunk's own writes."),
    (A, "dk = tl.dot(tl.trans(X.to(dtype)), q", "dk", "What queries ask of the keys they read."),
    (A, "dk = tl.dot((Y + tl.trans(Y)).to(dtype), k", "dk",
     "Y holds N by now: reader and address in one product."),
    (A, "dq = tl.zeros((C, BK), tl.float32)", "group",
     "Two sums, in registers, for the key head ..."),
    (A, "for hv in range(h * group, (h + 1) * group)", "group",
     "... and its value heads one after the other: one order, so the same bits each time."),
    (A, "tl.store(dq_ptr + at, dq.to(dtype)", "group",
     "Written once, when all heads have been added."),
)  # fmt: skip

BACKWARD = Source("backward", FILES, EQUATIONS, LINES)

if __name__ == "__main__":
    BACKWARD.write()
