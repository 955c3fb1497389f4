"""The causal convolution beside its peers and a copy, on one GPU in one run.

    python kernels/bench/compare_conv.py --json _build/bench/conv.json

Prefill and decoding with the channels of Qwen3-Next (8192, width 4), bfloat16. For each: the time
on the device (CUDA-graph replay), the time of a call from Python, and the share of a copy's
bandwidth (inputs read once, outputs written once). Peers that are not installed are left out.
"""

import argparse
import json
from pathlib import Path

import torch
from compare import copy_bandwidth, device_us, eager_us

from gdn_ref import causal_conv1d, causal_conv1d_update

D, W = 8192, 4
PREFILL = [(1, 2048), (1, 8192), (1, 32768), (8, 1024)]  # B, T
PACKED = [[512] * 16, [16, 192] * 64]
DECODING = [(1, 1), (8, 1), (64, 1), (256, 1), (64, 4)]


def prefill_calls(x, weight, cu_seqlens):
    """Contenders, by name."""
    calls = {"gdn_ref": lambda: causal_conv1d(x, weight, cu_seqlens=cu_seqlens)}
    try:
        from fla.modules.convolution import causal_conv1d as theirs

        calls["fla"] = lambda: theirs(x=x, weight=weight, activation="silu", cu_seqlens=cu_seqlens)
    except ImportError:
        pass
    return calls


def measure(name, calls, moved, bandwidth):
    """One row per contender."""
    for who, call in calls.items():
        try:
            device, eager = device_us(call), eager_us(call)
        except Exception as error:
            if who == "gdn_ref":
                raise
            print(f"{name:24s} {who:8s} {type(error).__name__}: {error}")
            continue
        share = moved / bandwidth / device
        print(f"{name:24s} {who:8s} {device:9.1f} us {eager:9.1f} us eager {share:6.0%} of a copy")
        yield {"case": name, "who": who, "device_us": device, "eager_us": eager, "share": share}


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    path = parser.parse_args().json
    bandwidth, rows = copy_bandwidth() / 1e6, []
    weight = torch.randn(D, W, device="cuda", dtype=torch.bfloat16)
    print(f"{torch.cuda.get_device_name()}: a copy moves {bandwidth / 1e6:.2f} TB/s")
    for lengths in [*([T] * B for B, T in PREFILL), *PACKED]:
        packed = lengths in PACKED
        shape = (1, sum(lengths), D) if packed else (len(lengths), lengths[0], D)
        x = torch.randn(shape, device="cuda", dtype=torch.bfloat16)
        offsets = torch.tensor([0, *lengths], device="cuda").cumsum(0) if packed else None
        name = f"{'packed' if packed else 'padded'} {len(lengths)} x {max(lengths)}"
        calls = prefill_calls(x, weight, offsets)
        rows += measure(name, calls, 4 * x.numel(), bandwidth)
    for N, T in DECODING:
        x = torch.randn(N, T, D, device="cuda", dtype=torch.bfloat16)
        pool = torch.randn(2 * N, D, W - 1, device="cuda", dtype=torch.bfloat16)
        slots = torch.randperm(2 * N, device="cuda")[:N]
        call = {"gdn_ref": lambda: causal_conv1d_update(x, pool, weight, slot_idx=slots)}  # noqa: B023
        moved = 4 * x.numel() + 4 * N * D * (W - 1) + 2 * weight.numel()
        rows += measure(f"update {N} x {T}", call, moved, bandwidth)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        record = {"gpu": torch.cuda.get_device_name(), "bytes_per_us": bandwidth, "rows": rows}
        path.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
