"""A pytest plugin for racecheck: at a barrier in shared memory, each thread arrives for itself.

    python -m pytest -p all_arrive ...

In the kernels for Hopper a group of warps comes together (`bar.sync`; `bar.warp.sync` of a single
warp), and then one of its threads arrives at the barrier for all. That orders what all of them have
read and written before; but racecheck, up to 2026.4 at least, takes it for the order of that one
thread, and names right programs (`racecheck_limits.cu`, `test_sanitizer_limits.py`). So here each
of the threads arrives, 128 arrivals stand for one, and all else stays.
"""

import os
import re
from tempfile import TemporaryDirectory

from triton.backends.nvidia.compiler import CUDABackend

cache = TemporaryDirectory()  # Triton's must not have what is compiled here
ARRIVALS = 128  # for one: one of each thread of four warps, or four of each thread of one
TOGETHER = re.compile(r"\tbar\.(?:sync \t\d+, (\d+)|warp\.sync \t-1);")
GOES_ON = re.compile(r"\t(?:@!?%p\d+ )?(?:ld|st|cp|bra|wgmma)[a-z]*\b|\$L__BB")
ARRIVE = re.compile(r"\t@(%p\d+) mbarrier\.arrive\.shared::cta\.b64 _, \[(%r\d+)\];")
EXPECT = r"\t(@%p\d+) mbarrier\.arrive\.expect_tx\.shared(?:::cta)?\.b64 _, (\[%r\d+\]), (\d+);"
EXPECT_AND_ARRIVE = r"\t\1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 \2, \3;" + (
    rf"\n\t\1 mbarrier.arrive.shared::cta.b64 _, \2, {ARRIVALS};"
)
INIT = r"(mbarrier\.init\.shared::cta\.b64 \[%r\d+\]), (\d+);"


def besides_the_thread(ptx, p):
    """The condition of an arrival, without that on the thread; none, if there is no other."""
    if both := re.search(rf"\tand\.pred \t{p}, (%p\d+), (%p\d+);", ptx):
        others = [x for x in both.groups() if not is_one_thread(ptx, x)]
        assert len(others) == 1
        return f"@{others[0]} "
    assert is_one_thread(ptx, p)
    return ""


def is_one_thread(ptx, p):
    return re.search(rf"\tsetp\.eq\.b32 \t{p}, %r\d+, 0;", ptx)


def with_all_arrivals(ptx):
    if "setmaxnreg" not in ptx:  # no groups of warps
        return ptx
    lines, threads = [], None
    for line in ptx.split("\n"):
        if found := TOGETHER.match(line):
            threads = int(found[1] or 32)
        elif GOES_ON.match(line):
            threads = None
        elif found := ARRIVE.match(line):
            assert threads, "what comes before an arrival is not in order"
            condition, each = besides_the_thread(ptx, found[1]), ARRIVALS // threads
            line = f"\t{condition}mbarrier.arrive.shared::cta.b64 _, [{found[2]}], {each};"
        lines.append(line)
    ptx = re.sub(EXPECT, EXPECT_AND_ARRIVE, "\n".join(lines))
    return re.sub(INIT, lambda found: f"{found[1]}, {int(found[2]) * ARRIVALS};", ptx)


def make_ptx(*arguments, make_ptx=CUDABackend.make_ptx):
    return with_all_arrivals(make_ptx(*arguments))


CUDABackend.make_ptx = make_ptx
os.environ["TRITON_CACHE_DIR"] = cache.name
