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
from itertools import pairwise
from math import log

import torch
from torch.nn.functional import pad

from ..ops import log_decay
from .local import run

LEAST = 1 / 4  # of the distance from 1 to the next number: less than that changes no state
BLOCK = 128  # tokens of which one bound is computed


@dataclass
class Places:
    """Where the states before some pieces are felt: blocks of tokens, one key head each.

    A span is what one key head feels of one piece; spans go from piece to piece, head by head, and
    blocks from span to span.

    tokens : for each piece, how many of its tokens feel the state, by key head
    rows : [blocks, BLOCK] of this rank's tensors; past the end of a piece its last one again
    head : [blocks, 1]
    span : [blocks], and `ends`, after how many blocks each span ends
    past : [blocks, BLOCK], the rows past the end of a piece, or None if there are none
    """

    tokens: list
    rows: torch.Tensor
    head: torch.Tensor
    span: torch.Tensor
    ends: list
    past: torch.Tensor | None

    @classmethod
    def of(cls, pieces, tokens, device):
        H = len(tokens[0])
        n = torch.tensor(tokens).flatten()
        begin = torch.tensor([piece.begin for piece in pieces]).repeat_interleave(H)
        blocks = (n + BLOCK - 1) // BLOCK
        ends = blocks.cumsum(0)
        span = torch.arange(len(n)).repeat_interleave(blocks)
        first = begin[span] + BLOCK * (torch.arange(len(span)) - (ends - blocks)[span])
        table = torch.stack([span, span % H, first, (begin + n)[span]])
        if device.type == "cuda":
            table = table.pin_memory().to(device, non_blocking=True)
        span, head, first, end = table[..., None].unbind()
        rows = first + torch.arange(BLOCK, device=device)
        past = rows >= end if (n % BLOCK).any() else None
        return cls(tokens, rows.minimum(end - 1), head, span[:, 0], ends.tolist(), past)

    def take(self, x):
        """Of this rank's tensor [1, T, heads, ...]: [blocks, BLOCK, heads of a group, ...]."""
        return self.by_head(x)[self.rows, self.head]

    def by_head(self, x):
        """The same tensor as [T, H, heads of a group, ...]."""
        return x[0].unflatten(1, (len(self.tokens[0]), -1))


@dataclass
class Response:
    """Of the pieces that a state enters.

    O_F : [blocks, BLOCK, HV / H, K], what the queries at these places read of it, F_t q_t
    F : [pieces, HV, K, K]
    """

    places: Places
    O_F: torch.Tensor
    F: torch.Tensor

    def correct(self, o, S):
        """Add O_F S^T to the outputs, [1, T, HV, V], in place; S is [pieces, HV, V, K]."""
        at = self.places
        O = at.take(o)
        S = S.unflatten(1, (-1, O.shape[2])).flatten(0, 1).to(O.dtype)[at.span]
        for j in range(O.shape[2]):
            O[:, :, j].baddbmm_(self.O_F[:, :, j], S[:, j].mT)
        at.by_head(o)[at.rows, at.head] = O  # a row that is there twice has the same numbers twice

    def product(self, do, dtype):
        """dO^T O_F, [pieces, HV, V, K], added up in this dtype, float32 at least."""
        at, dO = self.places, self.places.take(do)
        if at.past is not None:
            dO = dO.masked_fill(at.past[..., None, None], 0)
        dO, O_F = (x.flatten(0, 1).transpose(0, 1) for x in (dO, self.O_F))
        borders = pairwise([0, *(BLOCK * end for end in at.ends)])
        parts = [product(dO[:, i:j].mT, O_F[:, i:j], dtype) for i, j in borders]
        return torch.cat(parts).unflatten(0, (len(at.tokens), -1))


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
            self.context = torch.cuda.stream(self.stream)

    def __enter__(self):
        if self.stream is not None:
            self.context.__enter__()

    def __exit__(self, *error):
        if self.stream is not None:
            self.context.__exit__(*error)
            self.main.wait_stream(self.stream)


