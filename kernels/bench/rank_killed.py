"""What becomes of a run on many ranks of which one is killed in mid-call.

    torchrun --standalone --nproc-per-node 2 kernels/bench/rank_killed.py

All ranks run both passes of one sequence, call after call. After some calls the last rank has
itself killed while it is inside one (SIGKILL: it can tell the others nothing). The run must end,
and in an error: that is what is looked at, beside the time of the kill that is printed.
"""

import os
import signal
import time
from argparse import Namespace
from threading import Timer

import torch
import torch.distributed as dist
from rank_calls import inputs, passes

from gdn_ref import distributed

GIVEN = {
    True: Namespace(tokens=65536, heads=(16, 32), size=128, dtype="bfloat16"),
    False: Namespace(tokens=512, heads=(2, 4), size=16, dtype="float32"),
}  # with cards, and without any
CALLS = 5  # before the one in which the rank dies


def main():
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    given = GIVEN[cuda]
    tokens, do = inputs(given, device)
    cp = distributed.build_cp_context(torch.tensor([0, given.tokens]))
    _, both = passes(
        distributed.chunk_gated_delta_rule, [cp.shard(x) for x in tokens], cp.shard(do),
        cp_context=cp,
    )  # fmt: skip
    for _ in range(CALLS):
        begin = time.perf_counter()
        both()
        float(do[0, 0, 0, 0])  # waits for the device
        took = time.perf_counter() - begin
    if dist.get_rank() == dist.get_world_size() - 1:
        Timer(took / 2, os.kill, (os.getpid(), signal.SIGKILL)).start()
        print(f"killed {took / 2:.4f} s into a call, at {time.time():.1f}", flush=True)
    while True:  # without end, where a lost rank is not noticed
        both()


if __name__ == "__main__":
    main()
