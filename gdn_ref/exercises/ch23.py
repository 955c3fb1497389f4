"""Checkers for chapter 23: the family, one recurrence."""

import numpy as np

from ..family import general_rule, kda
from ..proofs.ch23_real import hard
from ..proofs.data import relative_error
from . import Wrong, exercise


@exercise("23-kda")
def _kda(kda_delta):
    _, k, v, g, erase, _, S = hard(T=20)
    beta = erase[:, 0]
    delta = kda_delta(S, k, v, g, beta)
    if np.shape(delta) != v.shape:
        raise Wrong(f"expected one correction per token, shape {v.shape}, got {np.shape(delta)}")
    right = _corrections(S, k, v, g, beta)
    if relative_error(delta, right) <= 1e-10:
        return
    if relative_error(delta, _corrections(0 * S, k, v, g, beta)) < 1e-10:
        raise Wrong("these are the corrections on an empty state; the old state is read as well")
    if not relative_error(delta[0], right[0]) <= 1e-10:
        raise Wrong("the first correction is off already: what does token 1 read, and how decayed?")
    raise Wrong(
        "the first correction is right, later ones are not: which decays lie between the write of "
        "token i and the read of token t, the one inside a_t included?"
    )


def _corrections(S, k, v, g, beta):
    """U - R of the token loop."""
    _, k, u, a, b, g = kda.general(k, k, v, g, beta)
    rows = []
    for t in range(len(k)):
        rows.append(u[t] - S @ a[t])
        _, S = general_rule.step(S, k[t], k[t], u[t], a[t], b[t], g[t])
    return np.array(rows)


@exercise("23-place")
def _place(place):
    rng = np.random.default_rng(0)
    k, c, v = rng.normal(size=(6, 4)), rng.normal(size=(6, 4)), rng.normal(size=(6, 3))
    f, S = rng.uniform(0.2, 0.9, size=(6, 4)), rng.normal(size=(3, 4))
    H = S.T
    for t in range(6):
        faded = f[t][:, None] * H
        H = faded - np.outer(k[t], c[t] @ faded) + np.outer(k[t], v[t])
    found = place(k, c, f, v)
    if found is None or len(found) != 4:
        raise Wrong("expected four arrays: a, b, g, u")
    a, b, g, u = map(np.asarray, found)
    if [x.shape for x in (a, b, g, u)] != [k.shape, k.shape, k.shape, v.shape]:
        raise Wrong("expected a, b and g of the shape of k, and u of the shape of v")
    if (g > 0).any():
        raise Wrong("g is a log-decay, at most 0, and yours is above: is it the decay itself?")
    for names, x in (("", (a, b)), ("a and b are exchanged", (b, a))):
        _, last = general_rule.recurrent(k, k, u, *x, g, S)
        if relative_error(last, H.T) <= 1e-9:
            if names:
                raise Wrong(names)
            return
    _, last = general_rule.recurrent(k, k, u, f * a, b, g, S)
    if relative_error(last, H.T) <= 1e-9:
        raise Wrong("the paper decays before it reads, the general rule reads first")
    raise Wrong("another state: transpose the recurrence, multiply out, compare term by term")


@exercise("23-border")
def _border(across):
    rng = np.random.default_rng(1)
    C, d, m = 12, 5, 7
    q, k = rng.normal(size=(2, C, d))
    mild = -rng.uniform(0, 0.3, size=(C, d))
    strong = -rng.uniform(0, 50, size=(C, d))
    reset = np.where(rng.random((C, d)) < 0.2, -np.inf, mild)
    for g, what in ((mild, ""), (strong, "with strong decays"), (reset, "with resets")):
        g = g * 1.0
        right = general_rule.sum_over_channels(q, k, g)[m:, :m]
        x = [z.astype(np.float32) for z in (q, k, g)]
        with np.errstate(all="ignore"):
            found = np.asarray(across(*x, m), dtype=np.float64)
        if found.shape != right.shape:
            raise Wrong(f"expected shape {right.shape}, got {found.shape}")
        if np.abs(found - right).max() <= 1e-5:
            continue
        if what:
            raise Wrong(f"right with mild decays, wrong {what}: is something divided, or above 1?")
        raise Wrong("wrong with mild decays already: which tokens' decays lie between the two?")


@exercise("23-cycle")
def _cycle(keys):
    k = np.asarray(keys, dtype=np.float64)
    if k.shape != (2, 3):
        raise Wrong(f"expected two keys of three channels, shape (2, 3), got {k.shape}")
    if np.abs(np.linalg.norm(k, axis=1) - 1).max() > 1e-9:
        raise Wrong("the keys must have unit norm")
    F = np.eye(3)
    for key in k:
        F = F @ (np.eye(3) - 2 * np.outer(key, key))
    cycle = np.eye(3)[[1, 2, 0]]  # the row (x, y, z) becomes (z, x, y)
    if np.abs(F - cycle).max() <= 1e-9:
        return
    if np.abs(F - cycle.T).max() <= 1e-9:
        raise Wrong("a cycle, and the wrong way round")
    raise Wrong("the row (1, 2, 3) becomes ({:.3g}, {:.3g}, {:.3g})".format(*([1, 2, 3] @ F)))
