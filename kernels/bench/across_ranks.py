"""One sequence, or a packed batch, on many ranks: checked against one card, timed, bytes counted.

    torchrun --standalone --nproc-per-node N kernels/bench/across_ranks.py --json FILE
    python kernels/bench/across_ranks.py --in-turn 1 2 4 8 --json FILE

The first takes N cards (NCCL), or N processes without any (gloo; then give small sizes, such as
`--tokens 512 --heads 2 4 --size 16 --dtype float32`). For one sequence, for a packed batch whose
sequences cross the ranks, for one sequence in zig-zag shards, and for one whose first rank has more
tokens, for it computes no map (as many more as balance the forward passes of the ranks' parts, or
`--first`); and for each way to work in parallel:

errors     of the ranks' outputs, states and gradients against one card: the worst rank's, relative
           Frobenius
forward_s, both_s   the slowest rank's time; `one` is one card with the whole batch, in the same run
bytes      sent by each rank in both passes, and as derived
fla        flash-linear-attention's context parallelism, where it is installed and takes the batch
exchange_s the slowest rank's time of the exchange alone, forward; its cost is derived in seconds of
           the assumed link (`gdn_ref.distributed.cost`)
parts      each rank's part alone, on its card, with the states of the others given
marks      of both passes, by rank: when the device and the host had come how far (`rank_marks`)

The second takes one card, and each rank's part in turn with the states of the others given: what a
rank does beyond its share of one card's time is `beyond`. That is the model of chapter 18.
"""

import argparse
import datetime
import json
import os
import platform
import time
from pathlib import Path
from statistics import median
from unittest.mock import patch

import torch
import torch.distributed as dist
from rank_fla import fla_calls
from rank_marks import lines, marks, synchronize

import gdn_ref
from gdn_ref import distributed
from gdn_ref.distributed import cost, exchange, relay, rule

WAYS = ("ring", "all_gather", "tree", "relay", "heads", "fla")
BATCHES = ("one sequence", "packed", "zig-zag", "uneven")
NAMES = ("o", "S", "dq", "dk", "dv", "dg", "dbeta")
BANDWIDTH = 200e9  # of the link that `cost` assumes
OPTIONS = {"use_qk_l2norm_in_kernel": True, "output_final_state": True, "state_v_first": True}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tokens", type=int, default=262144)
    parser.add_argument("--heads", type=int, nargs=2, default=(16, 32), help="of keys, of values")
    parser.add_argument("--size", type=int, default=128, help="of a head")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument(
        "--rows", type=int, default=5, help="timed calls, of which the median counts"
    )
    parser.add_argument(
        "--first", type=float,
        help="tokens of the first rank for each token of another, in the batch of uneven shards",
    )  # fmt: skip
    parser.add_argument("--ways", nargs="+", default=WAYS, choices=WAYS)
    parser.add_argument("--batches", nargs="+", default=BATCHES, choices=BATCHES)
    parser.add_argument("--in-turn", type=int, nargs="+", help="numbers of ranks, on one card")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def inputs(given, device):
    """The whole batch, the same on every rank: q, k, v, g, beta, and the gradient of o."""
    torch.manual_seed(0)
    T, (H, HV), D, dtype = given.tokens, given.heads, given.size, getattr(torch, given.dtype)
    on = {"device": device}
    q, k = (torch.randn(1, T, H, D, dtype=dtype, **on) for _ in range(2))
    v, do = (torch.randn(1, T, HV, D, dtype=dtype, **on) for _ in range(2))
    g = -torch.exp(torch.linspace(-7, 0, HV, **on)) * torch.rand(1, T, HV, **on)
    return (q, k, v, g, torch.rand(1, T, HV, **on)), do


def seconds(call, rows, device, together=lambda: None):
    """Median time of a call, after two that do not count."""
    times = []
    for row in range(rows + 2):
        together()
        synchronize(device)
        begin = time.perf_counter()
        call()
        synchronize(device)
        if row > 1:
            times.append(time.perf_counter() - begin)
    return median(times)


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


def error(actual, expected):
    """Relative, over the whole; 0 where there is nothing."""
    size = expected.double().norm().item()
    return (actual.double() - expected.double()).norm().item() / (size or 1.0)


def exchange_seconds(cp, HV, D, device, given):
    """Time of the states' way alone, with maps that are there."""
    S = torch.zeros(HV, D, D, device=device, dtype=torch.float32)
    F = torch.eye(D, device=device).expand(HV, D, D).contiguous()
    maps = {p.index: (None if p.before is None else F, S) for p in cp.mine}
    return seconds(lambda: exchange.incoming(cp, maps, S), given.rows, device, dist.barrier)


