"""What one rank should send, in bytes, and how long the exchange should take."""

from gdn_ref.distributed import cost

BANDWIDTH = 200e9  # of the link that `cost` assumes


def bytes_sent(cp, tokens, parallel, HV, D, itemsize):
    """The bytes that this rank sends in both passes."""
    if parallel != "heads":
        return sum(cost.bytes_of_pass(cp, HV, D, D, itemsize, way) for way in (False, True))
    R, own = cp.ranks, cp.length
    token = sum(x.element_size() * x[0, 0].numel() for x in tokens)  # there, and its gradient back
    o = tokens[2].element_size() * tokens[2][0, 0].numel()
    there, back = own * (R - 1) / R, (sum(cp.lengths) - own) / R
    ends = [sum(p.rank == r and p.after is None for p in cp.pieces) for r in range(R)]
    S = HV * D * D * itemsize / R
    states = S * (sum(ends) - ends[cp.rank]) + S * ends[cp.rank] * (R - 1)  # there; gradients back
    return round((there + back) * (token + o) + states)


def exchange_seconds(cp, HV, D):
    """Time of the exchange by `cost`, for the link that is assumed there."""
    bytes_ = 4 * HV * D * D
    return cost.costs(cp, bytes_, bytes_)[cp.exchange] / BANDWIDTH
