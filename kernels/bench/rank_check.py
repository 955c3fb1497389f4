"""One batch in each way on the ranks of this run, beside one card: errors, times, bytes."""

import time

import rank_derived
import torch
import torch.distributed as dist
from rank_calls import passes, ways
from rank_fla import fla_calls
from rank_marks import marks
from rank_times import exchange_seconds, seconds

import gdn_ref
from gdn_ref import distributed

NAMES = ("o", "S", "dq", "dk", "dv", "dg", "dbeta")


def error(actual, expected):
    """Relative, over the whole; 0 where there is nothing."""
    size = expected.double().norm().item()
    return (actual.double() - expected.double()).norm().item() / (size or 1.0)


def of_rank(given, tokens, do, cp, parallel, expected, device):
    """One way, as this rank sees it."""
    HV, D = given.heads[1], given.size
    forward, both = passes(
        distributed.chunk_gated_delta_rule, [cp.shard(x) for x in tokens], cp.shard(do),
        cp_context=cp, parallel=parallel,
    )  # fmt: skip
    got = both()
    sent, ends = cp.bytes_sent, cp.ends_here()
    want = [cp.shard(expected[0]), expected[1][ends], *map(cp.shard, expected[2:])]
    got = [got[0], got[1][ends], *got[2:]]
    row = {
        "errors": [error(a, b) for a, b in zip(got, want, strict=True)],
        "times": [seconds(call, given.rows, device, dist.barrier) for call in (forward, both)],
        "bytes": sent,
        "derived": rank_derived.bytes_sent(cp, tokens, parallel, HV, D, got[1].element_size()),
    }
    if parallel == "sequence":
        row["exchange_s"] = exchange_seconds(cp, HV, D, device, given)
        row["exchange_derived_s"] = rank_derived.exchange_seconds(cp, HV, D)
        row["marks"] = marks(both, given.rows, device)
    return row


def together(rows, one):
    """One way, of all ranks: the slowest one's times, the worst one's errors."""
    forward_s, both_s = (max(times) for times in zip(*(r["times"] for r in rows), strict=True))
    worst = [max(errors) for errors in zip(*(r["errors"] for r in rows), strict=True)]
    found = {
        "forward_s": forward_s, "both_s": both_s,
        "forward_speedup": one["forward_s"] / forward_s,
        "both_speedup": one["both_s"] / both_s,
        "errors": dict(zip(NAMES, worst, strict=True)),
        "bytes": [r["bytes"] for r in rows], "bytes_derived": [r["derived"] for r in rows],
    }  # fmt: skip
    if "exchange_s" in rows[0]:
        found |= {
            "exchange_s": max(r["exchange_s"] for r in rows),
            "exchange_derived_s": rows[0]["exchange_derived_s"],
            "marks": [r["marks"] for r in rows],
        }
    return found


def against_one(given, tokens, do, batch, device):
    """One batch on the ranks of this run, beside one card."""
    offsets, layout, lengths = batch
    cu_seqlens, R = torch.tensor(offsets), dist.get_world_size()
    whole = passes(
        gdn_ref.chunk_gated_delta_rule, tokens, do, cu_seqlens=cu_seqlens.to(device)
    )  # fmt: skip
    expected = whole[1]()
    times = [seconds(call, given.rows, device, dist.barrier) for call in whole]
    found = {"one": dict(zip(("forward_s", "both_s"), times, strict=True))}
    for parallel, how in ways(given, R):
        if dist.get_rank() == 0:
            print("at", layout, len(offsets) - 1, parallel, how, flush=True)
        cp = distributed.build_cp_context(
            cu_seqlens, layout=layout, lengths=lengths, exchange=how
        )  # fmt: skip
        rows = [None] * R
        dist.all_gather_object(rows, of_rank(given, tokens, do, cp, parallel, expected, device))
        name = f"{parallel}, {how}" if parallel == "sequence" else parallel
        found[name] = together(rows, found["one"])
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
