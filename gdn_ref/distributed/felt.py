"""How far into a piece the state before it is felt: a bound, of numbers that the device finds.

No F_t can stretch a vector by more than the product of what its steps can (eq-shard-felt), so that

    |F_t| <= exp(c_t),     c_t = sum over s <= t of  g_s + ln max(1, |1 - beta_s |k_s|^2|),

and with keys of unit length and strengths up to 2 only the decays are left. Once that is below
`LEAST` of a number's rounding for good, this number does not feel the state any more. States are
rounded to 32 bits or more. Outputs may be rounded to 16 bits, and then feel it for less long.
"""

from math import log

import numpy as np
import torch
from torch.nn.functional import pad

from ..ops import log_decay

LEAST = 1 / 4  # of the distance from 1 to the next number: less than that changes no number
BLOCK = 1024  # tokens of which one bound is computed: few enough blocks for the host


class Bounds:
    """How far into some pieces the states before them are felt.

    Of each block of tokens only the sum and the largest of its log-decays count, and the smallest
    and the largest of its steps beta |k|^2: enough for a bound above c_t at any of its tokens. The
    device finds these, and the host does the rest.

    g, beta : log-decays, or None, and strengths, as the recurrence has them
    growth : for each piece, [blocks, HV]: no c_t in the block is larger
    """

    def __init__(self, options, tokens, gate, cp, dtype):
        _, k, _, g, beta = tokens
        self.g, self.beta = active(options, g, beta, gate, dtype)
        self.pieces = cp.entered
        step = self.beta
        if not options["use_qk_l2norm_in_kernel"]:  # else no key is longer than 1
            step = steps(k, step, dtype)
        self.growth = [self.largest(self.extremes(step, piece.rows)) for piece in cp.entered]

    def extremes(self, step, rows):
        """Smallest and largest step, sum and largest of the log-decays, of each block and head."""
        found = list(blocks(step[:, rows]).aminmax(dim=2))
        if self.g is not None:
            decays = blocks(self.g[:, rows])
            found += [decays.sum(2, dtype=torch.float64), decays.amax(2)]
        return torch.cat(found).double().cpu().numpy()

    def answered(self, least_of_states, least_of_outputs):
        """For each piece, by value head: the tokens to be answered for.

        All, if the state after the piece feels the one before it; else those whose outputs do.
        """
        both = zip(self.felt(least_of_states), self.felt(least_of_outputs), strict=True)
        return [
            [n if n == p.end - p.begin else m for n, m in zip(*counts, strict=True)]
            for p, counts in zip(self.pieces, both, strict=True)
        ]

    def felt(self, least):
        """For each piece, by value head: the tokens up to the last block that feels so much."""
        return [
            self.tokens(p, x, log(least)) for p, x in zip(self.pieces, self.growth, strict=True)
        ]

    def largest(self, extremes):
        """Of one piece; in NumPy, for threads that have to wake up take longer than this."""
        low, high, *decays = extremes
        growth = np.log1p(np.maximum(np.maximum(-low, high - 2), 0))  # of |1 - step| beyond 1
        whole = inside = BLOCK * growth
        if decays:
            total, largest = decays
            whole, inside = total + whole, np.maximum(BLOCK * largest + inside, 0)
        inside[1:] += whole.cumsum(0)[:-1]  # from the beginning of the piece
        return inside

    def tokens(self, piece, growth, least):
        """Of one piece, up to the last block that can feel so much; the first one does."""
        is_felt = ~(growth < least)  # a NaN is
        last = BLOCK * (len(is_felt) - is_felt[::-1].argmax(0))
        return np.minimum(last, piece.end - piece.begin).tolist()


def blocks(x):
    """[1, tokens, heads] as [1, blocks, BLOCK, heads], with zeros at the end."""
    missing = -x.shape[1] % BLOCK
    return (pad(x, (0, 0, 0, missing)) if missing else x).unflatten(1, (-1, BLOCK))


def steps(k, beta, dtype):
    """beta |k|^2, [1, T, HV]."""
    length = k.to(dtype).square().sum(-1)
    return beta * length.repeat_interleave(beta.shape[2] // k.shape[2], 2)


def active(options, g, beta, gate, dtype):
    """Log-decays, or None, and strengths, as the recurrence has them."""
    g, beta = (None if x is None else x.to(dtype) for x in (g, beta))
    if options["use_gate_in_kernel"]:
        g = log_decay(g, *(None if x is None else x.to(dtype) for x in gate.values()))
    if options["use_beta_sigmoid_in_kernel"]:
        beta = (2 if options["allow_neg_eigval"] else 1) * torch.sigmoid(beta)
    return g, beta
