r"""Chapter 19: the printed block against the package's layer, gradients against autograd, sizes
counted on built layers.
"""

from functools import cache, partial

import numpy as np
import torch

from ...layers import GatedDeltaNetCache, GatedRMSNorm
from ..ch19_block import hard_layer, tokens
from ..ch19_gate import by_quadrature
from ..ch19_sizes import layer
from .ch19_layer import array, block, column, convolution, normalised, unit_norm
from .check import printed
from .values import Depends, Family, Refused, columns
from .world import World

LAYER, AUTOGRAD = "gdn_ref.layers.GatedDeltaNet", "autograd through the package"


def induction(draw, alike=0):
    """The delta rule with orthonormal keys, one token back, in a text of some letters."""
    texts = (0, 1, 2, 0, 3, 0, 1), (2, 3, 2, 2, 1, 3, 0), (1, 0, 0, 4, 1, 0, 3, 4, 4, 0)
    text, (letters, d_v) = texts[draw.seed % 3], ((5, 3), (4, 5), (6, 2))[draw.seed % 3]
    values, S, answers, last = draw.array(letters, d_v), 0 * draw.array(d_v, letters), [], {}
    keys = np.eye(letters, dtype=int) + alike
    for t, c in enumerate(text):
        if t:
            key = keys[text[t - 1]]
            S = S + np.outer(values[c] - S @ key, key)
        answers.append(S @ keys[c])
    for t in range(1, len(text) + 1):
        last[t] = max((s for s in range(1, t) if text[s - 1] == text[t - 1]), default=None)
    letters = {
        r"\boldsymbol{o}_": columns(np.array(answers)), r"\boldsymbol{v}": columns(values, 0).at,
        "c_": Family(lambda t: text[_place(t, len(text))]), "s": Depends(lambda at: last[at["t"]]),
    }  # fmt: skip
    return World(letters, {"t": [t for t in last if last[t]]})


def _place(t, T):
    if not 1 <= t <= T:
        raise Refused(f"no token {t}")
    return t - 1


@cache
def keys(draw):
    """Raw keys and queries about as long as the root of what is added under the root, or 0."""
    d_k = (5, 2, 9, 3, 12, 7, 4)[draw.seed % 7]
    k, q = 0.001 * draw.array(d_k), 0.001 * draw.array(d_k)
    k, q = k * (draw.seed % 3 != 1), q * (draw.seed % 3 != 2)
    found_q, found_k = normalised(q, k)
    letters = {
        r"\boldsymbol{k}'": k[:, None], r"\boldsymbol{q}'": q[:, None], "d_k": d_k, "d_v": 7,
        r"\boldsymbol{k}": found_k, r"\boldsymbol{q}": found_q,
    }  # fmt: skip
    return World(letters)


@cache
def fresh(draw):
    """Rates over the whole range, whichever ends of l and u decide; averaged over A."""
    ends = [(0.01, 16, 1e-3, 0.1), (0.5, 3, 0.2, 0.9), (0.3, 2, 0.1, 2)][draw.seed % 3]
    A, Delta = (np.array(ends) * draw.rng.uniform(0.9, 1.1, 4)).reshape(2, 2)
    rates = np.exp(np.linspace(np.log(A[0] * Delta[0]), np.log(A[1] * Delta[1]), 9)[1:-1])
    letters = {
        "F": lambda rate: by_quadrature(rate, A, Delta), r"\lambda": np.log(Delta[1] / Delta[0]),
        "l": Depends(lambda at: max(Delta[0], at[r"\rho"] / A[1])),
        "u": Depends(lambda at: min(Delta[1], at[r"\rho"] / A[0])),
        "A_0": A[0], "A_1": A[1], r"\Delta_0": Delta[0], r"\Delta_1": Delta[1],
    }  # fmt: skip
    return World(letters, {r"\rho": rates})


@cache
def gated_norm(draw):
    """The layer's norm of a faint output, its gradient, and the norm without weight and gate."""
    d_v, (d_k,) = 3 + draw.seed, draw.anew(5).numbers(1, 1, 9)
    o, z, w = 0.01 * draw.array(d_v), draw.array(d_v), draw.between(0.5, 1.5, d_v)
    eps, c, dn = 1e-5 * draw.number(), draw.number() / (1 + draw.seed % 2 * 4), draw.array(d_v)
    net = GatedRMSNorm(d_v, eps, dtype=torch.float64).requires_grad_(False)
    net.weight.copy_(torch.from_numpy(w))
    x = torch.from_numpy(o).requires_grad_()
    n = unit_norm(eps, d_v)(x)
    (do,) = torch.autograd.grad(n, x, torch.from_numpy(dn))
    letters = {
        "norm": lambda o, z: array(net(column(o, d_v), column(z, d_v))),
        "n_": Family(lambda eps: lambda o: array(unit_norm(eps, d_v)(column(o, d_v)))),
        r"\boldsymbol{w}": w[:, None], r"\boldsymbol{o}": o[:, None], r"\boldsymbol{z}": z[:, None],
        r"\varepsilon": eps, "d_v": d_v, "d_k": d_k, "c": c, "r": (x / n).mean().item(),
        r"\boldsymbol{n}": array(n), r"d\boldsymbol{n}": dn[:, None], r"d\boldsymbol{o}": array(do),
    }  # fmt: skip
    return World(letters)


