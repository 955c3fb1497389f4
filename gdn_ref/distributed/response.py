"""What comes of the state before a piece, for as long as the piece feels it (`felt`).

What a piece makes of the state before it is S F, and row t of its outputs gets S F_t q_t more than
without (eq-shard-state). Heads forget at different paces. Where the last state does not feel the
first one, F is zero, and only those outputs are answered for that do; elsewhere all of them are.

One head may feel long, and a run of many tokens is a chain that leaves most of a GPU idle. So what
a head feels of a piece, a span, is cut into blocks of equal length, all side by side in one call of
the rule, whose values are zero and whose first states are the identity. The maps of the blocks
before then carry a block's queries to the beginning of its piece (eq-affine-compose).
"""

import math
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate

import torch
from torch.nn.functional import pad

from .felt import LEAST
from .felt import Bounds as Bounds  # which `launched` has, too
from .local import run

LONGEST = 2**18  # tokens of a block: a grid has room for no longer ones


@dataclass
class Response:
    """Of the pieces that a state enters; a span is what one value head feels of one of them.

    All that comes after an exchange is few calls over all spans: the device is idle meanwhile.

    tokens : for each piece, how many of its tokens feel that state, by value head
    O_F : [blocks, L, K], what their queries read of that state, F_t q_t
    F : [pieces HV, K, K]
    at : [blocks, L, 1], the rows of these tokens, in `[T HV, ...]`
    whose : [blocks], the state that a block feels, in `[pieces HV, ...]`; here the pieces are all
        those of the rank
    of : [spans, the most blocks of one], those of each span, and their number where there is none
    """

    tokens: list
    O_F: torch.Tensor
    F: torch.Tensor
    at: torch.Tensor
    whose: torch.Tensor
    of: torch.Tensor

    @property
    def tensors(self):
        return self.O_F, self.F, self.at, self.whose, self.of

    def holding(self, *tensors):
        """This one with these tensors in the place of its own."""
        names = ("O_F", "F", "at", "whose", "of")
        return replace(self, **dict(zip(names, tensors, strict=True)))

    def correct(self, o, S):
        """Add O_F S^T to the outputs, [1, T, HV, V], in place; S is [pieces, HV, V, K].

        Rows past the end of a piece are its last one, and add nothing.
        """
        S = S.flatten(0, 1)[self.whose].to(self.O_F.dtype)
        read = torch.bmm(self.O_F, S.mT).flatten(0, 1).to(o.dtype)
        o.flatten(0, 2).index_add_(0, self.at.flatten(), read)

    def product(self, do, dtype):
        """dO^T O_F, [pieces HV, V, K], added up in this dtype, float32 at least."""
        M = product(picked(do, self.at).squeeze(2).mT, self.O_F, dtype)
        M = pad(M, (0, 0, 0, 0, 0, 1))[self.of]
        return M.unflatten(0, (len(self.F), -1)).sum(1)


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


@cache
def one_and_zero(K, dtype, device):
    """The identity, and it with a matrix of zeros, [2, K, K]."""
    one = torch.eye(K, dtype=dtype, device=device)
    return one, torch.stack([one, torch.zeros_like(one)])


