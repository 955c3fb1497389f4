"""Chapter 23: the family, as it is printed."""

from functools import cache

import numpy as np

from ...family import general_rule, two_gates
from . import cases
from .check import printed
from .draws import gradient
from .values import Family, Refused, columns, entries, listed
from .world import World

LOOP = "the token loop"


def after_token(draw, S, D, a, b, u, k):
    """The state after one token: by the package in float64, by the same line otherwise."""
    if draw.exact:
        return S * D - np.outer(S @ a, b) + np.outer(u, k)
    return general_rule.step(S, k, k, u, a, b, np.log(D))[1]


def run(draw, D, q, k, u, a, b, S):
    """The letters of the chapter for any vectors, from the loop over the tokens."""
    one, T = S[0] * 0 + 1, len(k)
    states = [S]
    for t in range(T):
        states.append(after_token(draw, states[-1], D[t], a[t], b[t], u[t], k[t]))
    fades = [[one] * (T + 1)]  # of a row that was written after token i, to token t
    for t in range(T):
        fades.append([x * D[t] if i <= t else one for i, x in enumerate(fades[-1])])

    def diagonal(*at):
        t, i = at if len(at) == 2 else (at[0], at[0] - 1)
        if not 0 <= i <= t <= T:
            raise Refused(f"no decay from token {i} to token {t}")
        return np.diag(fades[t][i])

    def seen(x, y, late):
        """What `y` reads of a row `x` of each token before: token t sees states[t - late]."""
        return np.array(
            [
                [(x[i] * fades[t + 1 - late][i + 1]) @ y[t] if i <= t - late else 0 * x[0, 0]
                 for i in range(T)]
                for t in range(T)
            ]
        )  # fmt: skip

    reads = np.array([states[t] @ a[t] for t in range(T)])
    outputs = np.array([states[t + 1] @ q[t] for t in range(T)])
    old = [S * x[0] for x in fades]  # the old state if nobody erased or wrote
    A, P = ({"b": seen(b, y, late), "k": seen(k, y, late)} for y, late in ((a, 1), (q, 0)))
    letters = {
        "C": T, r"\mathbf{S}": S, r"\mathbf{S}_": listed(states, 0), r"\mathbf{S}'": states[-1],
        r"\mathbf{D}_": Family(diagonal), r"\boldsymbol{a}_": columns(a),
        r"\boldsymbol{b}_": columns(b), r"\boldsymbol{k}_": columns(k),
        r"\boldsymbol{q}_": columns(q), r"\boldsymbol{u}_": columns(u),
        r"\boldsymbol{o}_": columns(outputs), r"\boldsymbol{r}_": columns(reads),
        r"\mathbf{R}": reads, r"\mathbf{U}": u, r"\mathbf{O}": outputs,
        r"\mathbf{E}": u - reads, r"\mathbf{K}": k,
        r"\mathbf{R}_0": np.array([old[t] @ a[t] for t in range(T)]),
        r"\mathbf{O}_0": np.array([old[t + 1] @ q[t] for t in range(T)]),
        r"\mathbf{K}_\rightarrow": np.array([k[i] * fades[T][i + 1] for i in range(T)]),
        r"\mathbf{B}_\rightarrow": np.array([b[i] * fades[T][i + 1] for i in range(T)]),
    }  # fmt: skip
    for name in "bk":
        letters |= {
            rf"\mathbf{{A}}^{name}": A[name], rf"A^{name}_": entries(A[name]),
            rf"\mathbf{{P}}^{name}": P[name], rf"P^{name}_": entries(P[name]),
        }  # fmt: skip
    tokens = range(1, T + 1)
    return World(letters, ranges={"t": tokens, "i": tokens, "m": tokens, "j": tokens})


def vectors(draw):
    """Vectors of a draw, and decays: in one draw one channel drops what it held."""
    T, d_k, d_v = cases.sizes(draw)
    q, k, a, b = (cases.of_rank(draw, n, draw.array(T, d_k)) for n in (1, 2, 3, 1))
    D = cases.hardly_kept(draw, draw.between(0.4, 0.95, T, d_k))
    if cases.case(draw) == cases.DEPENDENT:
        D[1, 0], D[2, 1] = 0 * D[1, 0], 0 * D[2, 1] + 1
    return D, q, k, cases.values(draw, T, d_v), a, b, cases.state(draw, d_v, d_k)