def derived_seconds(cp, HV, D):
    """The same by `cost`, for the link that is assumed there."""
    bytes_ = 4 * HV * D * D
    return cost.costs(cp, bytes_, bytes_)[cp.exchange] / BANDWIDTH


def given_states(cp, maps, like, reverse=False):
    """What would come from the other ranks; zeros take as long."""
    before, _ = cost.neighbours(reverse)
    return {p.index: torch.zeros_like(like) for p in cp.mine if before(p) is not None}


def no_ring(cp, leave, like, reverse=False):
    """The relay's part of one rank: every state is there."""
    before, after = cost.neighbours(reverse)
    states = given_states(cp, None, like, reverse)
    for p in cp.mine:
        if after(p) is not None:
            leave(p, states.get(p.index))
    return states


def part(given, tokens, do, cp, parallel, device):
    """Both passes of one rank alone, which waits for nobody: seconds."""
    calls = passes(
        distributed.chunk_gated_delta_rule, [cp.shard(x) for x in tokens], cp.shard(do),
        cp_context=cp, parallel=parallel,
    )  # fmt: skip
    with patch.object(rule, "incoming", given_states), patch.object(relay, "ring", no_ring):
        return [seconds(call, given.rows, device) for call in calls]


def parts(given, tokens, do, device):
    """Of one sequence in equal shards: each rank's part alone, and how much more a token takes on
    another rank than on the first one, forward."""
    cu_seqlens, R = torch.tensor([0, given.tokens]), dist.get_world_size()
    cp = distributed.CPContext.alone(cu_seqlens, dist.get_rank(), R)
    found = [None] * R
    dist.all_gather_object(found, part(given, tokens, do, cp, "sequence", device))
    first, *others = (forward for forward, _ in found)
    return found, max(max(others, default=0) / first - 1, 0)


def against_one(given, tokens, do, cu_seqlens, layout, lengths, device):
    """One batch on the ranks of this run, beside one card."""
    whole = passes(
        gdn_ref.chunk_gated_delta_rule, tokens, do, cu_seqlens=cu_seqlens.to(device)
    )  # fmt: skip
    expected = whole[1]()
    times = [seconds(call, given.rows, device, dist.barrier) for call in whole]
    found = {"one": dict(zip(("forward_s", "both_s"), times, strict=True))}
    R, (H, HV), D = dist.get_world_size(), given.heads, given.size
    ways = [("sequence", how) for how in given.ways if how in ("ring", "all_gather", "tree")]
    ways += [(way, "ring") for way in given.ways if way == "relay" or way == "heads" and H % R == 0]
    for parallel, how in ways:
        if dist.get_rank() == 0:
            print("at", layout, len(cu_seqlens) - 1, parallel, how, flush=True)
        cp = distributed.build_cp_context(
            cu_seqlens, layout=layout, lengths=lengths, exchange=how
        )  # fmt: skip
        here, do_here = [cp.shard(x) for x in tokens], cp.shard(do)
        forward, both = passes(
            distributed.chunk_gated_delta_rule, here, do_here, cp_context=cp, parallel=parallel
        )
        got = both()
        sent, ends = cp.bytes_sent, cp.ends_here()
        want = [cp.shard(expected[0]), expected[1][ends], *map(cp.shard, expected[2:])]
        got = [got[0], got[1][ends], *got[2:]]
        row = {
            "errors": [error(a, b) for a, b in zip(got, want, strict=True)],
            "times": [seconds(call, given.rows, device, dist.barrier) for call in (forward, both)],
            "bytes": sent,
            "derived": derived(cp, tokens, parallel, HV, D, got[1].element_size()),
        }
        if parallel == "sequence":
            row["exchange_s"] = exchange_seconds(cp, HV, D, device, given)
            row["marks"] = marks(both, given.rows, device)
        rows = [None] * R
        dist.all_gather_object(rows, row)
        times = [max(t) for t in zip(*(r["times"] for r in rows), strict=True)]
        worst = [max(e) for e in zip(*(r["errors"] for r in rows), strict=True)]
        found[f"{parallel}, {how}" if parallel == "sequence" else parallel] = {
            "forward_s": times[0], "both_s": times[1],
            "forward_speedup": found["one"]["forward_s"] / times[0],
            "both_speedup": found["one"]["both_s"] / times[1],
            "errors": dict(zip(NAMES, worst, strict=True)),
            "bytes": [r["bytes"] for r in rows], "bytes_derived": [r["derived"] for r in rows],
        }  # fmt: skip
        if parallel == "sequence":
            found[f"{parallel}, {how}"] |= {
                "exchange_s": max(r["exchange_s"] for r in rows),
                "exchange_derived_s": derived_seconds(cp, HV, D),
                "marks": [r["marks"] for r in rows],
            }
        if any(r["bytes"] != r["derived"] for r in rows):
            raise AssertionError(f"{parallel}: {found}")
    if lengths is None and "fla" in given.ways:  # theirs are equal
        found["fla"] = of_fla(given, tokens, do, cu_seqlens, layout, expected[0], device)
    return found


