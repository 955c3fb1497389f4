"""When kernels that start early wait for the one before, as code: no GPU needed.

    python tests/kernels/early.py

Prints, for each kernel of each architecture, one case: what of memory it touches before it waits,
whether it waits, and whether it lets the next one start before it has waited.
"""

import json
import re
import sys

from aot import FAMILIES, RUNS, plain_code

WAITS, LETS_GO = "griddepcontrol.wait", "griddepcontrol.launch_dependents"
TOUCHES = re.compile(r"tt\.(load|store|atomic_\w+|descriptor_\w+)|async_copy_global|async_tma_copy")


def order(code):
    """Of a kernel: does it wait, what it touches before, and does it let go before."""
    lines = code.splitlines()
    places = {x: [i for i, line in enumerate(lines) if x in line] for x in (WAITS, LETS_GO)}
    waits = min(places[WAITS], default=None)
    before = [line.strip() for line in lines[:waits] if TOUCHES.search(line)]
    lets_go = [waits is None or i < waits for i in places[LETS_GO]]
    return {"waits": waits is not None, "before": before, "lets go": lets_go}


if __name__ == "__main__":
    found = {}
    for capability, family in RUNS:
        for configurations in FAMILIES[family]:
            for name, kernel, *case in configurations(capability):
                unlike = f"sm_{capability} {kernel.fn.__name__}"
                unlike += ", by length" * ("by length" in name) + ", Hopper" * ("hopper" in name)
                unlike += ", early" * case[1].get("EARLY", False)
                if unlike not in found:
                    found[unlike] = order(plain_code(capability, kernel, *case))
    json.dump(found, sys.stdout, indent=1)