@cache
def family(draw):
    """The general rule: what is read, erased and written are vectors of their own."""
    return run(draw, *vectors(draw.anew(3)))


@cache
def family_of_few(draw):
    """The same for few tokens."""
    *tokens, S = vectors(draw.anew(3))
    return run(draw, *cases.few(*tokens), S)


@cache
def erased_where_written(draw):
    """The same with `b = k`."""
    D, q, k, u, a, _, S = vectors(draw.anew(3))
    return run(draw, D, q, k, u, a, k, S)


printed("eq-family-recurrence", family, against=LOOP, defines=True)
printed("eq-family-join", family_of_few, against="products of the decays, token by token")
printed("eq-family-interaction", family, against="rows that fade, token by token", defines=True)
printed("eq-family-unrolled", lambda draw: family(draw).from_zero("t"), against=LOOP)
printed("eq-family-read eq-family-output eq-family-state", family, against=LOOP)
SAME = "what is erased is what is written, b = k"
printed(
    "eq-family-merged",
    erased_where_written,
    against=LOOP,
    needs={"what is erased to be what is written": family},
    equal={
        r"\mathbf{A}^{b} for \mathbf{A}^{k}": SAME,
        r"\mathbf{P}^{b} for \mathbf{P}^{k}": SAME,
        r"\mathbf{B}_{\rightarrow} for \mathbf{K}_{\rightarrow}": SAME,
    },
)
printed(
    "eq-family-split",
    family_of_few,
    against="products of the decays, token by token",
    anything=r"\boldsymbol{k} \boldsymbol{q}",
)


@cache
def one_decay(draw):
    """Gated DeltaNet: one decay for all channels, and `a = alpha beta k`, `b = k`."""
    draw = draw.anew(3)
    T, d_k, d_v = cases.sizes(draw)
    alpha, beta = cases.decays(draw, T), cases.strengths(draw, T)
    k = cases.keys(draw, T, d_k)
    q, v, S = cases.queries(draw, k), draw.array(T, d_v), cases.state(draw, d_v, d_k)
    D, a = alpha[:, None] + 0 * k, (alpha * beta)[:, None] * k
    world = run(draw, D, q, k, beta[:, None] * v, a, k, S)
    Gamma = np.array([[np.prod(alpha[i + 1 : t + 1]) if i <= t else 0 * alpha[0]
                       for i in range(T)] for t in range(T)])  # fmt: skip
    return world.with_letters({r"\beta_": entries(beta), r"\Gamma_": entries(Gamma),
                               r"\alpha_": entries(alpha)})  # fmt: skip


printed("eq-family-gdn", one_decay, against="rows that fade, token by token")


@cache
def gates(draw):
    """Two gates: decay, read with the gated key, erase along the key, write the gated value."""
    draw = draw.anew(3)
    T, d_k, d_v = cases.sizes(draw)
    e, w = draw.between(0, 1, T, d_k), draw.between(0, 1, T, d_v)
    k, v, D = cases.keys(draw, T, d_k), draw.array(T, d_v), draw.between(0.4, 0.95, T, d_k)
    D = cases.hardly_kept(draw, D)
    S = cases.state(draw, d_v, d_k)
    if T > 1 and draw.exact:  # gates that are closed, and open
        e[0], e[1], w[1], w[2] = 0 * e[0], 0 * e[1] + 1, 0 * w[1], 0 * w[2] + 1
        D[1, 0] = 0 * D[1, 0]  # and one channel drops what it held
    if draw.exact:
        u, a = w * v, D * e * k
    else:
        _, _, u, a, _, _ = two_gates.arguments(k, k, v, np.log(D), e, w)
    world = run(draw, D, cases.queries(draw, k), k, u, a, k, S)
    return world.with_letters({r"\boldsymbol{e}_": columns(e), r"\boldsymbol{w}_": columns(w),
                               r"\boldsymbol{v}_": columns(v)})  # fmt: skip


