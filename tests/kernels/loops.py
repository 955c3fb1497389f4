"""Loads and stores of spilled numbers in the loops of the scan for Hopper, as machine code.

    python tests/kernels/loops.py

Prints, for each scan, those of each loop that starts products. What is spilled outside of them is
paid once a program.
"""

import json
import re
import sys
import tempfile
from pathlib import Path

import triton
from aot import hopper_configurations, printed, source_of
from triton.backends.compiler import GPUTarget


def machine_code(kernel, signature, constants, options):
    source, target = source_of(kernel, signature, constants), GPUTarget("cuda", 90, 32)
    compiled = triton.compile(source, target=target, options=options)
    with tempfile.NamedTemporaryFile(suffix=".cubin") as cubin:
        cubin.write(compiled.asm["cubin"])
        cubin.flush()
        tools = Path(triton.__file__).parent / "backends/nvidia/bin"
        return printed(tools / "nvdisasm", "-c", cubin.name).splitlines()


def loops(lines):
    """Products, and spills, of each loop: it ends in a condition, and a jump back to its label."""
    labels = {
        m[1]: at for at, line in enumerate(lines) if (m := re.match(r"\s*(\.L_x_\d+):", line))
    }
    for at, line in enumerate(lines):
        jump = re.search(r"@!?U?P\d+ BRA `\((\.L_x_\d+)\)", line)
        if jump and labels[jump[1]] < at:
            body = "\n".join(lines[labels[jump[1]] : at])
            if "HGMMA" in body:
                yield body.count("HGMMA"), len(re.findall(r"\b(?:LDL|STL)\b", body))


if __name__ == "__main__":
    scans = {
        name: list(loops(machine_code(*case)))
        for name, *case in hopper_configurations(90)
        if name.startswith("hopper scan") and "bf16" in name and "training" not in name
    }
    json.dump(scans, sys.stdout, indent=1)
