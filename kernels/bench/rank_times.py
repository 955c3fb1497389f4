"""Seconds of a call, and of the exchange of states alone."""

import time
from statistics import median

import torch
import torch.distributed as dist
from rank_marks import synchronize

from gdn_ref.distributed import exchange


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


def exchange_seconds(cp, HV, D, device, given):
    """Time of the states' way alone, with maps that are there."""
    S = torch.zeros(HV, D, D, device=device, dtype=torch.float32)
    F = torch.eye(D, device=device).expand(HV, D, D).contiguous()
    maps = {p.index: (None if p.before is None else F, S) for p in cp.mine}
    return seconds(lambda: exchange.incoming(cp, maps, S), given.rows, device, dist.barrier)