def respond(options, tokens, bounds, dtype):
    """The `Response` of the pieces that a state enters: tokens as for `local.run`, F in this dtype.

    `launched` does the same by kernels of its own.
    """
    q, k, v, *_ = tokens
    (H, K), HV, device, pieces = k.shape[2:], v.shape[2], v.device, bounds.pieces
    counts = bounds.answered(*(LEAST * torch.finfo(x).eps for x in (dtype, v.dtype)))
    spans = [(p, h, n) for p, ns in zip(pieces, counts, strict=True) for h, n in enumerate(ns)]
    L = block_length(max(n for *_, n in spans))
    numbers = places(spans, L, HV)
    sent = torch.tensor(sum(numbers, [])).to(device, non_blocking=True)  # waits for no kernel
    first, end, whose, last, of, before, *rounds = sent.split([len(x) for x in numbers])
    count = len(first)
    at = rows = first.view(-1, 1, 1) + torch.arange(0, L * HV, HV, device=device)[:, None]
    past = any(p.begin + whole_blocks(n, L) * L > p.end for p, _, n in spans)
    if past:
        at = rows.minimum(end.view(-1, 1, 1))
    of_keys = at if H == HV else at // (HV // H)
    q, k = picked(q, of_keys), picked(k, of_keys)
    g, beta = (None if x is None else x.take(at) for x in (bounds.g, bounds.beta))
    if past:  # these do nothing
        past = rows > end.view(-1, 1, 1)
        g, beta = (None if x is None else x.masked_fill(past, 0) for x in (g, beta))
        q = q.masked_fill(past[..., None], 0)
    one, ends = one_and_zero(K, dtype, device)
    ones, zeros = one.repeat(count, 1, 1, 1), v.new_zeros(count, L, 1, K)
    norm = options["use_qk_l2norm_in_kernel"]
    O_F, F = run(plain(options, norm), (q, k, zeros, g, beta), {}, ones, None)
    F = joined(torch.cat([F.squeeze(1), ends]), rounds)
    O_F = torch.bmm(O_F.squeeze(2), F[before].to(O_F.dtype).mT)
    return Response(counts, O_F, F[last], at, whose, of)


def plain(options, norm):
    """The options for decays and strengths as the recurrence has them."""
    given = {name: False for name in options if name.startswith(("use_", "allow"))}
    return options | given | {"use_qk_l2norm_in_kernel": norm}


def places(spans, L, HV):
    """What the device must know of the blocks of these spans, as lists, to be sent at once.

    Of each block: its first row and its piece's last one, by value head; its state (`whose`). Of
    each span its last block's map, and all of its blocks (`of`). Then for each block the one before
    it, and for each round of `joined` the one so far before it; after the last block's map there
    are an identity, for those that have none, and a zero, for spans whose last state has forgotten.
    """
    many = [whole_blocks(n, L) for *_, n in spans]
    blocks = [(p, h, n) for (p, h, _), m in zip(spans, many, strict=True) for n in range(m)]
    ends, most, one = list(accumulate(many)), max(many), len(blocks)

    def earlier(far):
        return [b - far if n >= far else one for b, (*_, n) in enumerate(blocks)] + [one, one]

    felt = [n == p.end - p.begin for p, _, n in spans]
    held = zip(ends, many, strict=True)
    return [
        [(p.begin + n * L) * HV + h for p, h, n in blocks],
        [(p.end - 1) * HV + h for p, h, _ in blocks],
        [p.index * HV + h for p, h, _ in blocks],
        [e - 1 if is_felt else one + 1 for e, is_felt in zip(ends, felt, strict=True)],
        [e - m + n if n < m else one for e, m in held for n in range(most)],
        earlier(1)[:one],
        *(earlier(2**n) for n in range((most - 1).bit_length())),
    ]


def picked(x, at):
    """[1, T, heads, D] as [*at.shape, D]: these rows of `[T heads, D]`."""
    heads, D = x.shape[2:]
    if x.is_contiguous():  # which is faster
        return torch.embedding(x.view(-1, D), at)
    return x[0, at // heads, at % heads]


def block_length(longest):
    """Tokens of a block, where the head that feels longest does so for this many.

    Blocks run side by side, and their maps are joined one after the other, each in about the time
    of 1,000 tokens: sqrt(longest) / 32 blocks have both take equally long.
    """
    blocks = math.ceil(math.sqrt(longest) / 32)
    return min(longest, LONGEST, 64 * whole_blocks(longest, 64 * blocks))


def whole_blocks(n, length):
    """How many blocks n tokens take."""
    return -(-n // length)


def joined(F, rounds):
    """The maps from the beginning of its span to the end of each block, [blocks, K, K].

    After each round a map is of twice as many blocks (eq-affine-compose), as in `tree`: a round has
    for each block the one so far before it, or an identity.
    """
    for before in rounds:
        F = torch.bmm(F[before], F)
    return F
