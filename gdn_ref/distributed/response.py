"""What comes of the state before a piece, for as long as the piece feels it (`felt`).

What a piece makes of the state before it is S F, and row t of its outputs gets S F_t q_t more than
without (eq-shard-state). Heads forget at different paces. Where the last state does not feel the
first one, F is zero, and only those outputs are answered for that do; elsewhere all of them are.

One head may feel long, and a run of many tokens is a chain that leaves most of a GPU idle. So what
a head feels of a piece, a span, is cut into blocks of equal length, all side by side in one call of
the rule, whose values are zero and whose first states are the identity. The maps of the blocks
before then carry a block's queries to the beginning of its piece (eq-affine-compose).
"""

from dataclasses import dataclass
from functools import cache
from itertools import accumulate

import torch

from .felt import LEAST
from .local import run

SHORTEST, MOST = 1024, 8  # tokens of a block; blocks of a span, if that does not make them shorter


@dataclass
class Response:
    """Of the pieces that a state enters; a span is what one key head feels of one of them.

    tokens : for each piece, how many of its tokens feel that state, by key head
    O_F : [HV / H, blocks, L, K], what their queries read of that state, F_t q_t
    F : [pieces, HV, K, K]
    at : [blocks, L], the rows of these tokens, key head by key head, in `[T H, ...]`
    of : [pieces H, at most MOST], the blocks of each span, and their number where there is none
    """

    tokens: list
    O_F: torch.Tensor
    F: torch.Tensor
    at: torch.Tensor
    of: torch.Tensor

    def parts(self, pieces):
        """`its place, rows, value heads, O_F [HV / H, rows, K]` where a state is felt, in turn."""
        group, _, L, _ = self.O_F.shape
        first, O_F = 0, self.O_F.flatten(1, 2)
        for place, (piece, counts) in enumerate(zip(pieces, self.tokens, strict=True)):
            for h, n in enumerate(counts):
                heads = slice(h * group, (h + 1) * group)
                rows = slice(piece.begin, piece.begin + n)
                yield place, rows, heads, O_F[:, first : first + n]
                first += L * whole_blocks(n, L)

    def correct(self, pieces, o, S):
        """Add O_F S^T to the outputs, [1, T, HV, V], in place; S is [pieces, HV, V, K]."""
        S, o = S.mT.to(o.dtype), o[0].transpose(0, 1)
        for place, rows, heads, O_F in self.parts(pieces):
            o[heads, rows].baddbmm_(O_F, S[place, heads])

    def product(self, do, dtype):
        """dO^T O_F, [pieces, HV, V, K], added up in this dtype, float32 at least."""
        group, count = self.O_F.shape[:2]
        dO = cut(do, do.shape[2] // group, self.at).permute(2, 0, 1, 3).flatten(0, 1)
        M = product(dO.mT, self.O_F.flatten(0, 1), dtype).unflatten(0, (group, count))
        M = torch.cat([M, torch.zeros_like(M[:, :1])], dim=1)[:, self.of].sum(2)
        return M.unflatten(1, (len(self.F), -1)).permute(1, 2, 0, 3, 4).flatten(1, 2)


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
    counts = bounds.answered(*(LEAST * torch.finfo(x).eps for x in (dtype, v.dtype)))
    spans = [(p, h, n) for p, ns in zip(pieces, counts, strict=True) for h, n in enumerate(ns)]
    L = block_length(max(n for *_, n in spans))
    many = [whole_blocks(n, L) for *_, n in spans]
    blocks = [(p, h, n) for (p, h, _), m in zip(spans, many, strict=True) for n in range(m)]
    ends, most = list(accumulate(many)), max(many)
    # what the device needs of that, sent at once, before it has anything else to do here
    numbers = [[(p.begin + n * L) * H + h for p, h, n in blocks]]  # a block's first row, by head
    numbers += [[(p.end - 1) * H + h for p, h, _ in blocks], [n for *_, n in blocks]]
    numbers += [[n - 1 for n in ends], [int(n < p.end - p.begin) for p, _, n in spans]]
    there = [(e - m + n, n < m) for e, m in zip(ends, many, strict=True) for n in range(most)]
    numbers += [[n if is_there else len(blocks) for n, is_there in there]]
    sent = torch.tensor(sum(numbers, []), device=device)
    first, end, place, last, forgotten, of = sent.split([len(x) for x in numbers])
    rows = first[:, None] + torch.arange(0, L * H, H, device=device)
    at = rows.clamp(max=end[:, None])
    q, k, g, beta = (None if x is None else cut(x, H, at) for x in (q, k, bounds.g, bounds.beta))
    if any(p.begin + (n + 1) * L > p.end for p, _, n in blocks):  # no tokens, no steps, no outputs
        past = (rows > end[:, None])[..., None]
        g, beta = (None if x is None else x.masked_fill(past, 0) for x in (g, beta))
        q = q.masked_fill(past[..., None], 0)
    one = torch.eye(K, dtype=dtype, device=device)
    ones = one.expand(len(blocks), group, K, K).contiguous()
    zeros = v.new_zeros(len(blocks), L, group, K)
    plain = {name: False for name in options if name.startswith(("use_gate", "use_beta", "allow"))}
    O_F, F = run(options | plain, (q, k, zeros, g, beta), {}, ones, None)
    O_F = O_F.permute(2, 0, 1, 3)
    if most > 1:
        place = place[:, None, None, None]
        F = joined(F, place, most)
        before = torch.where(place > 0, F.roll(1, 0), one).to(O_F.dtype)
        O_F = O_F @ before.transpose(0, 1).mT
    F = F[last].masked_fill_(forgotten[:, None, None, None].bool(), 0)
    F = F.view(len(pieces), -1, K, K)
    return Response(counts, O_F.contiguous(), F, at, of.view(-1, most))


def cut(x, H, at):
    """[1, T, heads, ...] as [blocks, L, heads / H, ...]: for each block the heads of a key head."""
    x = x[0].unflatten(1, (H, -1))
    if x.is_contiguous():  # which is faster
        return x.flatten(0, 1).index_select(0, at.flatten()).unflatten(0, at.shape)
    return x[at // H, at % H]


def block_length(longest):
    """Tokens of a block, where the head that feels longest does so for this many."""
    return min(longest, max(SHORTEST, 64 * whole_blocks(longest, 64 * MOST)))


def whole_blocks(n, length):
    """How many blocks n tokens take."""
    return -(-n // length)


def joined(F, place, most):
    """The map from the beginning of a span of `most` blocks at most to the end of each of them.

    `place` is a block's place in its span. After each round a map is of twice as many blocks
    (eq-affine-compose), as in `tree`.
    """
    far = 1
    while far < most:
        F = torch.cat([F[:far], torch.where(place[far:] >= far, F[:-far] @ F[far:], F[far:])])
        far *= 2
    return F