def nbytes(x, b):
    """The bytes of a tensor of this shape, of numbers of b bytes."""
    return x.numel() * b


@cache
def built(draw):
    """What a built layer learns, and the bytes that it keeps of a sequence."""
    (D, H_k, group, d_k, d_v), (W,) = draw.numbers(5, 1, 5), draw.numbers(1, 2, 5)
    H_v, (b, b_S) = H_k * group, draw.widths(*draw.numbers(2, 1, 9))
    net, cache = layer(D, H_k, d_k, H_v, d_v, W, backend="reference"), GatedDeltaNetCache()
    with torch.no_grad():
        net(torch.zeros(1, 1, D), cache)
    letters = {
        "D": D, "d_k": d_k, "H_v": H_v, "d_v": d_v, "W": W, r"\chi": net.conv1d.weight.shape[0],
        "b": b, "b_S": b_S,
    }  # fmt: skip
    learned = sum(p.numel() for p in net.parameters())
    return World(letters | {"value": learned}), World(
        letters | {"value": nbytes(cache.conv_state, b) + nbytes(cache.recurrent_state, b_S)}
    )


@cache
def padding(draw):
    """One memory of the layer before and after p tokens of padding on the right."""
    T, head, (d_k, d_v) = 4, (draw.seed + 1) % 4, ((6, 5), (3, 4), (4, 7))[draw.seed % 3]
    net = hard_layer(seed=draw.seed, conv_bias=True, head_dim=d_k, head_v_dim=d_v)
    net.dt_bias.fill_((-3.0, -1.0, 0.5)[draw.seed % 3])
    after = {}
    for p in range(7):
        x, cache = torch.cat([tokens(T), tokens(p + 1, seed=2)[:p]])[None], GatedDeltaNetCache()
        net(x, cache, attention_mask=torch.arange(T + p)[None] < T)
        after[p] = cache.recurrent_state[0, head].T.numpy()
    letters = {
        r"\mathbf{S}": after[0], r"\mathbf{S}'": Depends(lambda at: after[at["p"]]),
        r"\texttt{A\_log}": float(net.A_log[head]), r"\texttt{dt\_bias}": float(net.dt_bias[head]),
    }  # fmt: skip
    g = Depends(lambda at: float(np.log(after[1] / after[0]).mean()))
    return World(letters | {"g_0": g}, {"p": range(1, 7)})


REAL = {"arithmetic": "float64"}
COUNTED = {"arithmetic": "counted"}

MOST = r"\beta_\text{max}"
FEW = {MOST: "the layer has two settings"}
LOGARITHM = {r"\alpha": "the logarithm of a decay, which the layer has finite"}
printed("eq-block", block, against=LAYER, tied=MOST, few=FEW, no_value=LOGARITHM, **REAL)
printed(
    "eq-conv-induction",
    induction,
    against="the delta rule, letter by letter",
    needs={"orthonormal keys": partial(induction, alike=1)},
)
printed("eq-causal-conv eq-conv-state", convolution, against="gdn_ref.convolution", **REAL)
printed("eq-conv-backward", convolution, against=AUTOGRAD, **REAL)
printed("eq-qk-norm", keys, against="gdn_ref.ops", **REAL)
printed(
    "eq-gate-start",
    fresh,
    against="quadrature over A",
    no_value=dict.fromkeys(
        [r"\frac{l}{\Delta_{0}}", r"\Delta_{0}", "u", "(u/l)"], "steps are positive"
    )
    | {"A_{1} - A_{0}": "the two ends of a range"},
    **REAL,
)
ROOT = {"r": "under the root something is added"}
NORM = REAL | {"against": "gdn_ref.layers.GatedRMSNorm"}
printed(
    "eq-gated-norm",
    gated_norm,
    anything=r"\boldsymbol{z}",
    no_value=ROOT | {r"\frac{1}{d_{v}}\|\boldsymbol{o}\|^{2} + \varepsilon": "positive"},
    equal={
        r"\boldsymbol{n} for \frac{\boldsymbol{o}}{r}": "the page calls this quotient n",
    },
    **NORM,
)
printed(
    "eq-norm-scale",
    gated_norm,
    anything=r"c \boldsymbol{o} \varepsilon",
    no_value={"c^{2}": "a scale is not zero"},
    **NORM,
)
printed("eq-norm-gradient", gated_norm, against=AUTOGRAD, no_value=ROOT, **REAL)
printed("eq-block-parameters", lambda draw: built(draw)[0], against="built layers", **COUNTED)
printed("eq-layer-cache-bytes", lambda draw: built(draw)[1], against="built layers", **COUNTED)
printed("eq-padding-right", padding, against=LAYER, **REAL)