printed("eq-family-two-gates", gates, against=LOOP)


@cache
def backwards(draw):
    """Gradients by dual numbers through the token loop, of a sum over outputs and last state."""
    draw = draw.anew(3)
    D, q, k, u, a, b, S = vectors(draw)
    T, d_v = u.shape
    dO, last = cases.values(draw, T, d_v), cases.of_rank(draw, 1, draw.array(*S.shape))

    def from_token(t):
        """The loss as a function of the state before token t + 1, its own output left out."""

        def loss(state):
            total = 0 * S[0, 0]
            for j in range(t, T):
                state = state * D[j] - np.outer(state @ a[j], b[j]) + np.outer(u[j], k[j])
                total = total + dO[j] @ (state @ q[j])
            return total + np.sum(last * state)

        return loss

    states = [S]
    for t in range(T):
        states.append(states[-1] * D[t] - np.outer(states[-1] @ a[t], b[t]) + np.outer(u[t], k[t]))
    after = [gradient(from_token(t), states[t], draw.exact) for t in range(T)] + [last]
    whole = []
    for t in range(1, T + 1):
        own = lambda state, t=t: from_token(t)(state) + dO[t - 1] @ (state @ q[t - 1])
        whole.append(gradient(own, states[t], draw.exact))
    return run(draw, D, q, k, u, a, b, S).with_letters({
        r"\mathrm{d}\mathbf{S}_": listed(after, 0), r"\boldsymbol{\Lambda}_": listed(whole),
        r"\mathrm{d}\boldsymbol{o}_": columns(dO),
    })  # fmt: skip


printed("eq-family-grad-state", backwards, against="dual numbers through the token loop")


@cache
def one_batch(draw):
    """Gradient steps that are all taken at the state before the chunk, one after the other."""
    draw = draw.anew(3)
    T, d_k, d_v = cases.sizes(draw)
    k, v, S = cases.keys(draw, T, d_k), cases.values(draw, T, d_v), cases.state(draw, d_v, d_k)
    eta = cases.two_write(draw, draw.between(0.1, 0.9, T))
    found = S
    for t in range(T):  # the gradient of |S k - v|^2 / 2 is (S k - v) k^T
        found = found - eta[t] * np.outer(S @ k[t] - v[t], k[t])
    letters = {
        r"\mathbf{S}": S, r"\mathbf{S}'": found, r"\mathbf{K}": k, r"\eta_": entries(eta),
        r"\boldsymbol{k}_": columns(k), r"\boldsymbol{v}_": columns(v), "C": T,
        r"\mathbf{U}": eta[:, None] * v,
        r"\mathbf{R}_0": np.array([S @ (eta[t] * k[t]) for t in range(T)]),
    }  # fmt: skip
    return World(letters, ranges={"i": range(1, T + 1), "t": range(1, T + 1)})


MISSES = r"(\boldsymbol{v}_{i} - \mathbf{S}\boldsymbol{k}_{i})"
STEPS = rf"\sum_{{i = 1}}^{{C}}\eta_{{i}}{MISSES}\boldsymbol{{k}}_{{i}}^{{\top}}"
PRODUCT = r"(\mathbf{U} - \mathbf{R}_{0})^{\top}\mathbf{K}"
printed(
    "eq-family-minibatch",
    one_batch,
    against="gradient steps, one by one",
    equal={f"{PRODUCT} for {STEPS}": "the two lines say so, less S"},
)


def counted(draw):
    """Pairs of tokens, counted one by one."""
    N, c = draw.sizes(2, 1, 9)
    C = N * c
    pairs = [(t, i) for t in range(C) for i in range(t + 1)]
    inside = sum(t // c == i // c for t, i in pairs)
    return World({"C": C, "c": c, "n_c": inside, "n_C": len(pairs)})


printed(
    "eq-family-share",
    counted,
    against="pairs, counted one by one",
    tied="n_c n_C",
    arithmetic="counted",
)
