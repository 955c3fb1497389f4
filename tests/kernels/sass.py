"""What the compiler makes of single lines of two kernels: machine code by line, with no GPU.

    python tests/kernels/sass.py --record

writes book/_data/bench/solve_sass.json, from which the figure `chunk-microscope` takes its numbers;
without the option it prints them. Like `aot.py`, whose cases these are, a process of its own.

Triton gives ptxas the line of each operation, and the disassembler prints it above the instructions
(`-gi`). An HGMMA runs beside what follows, and ptxas moves that in between; so products are counted
by groups: all HGMMA up to the one that ends a group (`gsb0`) belong to the first `tl.dot` among
their lines. If there is none, then to that of the same group where the chunk is compiled the other
time: whole chunks and the last one are compiled apart, with the same products in the same order.
"""

import datetime
import json
import platform
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

import triton
from aot import forward_configurations, key_of, printed, source_of
from triton.backends.compiler import GPUTarget

KERNELS = Path(__file__).parents[2] / "kernels"
RECORD = KERNELS.parent / "book" / "_data" / "bench" / "solve_sass.json"
CAPABILITY = 90
CASES = {  # case of `aot.py` -> the file whose lines are counted
    "transform 16 bits K=128 V=128 bfloat16": "forward/transform_mma.py",
    "scan K=128 V=128 bfloat16": "forward/scan.py",
}
PLACE = re.compile(r'//## File "(.*)", line (\d+)')
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ )?\s*(([A-Z]\w*)[^;]*?) *;")


def disassembled(case):
    """The machine code of one kernel, with lines."""
    kernel, signature, constants, options = case
    source, target = source_of(kernel, signature, constants), GPUTarget("cuda", CAPABILITY, 32)
    compiled = triton.compile(source, target=target, options=options)
    with tempfile.NamedTemporaryFile(suffix=".cubin") as cubin:
        cubin.write(compiled.asm["cubin"])
        cubin.flush()
        tools = Path(triton.__file__).parent / "backends/nvidia/bin"
        return printed(tools / "nvdisasm", "-gi", "-c", cubin.name)


def by_line(code, file):
    """Text of a line -> its instructions by kind, and the first of those that multiply."""
    lines = (KERNELS / file).read_text().splitlines()
    found, groups, group, text = {}, [], [], ""

    def count(line, kind, words, times=1):
        entry = found.setdefault(line, {"counts": Counter(), "first": {}})
        entry["counts"][kind] += times
        if kind in ("FFMA", "FMUL", "HMMA", "HGMMA"):
            entry["first"].setdefault(kind, words)

    for row in code.splitlines():
        if place := PLACE.search(row):
            text = lines[int(place[2]) - 1].strip() if place[1].endswith(file) else ""
        elif instruction := INSTRUCTION.search(row):
            words, kind = instruction[1], instruction[2]
            if kind != "HGMMA":
                count(text, kind, words)
                continue
            group.append((text, words))
            if "gsb0" in words:
                dots = [line for line, _ in group if "tl.dot(" in line]
                groups.append((dots[0] if dots else "", group[0][1], len(group)))
                group = []
    for at, (line, words, times) in enumerate(groups):
        other = groups[(at + len(groups) // 2) % len(groups)]
        assert times == other[2] and len({line, other[0], ""}) <= 2, (line, other[0])
        count(line or other[0], "HGMMA", words, times)
    found.pop("", None)
    return found


def kernels():
    """Case -> key of what was compiled, and the counts by line of its file."""
    cases = {name: case for name, *case in forward_configurations(CAPABILITY)}
    return {
        name: {
            "key": key_of(CAPABILITY, *cases[name]),
            "file": file,
            "lines": by_line(disassembled(cases[name]), file),
        }
        for name, file in CASES.items()
    }


if __name__ == "__main__":
    made = {
        "what": "instructions of two forward kernels by line of their source",
        "command": "python tests/kernels/sass.py --record",
        "architecture": f"sm_{CAPABILITY}", "triton": triton.__version__,
        "python": platform.python_version(), "date": str(datetime.date.today()),
        "kernels": kernels(),
    }  # fmt: skip
    text = json.dumps(made, indent=1)
    if sys.argv[1:] == ["--record"]:
        RECORD.write_text(text + "\n")
    else:
        print(text)
