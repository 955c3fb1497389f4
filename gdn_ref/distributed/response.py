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
from math import log

import torch
from torch.nn.functional import pad

from ..ops import log_decay
from .local import run

LEAST = 1 / 4  # of the distance from 1 to the next number: less than that changes no state
BLOCK = 64  # tokens of which one bound is computed


@dataclass
class Response:
    """Of the pieces that a state enters.

    tokens : for each piece, how many of its tokens feel that state, by key head
    O_F : [1, all of these, HV / H, K], what their queries read of it, F_t q_t
    F : [pieces, HV, K, K]
    """

    tokens: list
    O_F: torch.Tensor
    F: torch.Tensor

    def parts(self, pieces):
        """`piece, its place, rows, value heads, O_F of these` where a state is felt, in turn."""
        first, group = 0, self.O_F.shape[2]
        for place, (piece, counts) in enumerate(zip(pieces, self.tokens, strict=True)):
            for h, n in enumerate(counts):
                rows = slice(piece.begin, piece.begin + n)
                heads = slice(h * group, (h + 1) * group)
                if n:
                    yield piece, place, rows, heads, self.O_F[0, first : first + n]
                first += n


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
    K, (HV, group) = k.shape[3], (v.shape[2], v.shape[2] // k.shape[2])
    g, beta = active(options, g, beta, gate, dtype)
    felt_by = felt(options, k, g, beta, pieces, torch.finfo(dtype).eps * LEAST)
    counts = felt_by.tolist()
    spans = [
        (slice(piece.begin, piece.begin + n), h)
        for piece, of_heads in zip(pieces, counts, strict=True)
        for h, n in enumerate(of_heads)
    ]

    def packed(x):
        """Head after head: [1, tokens, heads of the group, ...]."""
        if x is None:
            return None
        heads = x.unflatten(2, (k.shape[2], -1))
        return torch.cat([heads[:, rows, h] for rows, h in spans], dim=1)

    q, k, g, beta = map(packed, (q, k, g, beta))
    one = torch.eye(K, dtype=dtype, device=v.device).expand(len(spans), group, K, K)
    borders = pad(felt_by.flatten().cumsum(0), (1, 0)).to(torch.int32)
    plain = {name: False for name in options if name.startswith(("use_gate", "use_beta", "allow"))}
    zeros = v.new_zeros(1, q.shape[1], group, K)
    O_F, F = run({**options, **plain}, (q, k, zeros, g, beta), {}, one.contiguous(), borders)
    F = F.view(len(pieces), HV, K, K)
    for F_p, of_heads, piece in zip(F, felt_by, pieces, strict=True):
        forgotten = (of_heads < piece.end - piece.begin)[:, None].expand(-1, group).flatten()
        F_p.masked_fill_(forgotten[:, None, None], 0)
    return Response(counts, O_F, F)


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
