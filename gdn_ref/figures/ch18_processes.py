"""Chapter 18: two processes, each with its own tokens, started from a notebook.

Each runs `work`: it takes its rows of the batch, calls the sharded rule forwards and backwards, and
hands back what it found. `gdn_ref.distributed` does the rest.
"""

import multiprocessing
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist

from gdn_ref import distributed

SECONDS = 50  # until a process that does not answer is given up


def work(rank, R, store, given, results):
    """One rank: its rows of every tensor, both passes, and the bytes that it sent."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{store}", rank=rank, world_size=R)
    tensors, do, cu_seqlens, options = given
    cp = distributed.build_cp_context(cu_seqlens, timeout_s=SECONDS, **options.pop("layout", {}))
    mine = {name: cp.shard(x).requires_grad_() for name, x in tensors.items()}
    begin = time.perf_counter()
    o, _ = distributed.chunk_gated_delta_rule(**mine, cp_context=cp, **options)
    forward = time.perf_counter() - begin
    grads = torch.autograd.grad(o, list(mine.values()), cp.shard(do))
    found = {"tokens": cp.length, "o": o.detach(), "bytes": cp.bytes_sent, "seconds": forward}
    found |= {f"d{name}": dx for name, dx in zip(mine, grads, strict=True)}
    results.put((rank, {name: as_numpy(x) for name, x in found.items()}))
    dist.barrier()
    dist.destroy_process_group()


def as_numpy(x):
    return x.numpy() if isinstance(x, torch.Tensor) else x


def on_ranks(R, tensors, do, cu_seqlens, **options):
    """What each of R processes found, in the order of the ranks."""
    processes = multiprocessing.get_context("spawn")
    results = processes.Queue()
    with tempfile.TemporaryDirectory() as folder:
        given = tensors, do, cu_seqlens, options
        place = (R, str(Path(folder) / "store"), given, results)
        workers = [processes.Process(target=work, args=(rank, *place)) for rank in range(R)]
        for worker in workers:
            worker.start()
        try:
            found = dict(results.get(timeout=SECONDS) for _ in workers)
        finally:
            for worker in workers:
                worker.join(5)
                worker.kill()
    return [found[rank] for rank in range(R)]
