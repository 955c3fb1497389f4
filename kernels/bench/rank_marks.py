"""When a rank has come how far in both passes: its device, and its host, which launches.

Milliseconds after the start, medians. Where the host is later at a mark than the device at the one
before, the device has waited for it. What is marked is the end of

shard      the run of the rank's own tokens         response   that of what feels the state before
exchange   states or their gradients have come      corrected  outputs that feel it
product    dO^T O_F                                 gradients  the ordinary backward pass
"""

import time
from contextlib import ExitStack
from statistics import median
from unittest.mock import patch

import torch
import torch.distributed as dist

from gdn_ref.distributed import launched, response, rule


def synchronize(device):
    """Until the device is done."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def marks(both, rows, device):
    """Of both passes: `(what is done, milliseconds of the device, of the host)`, in turn."""
    by, found = response, response.Response
    if device.type == "cuda":
        by, found = launched, launched.Launched
    steps = {
        "shard": (rule, "run"), "response": (by, "respond"), "exchange": (rule, "incoming"),
        "corrected": (found, "correct"), "product": (found, "product"),
        "gradients": (rule, "gradients"),
    }  # fmt: skip
    times = {}

    def mark(name):
        event = torch.cuda.Event(enable_timing=True) if device.type == "cuda" else None
        if event is not None:
            event.record()
        return name, event, time.perf_counter()

    def marked(name, function):
        def call(*arguments, **options):
            result = function(*arguments, **options)
            passed.append(mark(name))
            return result

        return call

    for row in range(rows + 2):
        dist.barrier()
        synchronize(device)
        passed = [mark("start")]
        with ExitStack() as stack:
            for name, (owner, function) in steps.items():
                whole = getattr(owner, function)
                stack.enter_context(patch.object(owner, function, marked(name, whole)))
            both()
        passed.append(mark("end"))
        synchronize(device)
        _, event, host = passed[0]
        for n, (name, at, now) in enumerate(passed[1:] if row > 1 else ()):
            on_device = event.elapsed_time(at) if event is not None else 1e3 * (now - host)
            times.setdefault((n, name), []).append((on_device, 1e3 * (now - host)))
    return [
        (name, *(median(x) for x in zip(*at, strict=True)))
        for (_, name), at in sorted(times.items())
    ]


def lines(rows):
    """`marks` as text."""
    return [
        f"{name:10} device {device:7.3f} ms, host {host:7.3f} ms" for name, device, host in rows
    ]
