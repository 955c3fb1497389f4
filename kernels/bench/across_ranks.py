"""One sequence, or a packed batch, on many ranks: checked against one card, timed, bytes counted.

    torchrun --standalone --nproc-per-node N kernels/bench/across_ranks.py --json FILE
    python kernels/bench/across_ranks.py --in-turn 1 2 4 8 --json FILE

The first takes N cards (NCCL), or N processes without any (gloo; then give small sizes, such as
`--tokens 512 --heads 2 4 --size 16 --dtype float32`). For one sequence, for a packed batch whose
sequences cross the ranks, for one of 32 documents, for these in zig-zag shards or in halves, and
for one whose first rank has more tokens, for it computes no map (as many more as balance the
forward passes of the ranks' parts, or `--first`); and for each way to work in parallel:

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
from pathlib import Path

import torch
import torch.distributed as dist
from rank_alone import part, parts
from rank_calls import BATCHES, WAYS, batches, inputs, passes
from rank_check import against_one
from rank_marks import lines
from rank_times import seconds

import gdn_ref
from gdn_ref import distributed


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


def across(given):
    """One run of torchrun."""
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    tokens, do = inputs(given, device)
    R = dist.get_world_size()
    alone, beyond = None, (given.first or 1) - 1
    if given.first is None and "uneven" in given.batches:
        alone, beyond = parts(given, tokens, do, device)
    chosen, uneven = batches(given, R, beyond)
    found = {name: against_one(given, tokens, do, batch, device) for name, batch in chosen.items()}
    if dist.get_rank() == 0:
        shards = {"first": 1 + beyond, "uneven": uneven, "parts_s": alone}
        record(given, device, {"ranks": R, **shards, "batches": found})
        summary(found)
    dist.barrier()
    dist.destroy_process_group()


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
