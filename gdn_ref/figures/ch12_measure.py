"""What chapter 12 measures: the precision of dg, what autograd keeps, which data hides mistakes."""

import math

import numpy as np
import torch

from .. import backward, gated_delta_rule, wy
from ..chunking import decay
from ..proofs.ch12_mutants import MUTANTS, NAMES, gradients
from ..proofs.data import hard_inputs, relative_error


def problem(T=50, d_k=12, d_v=7, seed=0):
    """The tokens, the first state, and random gradients of the outputs and of the last state."""
    rng = np.random.default_rng(seed + 1)
    tokens = hard_inputs(T, d_k, d_v, seed=seed)
    return (*tokens, rng.normal(size=tokens[2].shape), rng.normal(size=tokens[5].shape))


def parts_of_dg(S, q, k, v, g, beta, dO, dS_next):
    """`J`, `a`, `b` and the old state's part: every product of a chunk with its decay."""
    gamma, Gamma = decay(g)
    column = gamma[:, None]
    A = wy.interaction(k, beta, Gamma)
    read = column * (k @ S.T)
    E = wy.solve(A, beta[:, None] * (v - read))
    scores = Gamma * (q @ k.T)
    Z = wy.solve_transposed(A, scores.T @ dO + Gamma[-1][:, None] * (k @ dS_next.T))
    J = scores * (dO @ E.T) - A * (Z @ E.T)
    a = (dO * (column * (q @ S.T)) - beta[:, None] * Z * read).sum(axis=1)
    b = Gamma[-1] * ((E @ dS_next) * k).sum(axis=1)
    return J, a, b, gamma[-1] * (S * dS_next).sum()


def from_here_on(x):
    """Entry r is the sum of the entries r, r + 1, ..."""
    return np.cumsum(x[::-1], axis=0)[::-1]


def dg_by_sums(*inputs):
    """Row sums less column sums of J, cumulated; the diagonal, in both, must cancel."""
    J, a, b, old = parts_of_dg(*inputs)
    return from_here_on(J.sum(axis=1) - J.sum(axis=0) + a - b) + (b.sum() + old)


def dg_without_diagonal(*inputs):
    """The same with the diagonal left out: the sums over later tokens still cancel."""
    J, a, b, old = parts_of_dg(*inputs)
    J = np.tril(J, -1)
    return from_here_on(J.sum(axis=1) - J.sum(axis=0) + a - b) + (b.sum() + old)


def dg_by_crossing(*inputs):
    """The sum of what lies across each border: nothing is taken off again (eq-grad-crossing)."""
    J, a, b, old = parts_of_dg(*inputs)
    C, none = len(a), np.zeros(1, dtype=b.dtype)
    # entry (r, i): rows r and below; then the columns before r
    across = np.tril(from_here_on(J), -1).sum(axis=1) if C > 1 else a * 0
    return across + from_here_on(a) + np.concatenate([none, np.cumsum(b)[:-1]]) + old


def dg_by_dots(*inputs):
    """The package's form: three dot products a token (eq-grad-decay)."""
    return backward.chunk(*inputs)[4]


WAYS = {
    "dot products": dg_by_dots,
    "row and column sums": dg_by_sums,
    "sums, no diagonal": dg_without_diagonal,
    "crossing": dg_by_crossing,
}


def precision_of_dg(g, seeds=range(5), d=64):
    """Median relative error of an entry of dg in float32, for each way, over one chunk."""
    errors = {name: [] for name in WAYS}
    for seed in seeds:
        rng = np.random.default_rng(seed)
        q, k, v, _, beta, S = hard_inputs(len(g), d, d, seed=seed)
        given = (S, q, k, v, g, beta / 2, rng.normal(size=v.shape), rng.normal(size=S.shape))
        right = dg_by_crossing(*given)
        single = [x.astype(np.float32) for x in given]
        for name, way in WAYS.items():
            errors[name].extend(abs(way(*single) / right - 1))
    return {name: float(np.median(found)) for name, found in errors.items()}


def kept_by_autograd(T=512, d=64, **options):
    """Numbers a token that autograd keeps for the gated rule; without options, of the loop."""
    form = gated_delta_rule.chunkwise if options else gated_delta_rule.recurrent
    tokens = [torch.from_numpy(x).float().requires_grad_() for x in hard_inputs(T, d, d)]
    return kept(lambda: form(*tokens, **options)[0]) / T


