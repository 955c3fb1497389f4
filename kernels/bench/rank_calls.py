"""What `across_ranks.py` runs: tokens, batches, ways to work in parallel, and passes as calls."""

import torch

from gdn_ref.distributed import cost

WAYS = ("ring", "all_gather", "tree", "relay", "heads", "fla")
BATCHES = (
    "one sequence", "packed", "documents", "zig-zag", "packed zig-zag", "halves", "packed halves",
    "documents in halves", "uneven",
)  # fmt: skip
OPTIONS = {"use_qk_l2norm_in_kernel": True, "output_final_state": True, "state_v_first": True}


def inputs(given, device):
    """The whole batch, the same on every rank: q, k, v, g, beta, and the gradient of o."""
    torch.manual_seed(0)
    T, (H, HV), D, dtype = given.tokens, given.heads, given.size, getattr(torch, given.dtype)
    on = {"device": device}
    q, k = (torch.randn(1, T, H, D, dtype=dtype, **on) for _ in range(2))
    v, do = (torch.randn(1, T, HV, D, dtype=dtype, **on) for _ in range(2))
    g = -torch.exp(torch.linspace(-7, 0, HV, **on)) * torch.rand(1, T, HV, **on)
    return (q, k, v, g, torch.rand(1, T, HV, **on)), do


def batches(given, R, beyond):
    """By name: offsets of the sequences, layout, lengths of unequal shards; and those lengths."""
    T = given.tokens
    uneven = cost.balanced(T, R, beyond)
    cuts = torch.randint(0, T + 1, (31,), generator=torch.Generator().manual_seed(0))
    packed = [0, T // 5, T // 5, T // 2 + 1, T - T // 7, T]
    documents = [0, *cuts.sort().values.tolist(), T]
    found = {
        "one sequence": ([0, T], "contiguous", None),
        "packed": (packed, "contiguous", None),
        "documents": (documents, "contiguous", None),
        "zig-zag": ([0, T], "zigzag", None),
        "packed zig-zag": (packed, "zigzag", None),
        "halves": ([0, T], "halves", None),
        "packed halves": (packed, "halves", None),
        "documents in halves": (documents, "halves", None),
        "uneven": ([0, T], "contiguous", uneven),
    }
    return {name: batch for name, batch in found.items() if name in given.batches}, uneven


def ways(given, R):
    """Those of `gdn_ref`, as `parallel` and the exchange; a rank has whole heads or none."""
    found = [("sequence", how) for how in given.ways if how in ("ring", "all_gather", "tree")]
    if "relay" in given.ways:
        found.append(("relay", "ring"))
    if "heads" in given.ways and given.heads[0] % R == 0:
        found.append(("heads", "ring"))
    return found


def passes(function, tokens, do, **where):
    """The forward pass, and both passes, as calls; both return what they computed."""
    leaves = [x.clone().requires_grad_() for x in tokens]

    def forward():
        with torch.no_grad():
            return function(*leaves, **OPTIONS, **where)

    def both():
        o, S = function(*leaves, **OPTIONS, **where)
        return o.detach(), S.detach(), *torch.autograd.grad([o, S], leaves, [do, S.detach()])

    return forward, both
