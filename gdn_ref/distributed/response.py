"""How far into a piece the state before it is felt, and what comes of it there.

What a piece makes of the state before it is S F, and row t of its outputs gets S F_t q_t more than
without (eq-shard-state). No F_t can stretch a vector by more than the product of what its steps
can, so that

    |F_t| <= exp(c_t),     c_t = sum over s <= t of  g_s + ln max(1, |1 - beta_s |k_s|^2|),

and with keys of unit length and strengths up to 2 only the decays are left. Once that is below
`LEAST` of a state's rounding for good, the state before the piece is not felt any more: F is zero,
and nothing needs putting right. Heads forget at different paces, so each is a sequence of its own
for the rule, as long as it feels the state: packed, side by side, in one call, whose values are
zero and whose first states are the identity. A head without decay feels it to the end.
"""

from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from math import log

import numpy as np
import torch
from torch.nn.functional import pad

from ..ops import log_decay
from .local import run

LEAST = 1 / 4  # of the distance from 1 to the next number: less than that changes no state
BLOCK = 512  # tokens of which one bound is computed: few enough blocks for the host


@dataclass
class Response:
    """Of the pieces that a state enters.

    tokens : for each piece, how many of its tokens feel that state, by key head
    O_F : [all of these, HV / H, K], what their queries read of it, F_t q_t
    F : [pieces, HV, K, K]
    """

    tokens: list
    O_F: torch.Tensor
    F: torch.Tensor

    def parts(self, pieces):
        """`its place, rows, value heads, O_F [HV / H, rows, K]` where a state is felt, in turn."""
        first, group = 0, self.O_F.shape[1]
        O_F = self.O_F.transpose(0, 1)
        for place, (piece, counts) in enumerate(zip(pieces, self.tokens, strict=True)):
            for h, n in enumerate(counts):
                heads = slice(h * group, (h + 1) * group)
                if n:
                    rows = slice(piece.begin, piece.begin + n)
                    yield place, rows, heads, O_F[:, first : first + n]
                first += n

    def correct(self, pieces, o, S):
        """Add O_F S^T to the outputs, [1, T, HV, V], in place; S is [pieces, HV, V, K]."""
        S, o = S.mT.to(o.dtype), o[0].transpose(0, 1)
        for place, rows, heads, O_F in self.parts(pieces):
            o[heads, rows].baddbmm_(O_F, S[place, heads])

    def product(self, pieces, do, dtype):
        """dO^T O_F, [pieces, HV, V, K], added up in this dtype, float32 at least."""
        V, dO = do.shape[3], do[0].permute(1, 2, 0)
        M = do.new_zeros(*self.F.shape[:2], V, self.F.shape[3], dtype=dtype)
        for place, rows, heads, O_F in self.parts(pieces):
            M[place, heads] = product(dO[heads, :, rows], O_F, dtype)
        return M


def product(a, b, dtype):
    """`a b` of batches of matrices, added up in `dtype`, float32 at least."""
    if a.dtype == b.dtype and a.is_cuda and a.element_size() == 2:
        return torch.bmm(a, b, out_dtype=dtype)
    return a.to(dtype) @ b.to(dtype)


@cache
def stream_beside(device):
    """One more stream of this GPU, that goes first."""
    return torch.cuda.Stream(device, priority=-1)


class Beside:
    """On a GPU, work beside that of the current stream: `with` it, after what was there before it.

    The response takes few multiprocessors, the norms and transforms of the whole shard much
    bandwidth; and the host must know how many tokens feel a state without waiting for the shard.
    """

    def __init__(self, device):
        self.stream = None
        if device.type == "cuda":
            self.main, self.stream = torch.cuda.current_stream(device), stream_beside(device)
            self.stream.wait_stream(self.main)

    def __enter__(self):
        if self.stream is not None:
            self.context = torch.cuda.stream(self.stream)
            self.context.__enter__()

    def __exit__(self, *error):
        if self.stream is not None:
            self.context.__exit__(*error)

    def join(self):
        """What comes next on the current stream waits for what is done here."""
        if self.stream is not None:
            self.main.wait_stream(self.stream)