def kept_by_hand(T=512, d=64, chunk_size=64):
    """The same of `backward.gradients`: its inputs, and one state a chunk."""
    inputs = T * (3 * d + 2) + d * d
    states = math.ceil(T / chunk_size) * d * d
    return (inputs + states) / T


def wrong_by(name, given, chunk_size=16):
    """The relative error of each gradient under a mistake, against the right ones."""
    found, right = (gradients(n, *given, chunk_size) for n in (name, None))
    return {
        n: relative_error(x, y) if np.any(y) else float(np.any(x))
        for n, x, y in zip(NAMES, found, right, strict=True)
    }


def error_table():
    """`[mistakes, gradients]`: the errors of all mutants on data that hides nothing."""
    given = problem()
    return np.array([list(wrong_by(name, given).values()) for name in MUTANTS])


def easy_data():
    """Name -> inputs that are easy in one way, and a chunk size."""
    q, k, v, g, beta, S, dO, dS = hard = problem()
    return {
        "hard inputs": (hard, 16),
        "one chunk, empty states": ((q, k, v, g, beta, 0 * S, dO, 0 * dS), 64),
        "no loss on the last state": ((q, k, v, g, beta, S, dO, 0 * dS), 64),
        "no decay": ((q, k, v, 0 * g, beta, S, dO, dS), 16),
        "beta = 1": ((q, k, v, g, 0 * beta + 1, S, dO, dS), 16),
        "chunks of one token": (hard, 1),
    }


def hidden(tolerance=1e-6):
    """Data -> the mistakes that no gradient shows, and those that dg does not show."""
    counts = {}
    for name, (given, chunk_size) in easy_data().items():
        errors = {mutant: wrong_by(mutant, given, chunk_size) for mutant in MUTANTS}
        everywhere = [m for m, e in errors.items() if max(e.values()) < tolerance]
        counts[name] = (everywhere, [m for m, e in errors.items() if e["g"] < tolerance])
    return counts


def by_rows(A):
    """`(I + A)^-1` by forward substitution in PyTorch, a row at a time."""
    unit = torch.eye(len(A), dtype=A.dtype)
    rows = [unit[0]]
    for r in range(1, len(A)):
        rows.append(unit[r] - A[r, :r] @ torch.stack(rows))
    return torch.stack(rows)


def by_library(A):
    """The same by PyTorch's triangular solver, whose gradient is its own transposed solve."""
    unit = torch.eye(len(A), dtype=A.dtype)
    return torch.linalg.solve_triangular(A, unit, upper=False, unitriangular=True)


def kept_by_inverse(way, C=64):
    """Numbers that autograd keeps to differentiate one inverse."""
    _, k, _, g, beta, _ = (torch.from_numpy(x) for x in hard_inputs(C, 64, 64))
    A = wy.interaction(k, beta, decay(g)[1]).requires_grad_()
    return kept(lambda: way(A))


def kept(work):
    """Numbers in all the storages that autograd saves during `work`, each counted once."""
    sizes = {}

    def note(tensor):
        storage = tensor.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes() // tensor.element_size()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        result = work()  # alive until the end, and with it the graph and every storage
    assert result.requires_grad
    return sum(sizes.values())


def chunk_with_decay(alpha, C=64, d=64, seed=0):
    """`S, q, k, v, g, beta, dO, dS'` of one chunk whose tokens all decay by `alpha`."""
    q, k, v, _, beta, S, dO, dS = problem(C, d, d, seed)
    return S, q, k, v, np.full(C, np.log(alpha)), beta / 2, dO, dS


def cumulated(differences, a, b, old):
    """dg from the differences of row and column sums (eq-grad-decay)."""
    return from_here_on(differences + a - b) + (b.sum() + old)


def reference_loop(x, beta, alpha):
    """`Lambda_r k_r` of each token of a small chunk, by the token loop walked backwards."""
    S, seen = x["S"], []
    for q, k, v in zip(x["Q"], x["K"], x["V"], strict=True):
        seen.append(S)
        _, S = gated_delta_rule.step(S, q, k, v, np.log(alpha), np.asarray(beta))
    dS, answers = x["dnext"], []
    for q, k, do in reversed(list(zip(x["Q"], x["K"], x["dO"], strict=True))):
        Lambda = dS + np.outer(do, q)
        answers.append(Lambda @ k)
        dS = alpha * (Lambda - beta * np.outer(answers[-1], k))
    return np.array(answers[::-1]), dS
