"""The algorithm boxes of chapters 11 and 12: their steps, executed in order with their names.

Every step is held to its printed line: to the equations that the line cites, in their order, and
to the shapes that it prints in parentheses, each for one or more results.
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tolerances import assert_close

from gdn_ref import backward, gated_delta_rule
from gdn_ref.proofs.data import hard_inputs

T, D_K, D_V = 23, 6, 4
CHAPTERS = Path(__file__).parents[1] / "chapters"
CITED = re.compile(r"\{eq\}`([\w-]+)`")
SHAPE = re.compile(r"\(\$([^$]+)\$(?: each)?\)")


def printed(label):
    """The lines of a box: its input and its numbered steps."""
    cells = [c for p in CHAPTERS.glob("*.ipynb") for c in json.loads(p.read_text())["cells"]]
    texts = ["".join(c["source"]) for c in cells if c["cell_type"] == "markdown"]
    (text,) = (text for text in texts if f":label: {label}\n" in text)
    box = text.partition(f":label: {label}\n")[2].partition("```")[0]
    return re.findall(r"^(?:\*\*Input|\d+\.).*$", box, re.M)


class Box:
    """A box whose steps are taken one after the other, again for every chunk."""

    def __init__(self, label):
        self.input, *self.steps = printed(label)
        self.taken = 0

    def given(self, *arrays, C):
        self.C = C
        self._holds(self.input, arrays)

    def step(self, cited, *made):
        line = self.steps[self.taken % len(self.steps)]
        self.taken += 1
        assert CITED.findall(line) == cited.split(), line
        self._holds(line, made)

    def _holds(self, line, made):
        """`made`: a tuple of arrays for each printed shape."""
        sizes = {"C": self.C, "d_k": D_K, "d_v": D_V}
        shapes = [tuple(sizes[x] for x in s.split(r"\times ")) for s in SHAPE.findall(line)]
        assert [{x.shape for x in arrays} for arrays in made] == [{s} for s in shapes], line


def from_the_first_row_down(A, R):
    X = np.zeros_like(R)
    for r in range(len(R)):
        X[r] = R[r] - A[r, :r] @ X[:r]
    return X


def from_the_last_row_up(A, R):
    X = np.zeros_like(R)
    for r in reversed(range(len(R))):
        X[r] = R[r] - A[r + 1 :, r] @ X[r + 1 :]
    return X


def decays(g):
    C = len(g)
    Gamma = [[np.exp(g[i + 1 : r + 1].sum()) * (i <= r) for i in range(C)] for r in range(C)]
    return np.array([np.exp(g[: r + 1].sum()) for r in range(C)]), np.array(Gamma)


def interaction(K, beta, Gamma):
    return np.tril(np.diag(beta) @ (Gamma * (K @ K.T)), -1)


def corrections(S, K, V, beta, gamma, A):
    return from_the_first_row_down(A, np.diag(beta) @ (V - np.diag(gamma) @ K @ S.T))


def forward(S, chunks):
    """`alg-gdn-forward`: the outputs of all chunks, the last state, and the states kept."""
    box, outputs, kept = Box("alg-gdn-forward"), [], []
    for Q, K, V, g, beta in chunks:
        box.given((S,), (Q, K), (V,), (g, beta), C=len(g))
        gamma, Gamma = decays(g)
        box.step("eq-gamma eq-decay-mask", (gamma,), (Gamma,))
        A = interaction(K, beta, Gamma)
        box.step("eq-gdn-interaction", (A,))
        E = corrections(S, K, V, beta, gamma, A)
        box.step("eq-gdn-chunk-delta", (E,))
        O = np.diag(gamma) @ Q @ S.T + (Gamma * (Q @ K.T)) @ E
        box.step("eq-gdn-chunk-output", (O,))
        kept.append(S)
        box.step("", (S,))
        S = gamma[-1] * S + E.T @ np.diag(Gamma[-1]) @ K
        box.step("eq-gdn-chunk-state", (S,))
        outputs.append(O)
    assert box.taken == len(outputs) * len(box.steps)
    return np.concatenate(outputs), S, kept


def backwards(chunks, kept, dOs, dS_next):
    """`alg-gdn-backward`: the gradients of all inputs, those of a chunk in one array, and `dS`."""
    box, found = Box("alg-gdn-backward"), []
    for (Q, K, V, g, beta), S, dO in reversed(list(zip(chunks, kept, dOs, strict=True))):
        box.given((S,), (dO,), (dS_next,), C=len(g))
        gamma, Gamma = decays(g)
        B, D_gamma, D_end = np.diag(beta), np.diag(gamma), np.diag(Gamma[-1])
        A = interaction(K, beta, Gamma)
        E = corrections(S, K, V, beta, gamma, A)
        box.step("eq-gdn-interaction eq-gdn-chunk-delta", (A,), (E,))
        dE = (Gamma * (Q @ K.T)).T @ dO + D_end @ K @ dS_next.T
        Z = from_the_last_row_up(A, dE)
        box.step("eq-grad-solve", (dE,), (Z,))
        X = Gamma * (dO @ E.T)
        N = -B @ np.tril(Gamma * (Z @ E.T), -1)
        box.step("eq-grad-scores", (X, N))
        dQ, dV = D_gamma @ dO @ S + X @ K, B @ Z
        box.step("eq-grad-query", (dQ,), (dV,))
        dK_reads = N @ K - B @ D_gamma @ Z @ S
        dK_is_read = N.T @ K + X.T @ Q + D_end @ E @ dS_next
        dK = dK_reads + dK_is_read
        box.step("eq-grad-key", (dK_reads, dK_is_read, dK))
        read = D_gamma @ K @ S.T + np.tril(Gamma * (K @ K.T), -1) @ E
        dbeta = np.sum(Z * (V - read), axis=1)
        box.step("eq-grad-beta", (dbeta,))
        S_next = gamma[-1] * S + E.T @ D_end @ K
        dc = np.sum(Q * dQ + K * dK_reads - K * dK_is_read, axis=1)
        dg = np.array([dc[r:].sum() for r in range(len(g))]) + np.sum(S_next * dS_next)
        box.step("eq-gdn-chunk-state eq-grad-decay", (S_next,), (dg,))
        dS = gamma[-1] * dS_next + (D_gamma @ dO).T @ Q - (B @ D_gamma @ Z).T @ K
        box.step("eq-grad-state", (dS,))
        found.insert(0, (dQ, dK, dV, dg, dbeta))
        dS_next = dS
    assert box.taken == len(found) * len(box.steps)
    return [np.concatenate(x) for x in zip(*found, strict=True)], dS_next


def cut(C, *arrays):
    """The chunks of C tokens; the last one is shorter."""
    return [[x[start : start + C] for x in arrays] for start in range(0, T, C)]


@pytest.mark.parametrize("C", [5, 8, 23])
@pytest.mark.parametrize("reset", [False, True])
def test_the_boxes_do_what_the_package_does(C, reset):
    *tokens, S = hard_inputs(T, D_K, D_V)
    if reset:
        tokens[3][9] = -np.inf
    chunks = cut(C, *tokens)
    O, last, kept = forward(S, chunks)
    for x, right in zip((O, last), gated_delta_rule.recurrent(*tokens, S), strict=True):
        assert_close(x, right)
    dO, dlast = (np.random.default_rng(1).normal(size=x.shape) for x in (O, last))
    found, dS = backwards(chunks, kept, [x for (x,) in cut(C, dO)], dlast)
    *right, right_dS = backward.gradients(*tokens, S, dO, dlast, C)
    for x, expected in zip((*found, dS), (*right, right_dS), strict=True):
        assert_close(x, expected, 1e-11)


@pytest.mark.parametrize("label", ["alg-gdn-forward", "alg-gdn-backward"])
@pytest.mark.parametrize(
    ("old", "new"), [(r"C\times C$", r"C\times d_k$"), ("eq-gdn-chunk-delta", "eq-gdn-delta-split")]
)
def test_another_shape_or_equation_is_noticed(label, old, new, monkeypatch):
    lines = printed

    def altered(name):
        return [x.replace(old, new) if name == label else x for x in lines(name)]

    monkeypatch.setitem(globals(), "printed", altered)
    assert printed(label) != lines(label)
    with pytest.raises(AssertionError):
        test_the_boxes_do_what_the_package_does(5, False)
