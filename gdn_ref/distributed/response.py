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
from torch.nn.functional import pad

from .felt import LEAST
from .local import run

SHORTEST, MOST = 1024, 8  # tokens of a block; blocks of a span, if that does not make them shorter


@dataclass
class Response:
    """Of the pieces that a state enters; a span is what one key head feels of one of them.

    All that comes after an exchange is few calls over all spans: the device is idle meanwhile.

    tokens : for each piece, how many of its tokens feel that state, by key head
    O_F : [blocks, HV / H, L, K], what their queries read of that state, F_t q_t
    F : [pieces, HV, K, K]
    at : [blocks, HV / H, L], the rows of these tokens, value head by value head, in `[T HV, ...]`
    whose : [blocks], the state that a block feels, key head by key head, in `[pieces H, ...]`; here
        the pieces are all those of the rank
    of : [spans, at most MOST], the blocks of each span, and their number where there is none
    """

    tokens: list
    O_F: torch.Tensor
    F: torch.Tensor
    at: torch.Tensor
    whose: torch.Tensor
    of: torch.Tensor

    def correct(self, o, S):
        """Add O_F S^T to the outputs, [1, T, HV, V], in place; S is [pieces, HV, V, K].

        Rows past the end of a piece are its last one, and add nothing.
        """
        group, V = self.O_F.shape[1], o.shape[3]
        S = S.view(-1, group, *S.shape[2:])[self.whose].to(self.O_F.dtype).flatten(0, 1)
        read = torch.bmm(self.O_F.flatten(0, 1), S.mT)
        o.view(-1, V).index_add_(0, self.at.flatten(), read.view(-1, V).to(o.dtype))

    def product(self, do, dtype):
        """dO^T O_F, [pieces, HV, V, K], added up in this dtype, float32 at least."""
        dO = cut(do, do.shape[2], self.at).flatten(0, 1).squeeze(2)
        M = product(dO.mT, self.O_F.flatten(0, 1), dtype).unflatten(0, self.O_F.shape[:2])
        M = pad(M, (0, 0, 0, 0, 0, 0, 0, 1))[self.of].sum(1)
        return M.view(*self.F.shape[:2], *M.shape[2:])


def product(a, b, dtype):
    """`a b` of batches of matrices, added up in `dtype`, float32 at least."""
    if a.dtype == b.dtype and a.is_cuda and a.element_size() == 2:
        return torch.bmm(a, b, out_dtype=dtype)
    return torch.bmm(a.to(dtype), b.to(dtype))


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
    one = torch.eye(K, dtype=dtype, device=device)
    counts = bounds.answered(*(LEAST * torch.finfo(x).eps for x in (dtype, v.dtype)))
    spans = [(p, h, n) for p, ns in zip(pieces, counts, strict=True) for h, n in enumerate(ns)]
    L = block_length(max(n for *_, n in spans))
    numbers = places(spans, L, H)
    sent = torch.tensor(sum(numbers, [])).to(device, non_blocking=True)  # waits for no kernel
    first, end, whose, last, of, before, *rounds = sent.split([len(x) for x in numbers])
    count = len(first)
    rows = first[:, None] + torch.arange(0, L * H, H, device=device)
    at = rows.clamp(max=end[:, None])
    q, k, g, beta = (None if x is None else cut(x, H, at) for x in (q, k, bounds.g, bounds.beta))
    if any(p.begin + whole_blocks(n, L) * L > p.end for p, _, n in spans):  # these do nothing
        past = (rows > end[:, None])[..., None]
        g, beta = (None if x is None else x.masked_fill(past, 0) for x in (g, beta))
        q = q.masked_fill(past[..., None], 0)
    ones = one.expand(count, group, K, K).contiguous()
    zeros = v.new_zeros(count, L, group, K)
    plain = {name: False for name in options if name.startswith(("use_gate", "use_beta", "allow"))}
    O_F, F = run(options | plain, (q, k, zeros, g, beta), {}, ones, None)
    F = joined(torch.cat([F, ones[:1], torch.zeros_like(ones[:1])]), rounds)
    O_F = O_F.transpose(1, 2) @ F[before].mT.to(O_F.dtype)
    at = at[:, None] * group + torch.arange(group, device=device)[:, None]
    F = F[last].view(len(pieces), -1, K, K)
    return Response(counts, O_F, F, at, whose, of.view(len(spans), -1))


def places(spans, L, H):
    """What the device must know of the blocks of these spans, as lists, to be sent at once.

    Of each block: its first row and its piece's last one, by key head; its state (`whose`). Of each
    span its last block's map, and all of its blocks (`of`). Then for each block the one before it,
    and for each round of `joined` the one so far before it; after the last block's map there are an
    identity, for those that have none, and a zero, for spans whose last state has forgotten.
    """
    many = [whole_blocks(n, L) for *_, n in spans]
    blocks = [(p, h, n) for (p, h, _), m in zip(spans, many, strict=True) for n in range(m)]
    ends, most, one = list(accumulate(many)), max(many), len(blocks)

    def earlier(far):
        return [b - far if n >= far else one for b, (*_, n) in enumerate(blocks)] + [one, one]

    felt = [n == p.end - p.begin for p, _, n in spans]
    held = zip(ends, many, strict=True)
    return [
        [(p.begin + n * L) * H + h for p, h, n in blocks],
        [(p.end - 1) * H + h for p, h, _ in blocks],
        [p.index * H + h for p, h, _ in blocks],
        [e - 1 if is_felt else one + 1 for e, is_felt in zip(ends, felt, strict=True)],
        [e - m + n if n < m else one for e, m in held for n in range(most)],
        earlier(1)[:one],
        *(earlier(2**n) for n in range((most - 1).bit_length())),
    ]


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


def joined(F, rounds):
    """The maps from the beginning of its span to the end of each block, [blocks, HV / H, K, K].

    After each round a map is of twice as many blocks (eq-affine-compose), as in `tree`: a round has
    for each block the one so far before it, or an identity.
    """
    for before in rounds:
        F = torch.bmm(F[before].flatten(0, 1), F.flatten(0, 1)).view(F.shape)
    return F
