"""Exercises of chapter 14: bytes by hand, the limit that binds, segments, slices."""

import math

from ..proofs.ch14_kernels import DESIGNS, heads, run
from . import Wrong, exercise


@exercise("14-hand")
def by_hand(answer):
    """Bytes of both kernels for 4 tokens, one key head, two value heads, d = C = 2."""
    memory = run(DESIGNS["two"], 2, 2, heads(4, 1, 2, 2, 2))
    right = sum(memory.moved.values())
    if answer == 2 * sum(run(DESIGNS["two"], 2, 2, heads(4, 1, 1, 2, 2)).moved.values()):
        raise Wrong("that is twice one head; queries and keys are shared")
    if answer != right:
        side = "more" if answer < right else "less"
        raise Wrong(f"the kernels move {side}; list what each reads and writes, head by head")


@exercise("14-binds")
def binds(answer):
    """`answer(bytes_us, flops_us, chunks, programs, link_us, processors)` names the limit."""
    cases = (
        (367, 179, 512, 64, 1.4, 132),
        (367, 179, 128, 64, 1.4, 132),
        (50, 90, 8, 1024, 1.0, 132),
        (50, 90, 8, 2048, 1.0, 132),
        (50, 90, 32, 133, 1.0, 132),
        (0.03, 0.004, 1, 1, 1.4, 132),
    )
    for case in cases:
        bytes_us, flops_us, chunks, programs, link_us, processors = case
        rounds = math.ceil(programs / processors)
        times = {"bytes": bytes_us, "FLOPs": flops_us, "chain": rounds * chunks * link_us}
        found = answer(*case)
        if found not in times:
            raise Wrong(f"expected 'bytes', 'FLOPs' or 'chain', got {found!r}")
        if found != max(times, key=times.get):
            waits = "more programs than processors" if rounds > 1 else f"{chunks} links in a row"
            raise Wrong(f"for {bytes_us} us of bytes, {flops_us} of FLOPs and {programs} programs "
                        f"it is not {found}; think of {waits}")  # fmt: skip


@exercise("14-segments")
def segments(answer):
    """`answer(N)` divides N and has the shortest chain; N itself means no segments."""
    for N in (512, 24, 6, 4096, 96, 21, 52, 7, 2):
        m = answer(N)
        if m != int(m) or m < 1 or N % m:
            raise Wrong(f"for {N} chunks: {m} is no whole number that divides them")

        def length(m, N=N):
            return 3 * N if m == N else 6 * m + N // m - 2

        best = min(length(m) for m in range(1, N + 1) if N % m == 0)
        if length(m) > best:
            hint = "without segments" if best == 3 * N else f"with other segments than of {m}"
            raise Wrong(f"for {N} chunks: {length(m)} products in a row; {hint} there are fewer")


@exercise("14-slices")
def slices(answer):
    """`answer(d_k, b, rho)`: up to how many slices computing scores again is no slower."""
    for d_k, b, rho in ((128, 2, 295), (64, 2, 295), (256, 2, 295), (128, 4, 20), (256, 2, 20),
                        (128, 2, 128)):  # fmt: skip
        right = math.floor(1 + b * rho / d_k)
        found = answer(d_k, b, rho)
        if found != right:
            side = "fewer" if found > right else "more"
            raise Wrong(f"d_k = {d_k}, b = {b}, rho = {rho}: {side} than {found}")
