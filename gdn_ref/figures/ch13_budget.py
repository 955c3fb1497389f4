"""Chapter 13's budget: what a rounding at each stage of a chunk costs, predicted and tried.

The stages are those at which the package's 16-bit kernels round what goes into a product: the
interaction below its diagonal blocks (A), the transform (T), the state as an operand (S), the
residual (R), the corrections (E), the scores (P) and the outputs (O).
"""

import numpy as np

from .. import wy
from ..chunking import decay

STAGES = ("A", "T", "S", "R", "E", "P", "O")
BITS = {"float32": 24, "tf32": 11, "float16": 11, "bfloat16": 8, "e4m3": 4, "e5m2": 3}
KERNEL = {  # significant bits at each stage: T, A and R of the kernels are float16 in any case
    "bfloat16": {"A": 11, "T": 11, "S": 8, "R": 11, "E": 8, "P": 8, "O": 8},
    "float16": dict.fromkeys(STAGES, 11),
}


def rounded(x, bits):
    """To so many significant bits, to nearest; `None` leaves x as it is."""
    if bits is None:
        return x
    m, e = np.frexp(x)
    return np.ldexp(np.rint(m * 2.0**bits) / 2.0**bits, e)


def size(bits):
    """The root mean square of the relative error (eq-rounding-size)."""
    return 2.0**-bits / np.sqrt(8 * np.log(2))


def tokens(cosine, beta, alpha, T=1024, d=64, seed=0):
    """`q, k, v, g, beta, S` as `kernels/bench/precision.py` makes them; "spread" for a strength
    from 0 to 2, or a decay from 0.9 to 1, of each token's own."""
    rng = np.random.default_rng([seed, 13])
    q, own = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in rng.normal(size=(2, T, d)))
    shared = rng.choice([-1.0, 1.0], size=d) / np.sqrt(d)
    k = np.sqrt(cosine) * shared + np.sqrt(1 - cosine) * own
    if cosine < 1:
        k = rounded(k / np.linalg.norm(k, axis=1, keepdims=True), 8)
    beta = rng.uniform(0, 2, T) if beta == "spread" else np.full(T, float(beta))
    alpha = rng.uniform(0.9, 1, T) if alpha == "spread" else np.full(T, float(alpha))
    v, S = rng.normal(size=(T, d)), rng.normal(size=(d, d))
    return q / np.sqrt(d), k, v, np.log(alpha), beta, S


def outside_blocks(C, block=16):
    """1 where a token is read in another block of 16 than it was written in."""
    at = np.arange(C) // block
    return (at[:, None] != at).astype(float)


class Chunk:
    """One chunk by its equations, rounded at the stages that `bits` names."""

    def __init__(self, q, k, v, g, beta, S, bits=None):
        def at(stage, x):
            return rounded(x, (bits or {}).get(stage))

        self.gamma, Gamma = decay(g)
        self.q, self.k, self.S, self.to_end = q, k, S, Gamma[-1]
        A = wy.interaction(k, beta, Gamma)  # eq-gdn-interaction
        away = outside_blocks(len(k))
        self.A = np.where(away == 1, at("A", A), A)
        self.X = np.linalg.inv(np.eye(len(k)) + self.A)
        self.T = at("T", self.X * beta)  # eq-gdn-ut-transform
        operand = at("S", S)
        self.R = at("R", v - self.gamma[:, None] * (k @ operand.T))
        self.E = self.T @ self.R  # eq-gdn-chunk-delta
        self.P = at("P", Gamma * (q @ k.T))
        self.O = self.gamma[:, None] * (q @ operand.T) + self.P @ at("E", self.E)
        self.O = at("O", self.O)  # eq-gdn-chunk-output
        write = at("E", self.to_end[:, None] * self.E)
        self.S_next = self.gamma[-1] * S + write.T @ k  # eq-gdn-chunk-state

    def factors(self):
        """`{stage: (Y, Z)}` and, of each, X for the outputs and for the state (eq-chunk-stages)."""
        W = self.T @ (self.gamma[:, None] * self.k)
        to_state = (self.to_end[:, None] * self.k).T
        A = self.A * outside_blocks(len(self.k))
        return {
            "A": (A, self.E, self.P @ self.X, to_state @ self.X),
            "T": (self.T, self.R, self.P, to_state),
            "S": (self.S.T, None, self.gamma[:, None] * self.q - self.P @ W, to_state @ W),
            "R": (self.R, None, self.P @ self.T, to_state @ self.T),
            "E": (self.E, None, self.P, to_state),
            "P": (self.P, self.E, np.eye(len(self.P)), None),
            "O": (self.O, None, np.eye(len(self.O)), None),
        }


def cost(X, Y, Z):
    """`sum |x_i|^2 Y_ij^2 |z_j|^2` (eq-rounding-cost); no Z is the identity."""
    right = np.ones(Y.shape[1]) if Z is None else (Z**2).sum(1)
    return float((X**2).sum(0) @ Y**2 @ right)


def gains(chunk):
    """Of outputs and of the next state: the gain of each stage, whatever the formats."""
    found = {"o": {}, "state": {}}
    ends = (chunk.O**2).sum(), (chunk.S_next**2).sum()
    for stage, (Y, Z, to_o, to_state) in chunk.factors().items():
        for name, X, end in zip(found, (to_o, to_state), ends, strict=True):
            found[name][stage] = 0.0 if X is None else float(np.sqrt(cost(X, Y, Z) / end))
    return found


def chunks(given, C=64, bits=None):
    """All chunks of a sequence, each handing its state to the next."""
    *x, S = given
    found = []
    for start in range(0, len(x[0]), C):
        found.append(Chunk(*(a[start : start + C] for a in x), S, bits))
        S = found[-1].S_next
    return found


def state_costs(given, C=64):
    """What roundings of size 1 at each stage would add to the last state, squared and relative:
    what each chunk adds is carried on by the transitions of those after it (eq-drift-sum)."""
    done = chunks(given, C)
    carried = np.eye(done[-1].S.shape[1])
    found = dict.fromkeys(STAGES, 0.0)
    for chunk in done[::-1]:
        for stage, (Y, Z, _, to_state) in chunk.factors().items():
            if to_state is not None:
                found[stage] += cost(carried @ to_state, Y, Z)
        W = chunk.T @ (chunk.gamma[:, None] * chunk.k)
        read = (chunk.to_end[:, None] * chunk.k).T @ W
        carried = carried @ (chunk.gamma[-1] * np.eye(len(read)) - read)
    end = (done[-1].S_next ** 2).sum()
    return {stage: x / end for stage, x in found.items()}


def budget(costs, bits):
    """The predicted relative error of the last state, by stage (eq-error-budget), from
    `state_costs` and the significant bits of each stage."""
    return {stage: size(bits[stage]) * float(np.sqrt(x)) for stage, x in costs.items()}


def tried(given, bits, C=64):
    """The relative error of all outputs and of the last state when every stage is rounded."""
    low, exact = chunks(given, C, bits), chunks(given, C)
    o = np.concatenate([c.O for c in low]), np.concatenate([c.O for c in exact])
    pairs = {"o": o, "state": (low[-1].S_next, exact[-1].S_next)}
    return {n: float(np.linalg.norm(a - b) / np.linalg.norm(b)) for n, (a, b) in pairs.items()}


def total(parts):
    """Independent errors: the root of the sum of their squares."""
    return float(np.sqrt(sum(x**2 for x in parts.values())))