def respond(options, tokens, bounds, pieces, dtype):
    """The `Response` of these pieces: tokens as for `local.run`, F in this dtype."""
    q, k, v, *_ = tokens
    H, K = k.shape[2:]
    group, device = v.shape[2] // H, v.device
    counts = bounds.felt(torch.finfo(dtype).eps * LEAST)
    spans = [(p, h, n) for p, ns in zip(pieces, counts, strict=True) for h, n in enumerate(ns)]
    # what the device needs of that, before it has anything else to do here
    lengths = [n for *_, n in spans]
    first = [0, *accumulate(lengths)]  # the place of each span among all
    total, borders = first[-1], torch.tensor(first, dtype=torch.int32, device=device)
    base = [(p.begin - at) * H + h for (p, h, _), at in zip(spans, first, strict=False)]
    base, lengths = torch.tensor([base, lengths], device=device)
    forgotten = torch.tensor([n < p.end - p.begin for p, _, n in spans], device=device)
    at = base.repeat_interleave(lengths, output_size=total)
    at += torch.arange(0, H * total, H, device=device)

    def packed(x):
        """[1, tokens, heads of the group, ...], head after head."""
        if x is None:
            return None
        x = x[0].unflatten(1, (H, -1))
        if x.is_contiguous():  # which is faster
            return x.flatten(0, 1).index_select(0, at)[None]
        return x[at // H, at % H][None]

    q, k, g, beta = map(packed, (q, k, bounds.g, bounds.beta))
    one = torch.eye(K, dtype=dtype, device=device).expand(len(spans), group, K, K)
    zeros = v.new_zeros(1, total, group, K)
    plain = {name: False for name in options if name.startswith(("use_gate", "use_beta", "allow"))}
    O_F, F = run(options | plain, (q, k, zeros, g, beta), {}, one.contiguous(), borders)
    F.masked_fill_(forgotten[:, None, None, None], 0)
    return Response(counts, O_F[0], F.view(len(pieces), -1, K, K))


class Bounds:
    """How far into some pieces the states before them are felt.

    Of each block of tokens only the sum and the largest of its log-decays count, and the smallest
    and the largest of its steps beta |k|^2: enough for a bound above c_t at any of its tokens. The
    device finds these and sends them to the host, which does the rest when `felt` asks.

    g, beta : log-decays, or None, and strengths, as the recurrence has them
    """

    def __init__(self, options, k, g, beta, gate, pieces, dtype):
        self.g, self.beta = active(options, g, beta, gate, dtype)
        self.pieces, self.H = pieces, k.shape[2]
        step = self.beta[0]
        if not options["use_qk_l2norm_in_kernel"]:  # else no key is longer than 1
            length = k[0].to(dtype).square().sum(-1)
            step = step * length.repeat_interleave(step.shape[1] // self.H, 1)
        self.found = [self.extremes(step, piece.rows) for piece in pieces]
        self.ready = torch.cuda.Event() if k.is_cuda else None
        if self.ready is not None:
            self.ready.record()

    def extremes(self, step, rows):
        """[blocks, HV] each: smallest and largest step, sum and largest of the log-decays."""
        if rows.stop == rows.start:
            return None
        found = list(blocks(step[rows]).aminmax(dim=1))
        if self.g is not None:
            decays = blocks(self.g[0, rows])
            found += [decays.sum(1, dtype=torch.float64), decays.amax(1)]
        return [x.to("cpu", non_blocking=True) for x in found]

    def felt(self, least):
        """For each piece, by key head: the tokens up to the last block that can feel this much."""
        if self.ready is not None:
            self.ready.synchronize()
        return [self.tokens(p, x, log(least)) for p, x in zip(self.pieces, self.found, strict=True)]

    def tokens(self, piece, extremes, least):
        """Of one piece; in NumPy, for threads that have to wake up take longer than this."""
        if extremes is None:
            return [0] * self.H
        low, high, *decays = (x.numpy().astype(np.float64) for x in extremes)
        growth = np.log(np.maximum(np.maximum(abs(1 - low), abs(1 - high)), 1))
        whole = inside = BLOCK * growth
        if decays:
            total, largest = decays
            whole, inside = total + whole, np.maximum(BLOCK * largest + inside, 0)
        before = np.concatenate([np.zeros_like(whole[:1]), whole.cumsum(0)[:-1]])
        is_felt = ~(before + inside < least)  # a NaN is
        last = BLOCK * (np.arange(1, 1 + len(is_felt))[:, None] * is_felt).max(0)
        last = last.reshape(self.H, -1).max(1)
        return np.minimum(last, piece.end - piece.begin).tolist()


def blocks(x):
    """[tokens, heads] as [blocks, BLOCK, heads], with zeros at the end."""
    missing = -len(x) % BLOCK
    return (pad(x, (0, 0, 0, missing)) if missing else x).unflatten(0, (-1, BLOCK))


def active(options, g, beta, gate, dtype):
    """Log-decays, or None, and strengths, as the recurrence has them."""
    g, beta = (None if x is None else x.to(dtype) for x in (g, beta))
    if options["use_gate_in_kernel"]:
        g = log_decay(g, *(None if x is None else x.to(dtype) for x in gate.values()))
    if options["use_beta_sigmoid_in_kernel"]:
        beta = (2 if options["allow_neg_eigval"] else 1) * torch.sigmoid(beta)
    return g, beta