def of_fla(given, tokens, do, cu_seqlens, layout, o, device):
    """Times of flash-linear-attention's ranks, and the error of their outputs, where it runs."""
    cp = distributed.build_cp_context(cu_seqlens, layout=layout)
    begin = time.perf_counter()
    try:
        here = [cp.shard(x) for x in tokens]
        forward, both = fla_calls(here, cp.shard(do), cu_seqlens, layout)
        found = {"tuned_s": time.perf_counter() - begin, "error": error(forward(), cp.shard(o))}
        found["forward_s"] = seconds(forward, given.rows, device, dist.barrier)
        print(layout, "fla", found, flush=True)
    except (ImportError, AssertionError, RuntimeError, ValueError) as refused:
        return {"refused": str(refused)[:200]}
    try:
        found["both_s"] = seconds(both, given.rows, device, dist.barrier)
    except RuntimeError as refused:
        found["both_refused"] = str(refused)[:200]
    return found


def derived(cp, tokens, parallel, HV, D, itemsize):
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


def across(given):
    """One run of torchrun."""
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    tokens, do = inputs(given, device)
    T = given.tokens
    packed = [0, T // 5, T // 5, T // 2 + 1, T - T // 7, T]
    R = dist.get_world_size()
    alone, beyond = None, (given.first or 1) - 1
    if given.first is None and "uneven" in given.batches:
        alone, beyond = parts(given, tokens, do, device)
    uneven = cost.balanced(T, R, beyond)
    batches = {
        "one sequence": ([0, T], "contiguous", None), "packed": (packed, "contiguous", None),
        "zig-zag": ([0, T], "zigzag", None),
        "uneven": ([0, T], "contiguous", uneven),
    }  # fmt: skip
    found = {
        name: against_one(given, tokens, do, torch.tensor(offsets), layout, lengths, device)
        for name, (offsets, layout, lengths) in batches.items()
        if name in given.batches
    }
    if dist.get_rank() == 0:
        shards = {"first": 1 + beyond, "uneven": uneven, "parts_s": alone}
        record(given, device, {"ranks": R, **shards, "batches": found})
        summary(found)
    dist.barrier()
    dist.destroy_process_group()


def summary(found):
    """The speeds once more, and what the ranks did when."""
    for name, ways in found.items():
        for way, row in ways.items():
            if "forward_speedup" in row:
                print(
                    f"{name}, {way}:", *(f"{row[f'{x}_speedup']:.3f}" for x in ("forward", "both"))
                )
            for rank, at in enumerate(row.get("marks", ())):
                print(*(f"    rank {rank}: {line}" for line in lines(at)), sep="\n")


def in_turn(given):
    """Each rank's part of one sequence, alone on one card."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tokens, do = inputs(given, device)
    cu_seqlens = torch.tensor([0, given.tokens])
    whole = passes(gdn_ref.chunk_gated_delta_rule, tokens, do, cu_seqlens=cu_seqlens.to(device))
    one = [seconds(call, given.rows, device) for call in whole]
    found = {"one": one, "ranks": {}}

    for R in given.in_turn:
        rows = []
        for rank in range(R):
            cp = distributed.CPContext.alone(cu_seqlens, rank, R)
            row = {"rank": rank, "tokens": cp.length}
            for parallel in ("sequence", "relay"):
                times = part(given, tokens, do, cp, parallel, device)
                share = [t * cp.length / given.tokens for t in one]
                row[parallel] = {
                    "forward_s": times[0], "both_s": times[1],
                    "forward_beyond": times[0] / share[0] - 1,
                    "both_beyond": times[1] / share[1] - 1,
                }  # fmt: skip
            rows.append(row)
            print(R, row, flush=True)
        found["ranks"][R] = rows
    record(given, device, found)


def record(given, device, found):
    """On the screen, and in a file if asked."""
    sizes = {"tokens": given.tokens, "heads": list(given.heads), "size": given.size}
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    text = {
        "what": __doc__.partition("\n")[0],
        "date": datetime.date.today().isoformat(),
        "device": torch.cuda.get_device_name() if device.type == "cuda" else platform.machine(),
        "versions": versions,
        "sizes": sizes | {"dtype": given.dtype},
        **found,
    }
    print(json.dumps(text, indent=1))
    if given.json is not None:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(text, indent=1) + "\n")


if __name__ == "__main__":
    given = arguments()
    in_turn(given) if given.in_turn else across(given)