def respond(options, tokens, gate, pieces, dtype):
    """The `Response` of these pieces: tokens and gate as for `local.run`, F in this dtype."""
    q, k, v, g, beta = tokens
    K, H = k.shape[3], k.shape[2]
    g, beta = active(options, g, beta, gate, dtype)
    counts = felt(options, k, g, beta, pieces, torch.finfo(dtype).eps * LEAST).tolist()
    at = Places.of(pieces, counts, v.device)
    q, k, g, beta = (None if x is None else at.take(x) for x in (q, k, g, beta))
    if at.past is not None:  # a token that leaves the state alone
        g, beta = (None if x is None else x.masked_fill(at.past[..., None], 0) for x in (g, beta))
    group = beta.shape[2]
    one = torch.eye(K, dtype=dtype, device=v.device).expand(len(at.ends), group, K, K)
    borders = [0, *(BLOCK * end for end in at.ends)]
    borders = torch.tensor(borders, dtype=torch.int32).to(v.device, non_blocking=True)
    plain = {name: False for name in options if name.startswith(("use_gate", "use_beta", "allow"))}
    q, k, g, beta = (None if x is None else x.flatten(0, 1)[None] for x in (q, k, g, beta))
    zeros = v.new_zeros(1, q.shape[1], group, K)
    O_F, F = run(options | plain, (q, k, zeros, g, beta), {}, one.contiguous(), borders)
    forgotten = [[n < p.end - p.begin for n in ns] for p, ns in zip(pieces, counts, strict=True)]
    forgotten = torch.tensor(forgotten).to(v.device, non_blocking=True)
    F = F.view(len(pieces), H, group, K, K).masked_fill_(forgotten[..., None, None, None], 0)
    O_F = O_F[0].unflatten(0, (-1, BLOCK))
    if at.past is not None:  # the last row again, to the bit
        last = BLOCK - 1 - at.past.sum(1, keepdim=True)
        place = torch.arange(BLOCK, device=v.device).minimum(last)
        O_F = O_F[torch.arange(len(O_F), device=v.device)[:, None], place]
    return Response(at, O_F, F.flatten(1, 2))


def active(options, g, beta, gate, dtype):
    """Log-decays, or None, and strengths, as the recurrence has them."""
    g, beta = (None if x is None else x.to(dtype) for x in (g, beta))
    if options["use_gate_in_kernel"]:
        g = log_decay(g, *(None if x is None else x.to(dtype) for x in gate.values()))
    if options["use_beta_sigmoid_in_kernel"]:
        beta = (2 if options["allow_neg_eigval"] else 1) * torch.sigmoid(beta)
    return g, beta


def felt(options, k, g, beta, pieces, least):
    """[pieces, H], the tokens up to the last block that can feel `least` of the state."""
    length = 1.0  # of a key, squared, at most
    if not options["use_qk_l2norm_in_kernel"]:
        length = k.to(beta.dtype).square().sum(-1).repeat_interleave(beta.shape[2] // k.shape[2], 2)
    stretch = (1 - beta * length).abs().clamp(min=1).log()
    stretch = (stretch if g is None else g + stretch)[0].double()
    found = []
    for piece in pieces:
        n, H = piece.end - piece.begin, k.shape[2]
        blocks = pad(stretch[piece.rows].mT, (0, -n % BLOCK)).unflatten(1, (-1, BLOCK))
        before = pad(blocks.sum(2).cumsum(1), (1, 0))[:, :-1]
        is_felt = ~(before + blocks.clamp(min=0).sum(2) < log(least))  # a NaN is
        place = torch.arange(1, 1 + is_felt.shape[1], device=k.device)
        last = (place * is_felt).amax(1) if n else place.new_zeros(len(is_felt))
        found.append((BLOCK * last).clamp(max=n).unflatten(0, (H, -1)).amax(1))
    return torch.stack(found)
