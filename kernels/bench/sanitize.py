"""The kernels' device tests under compute-sanitizer, several runs side by side, on one GPU.

    python kernels/bench/sanitize.py --json book/_data/bench/sanitizer_h100.json

Needs a CUDA GPU, and compute-sanitizer 2026.4 or newer on the PATH; the package
nvidia-cuda-sanitizer-api has it. Older ones know less of barriers and of the copy engine. PyTorch's
caching allocator is off, so that each tensor is an allocation of its own; its kernels are not
checked. The tools look for:

memcheck   accesses outside of what was allocated
initcheck  reads of global memory that nobody has written
racecheck  accesses to shared memory in no order; slow, so on few tests
synccheck  barriers that are used wrongly

racecheck runs with the plugin `all_arrive`, without which it names right programs, ours among them.
The runs called `limits` (`test_sanitizer_limits.py`) show how far a tool can be believed: what
initcheck says of `copied` it says of a right program, and racecheck has to find what is wrong with
`hasty`; as it has with our kernels after one edit each (`unordered.py`), whether or not tests fail.
Exits with 1 if anything else is found, or one of these is not.

`errors` is what the tool has counted, null if it did not come to its end; a note names the kernels
where it found them, with the lines. Tests of graphs and of memory are left out, since they want the
allocator.
"""

import argparse
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
import unordered
from compare import versions, write_record

ROOT = Path(__file__).parents[2]
TESTS = Path("tests", "kernels")
PASSES = {"forward": "test_device.py", "backward": "test_device_backward.py"}
FILES = {**PASSES, "fused": "test_device_fused.py", "shards": "test_shards.py"}
FILES["limits"] = "test_sanitizer_limits.py"
COMMAND = ["compute-sanitizer", "--kernel-name", "regex=^[a-z0-9_]+_kernel$"]
COMMAND += ["--check-tensor-ops", "yes", "--tool"]
PYTEST = ["-m", "pytest", "-m", "gpu"]
SMALL = "configuration and (64-64 or 128-128 or 256-256) and (dtype0 or dtype3)"
TRANSFORM = "16_bit_transform and 200"
PACKED = "neighbours or padded or few_heads or packed_on"
SHORT = "hopper and dtype0 and (whole_and_short and 200 or 256_d and 192)"
FUSED = "(short_chunks or is_kept) and bf16 and (128-128-330 or 64-128-65) or left_out or resets"
LEFT_OUT = "hopper and (packed_sequences or left_out)"
RUNS = [  # tool, kernels, selection: the slowest first
    ("racecheck", "backward", "hopper and dtype0 and 192 and (whole_and_short or 256_d)"),
    *((tool, "forward", PACKED) for tool in ("racecheck", "memcheck", "synccheck")),
    *((tool, "backward", x) for tool in ("memcheck", "synccheck") for x in (SHORT, LEFT_OUT)),
    *(("memcheck", way, f"configuration and dtype{n}") for way in PASSES for n in range(4)),
    *(("racecheck", way, f"{SMALL} and dtype0") for way in PASSES),
    *((tool, way, SMALL) for tool in ("initcheck", "synccheck") for way in PASSES),
    *((tool, "fused", FUSED) for tool in ("racecheck", "memcheck", "synccheck")),
    *((tool, "shards", "on_a_gpu") for tool in ("racecheck", "memcheck", "synccheck")),
    *((tool, "forward", TRANSFORM) for tool in ("racecheck", "memcheck", "synccheck")),
    *(("racecheck", "limits", name) for name in ("groups", "words", "sums", "hasty")),
    ("initcheck", "limits", "copied"),
    *(("racecheck", "unordered", name) for name in unordered.EDITS),
]
# the states of a short last chunk, which the copy engine has written and threads read; when the
# record was made, by a function in chunk_scan.py
COPIED = r"found in chunk_gradients_kernel \((tokens|chunk_scan)\.py:\d+\)"


def read(output):
    """Tests, errors and, if there is something to say, a note, from what a run has printed."""
    last = [line for line in output.splitlines() if re.search(r" in [\d.]+s\b", line)][-1:]
    count = {what: int(n) for n, what in re.findall(r"(\d+) ([a-z]+)", "".join(last))}
    errors = re.findall(r"^=+ (?:ERROR|RACECHECK) SUMMARY: (\d+) \w+\b(?! were)", output, re.M)
    places = defaultdict(set)
    at = r"^=+ .*\bat (?:void )?(\w+)\b.*\+0x\w+(?: in ([\w.]+):(\d+))?"
    for kernel, file, line in re.findall(at, output, re.M):
        places[kernel].update([f"{file}:{line}"] if file else ())
    places = [f"{kernel} ({', '.join(sorted(x))})" if x else kernel for kernel, x in places.items()]
    failed = sum(count.get(what, 0) for what in ("failed", "error", "errors"))
    notes = [f"{failed} of the tests failed"] * bool(failed)
    notes += ["found in " + ", ".join(sorted(places))] * bool(places)
    errors = sum(map(int, errors)) if errors else None
    row = {"tests": count.get("passed", 0) + failed, "errors": errors}
    return row | ({"note": "; ".join(notes)} if notes else {})


def chosen(tool=None, kernels=None):
    return [x for x in RUNS if tool in (None, x[0]) and kernels in (None, x[1])]


def tool_version():
    printed = subprocess.run([COMMAND[0], "--version"], capture_output=True, text=True).stdout
    return re.search(r"Version ([\d.]+)", printed)[1]


def run(tool, kernels, selection, until=math.inf, log=None):
    """One row of the record; of what has not ended at `until` only that. All it prints to `log`."""
    row = {"tool": tool, "kernels": kernels, "selection": selection}
    if kernels != "unordered":
        found = started(tool, ROOT, TESTS / FILES[kernels], selection, until, log)
    else:
        with TemporaryDirectory() as copy:
            file = TESTS / FILES[unordered.make(selection, Path(copy))]
            found = started(tool, copy, file, unordered.SELECTION, until, log)
    print(f"{tool:10}{kernels:10}{found['tests']:4} tests  {found['errors']} errors  {selection}")
    return row | found


def started(tool, home, file, selection, until, log):
    """What is found in the tests of a file, which stands with all packages in the folder `home`."""
    plugins = ["-p", "all_arrive"] if tool == "racecheck" else []
    tests = [sys.executable, *PYTEST, *plugins, file, "-k", selection]
    path = [str(home), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    environment = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1", "PYTHONPATH": os.pathsep.join(path)}
    process = subprocess.Popen(
        [*COMMAND, tool, *tests], cwd=home, env=os.environ | environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    left = None if until == math.inf else max(until - time.monotonic(), 0)
    try:
        printed, stopped = process.communicate(timeout=left)[0], False
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # the tool, and the tests it runs
        printed, stopped = process.communicate()[0], True
    if log is not None:
        log.write_text(printed)
    row = read(printed)
    if stopped:
        row["note"] = "; ".join(["stopped before its end", *filter(None, [row.get("note")])])
    return row


def as_expected(row):
    """Nothing is found but what a limit of the tool is, or what is wrong on purpose."""
    if not row["tests"] or row["errors"] is None:
        return False
    note = row.get("note", "")
    if row["kernels"] == "unordered":
        return row["errors"] > 0
    if row["kernels"] == "limits":
        return bool(row["errors"]) == (row["selection"] in ("hasty", "copied"))
    if row["tool"] == "initcheck" and re.fullmatch(COPIED, note):
        return True
    return row["errors"] == 0 and not note


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the record to this file")
    parser.add_argument("--jobs", type=int, default=6, help="runs side by side")
    parser.add_argument("--kernels", choices=[*FILES, "unordered"], help="some of RUNS only")
    parser.add_argument("--tool", help="one only: memcheck, initcheck, racecheck or synccheck")
    parser.add_argument("--logs", type=Path, help="write what the tools print to this folder")
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop what takes longer")
    arguments = parser.parse_args()
    if shutil.which(COMMAND[0]) is None:
        parser.error("needs compute-sanitizer, of the CUDA toolkit, and finds none on the PATH")
    if not torch.cuda.is_available():
        parser.error("needs a CUDA GPU, and PyTorch sees none")
    until = time.monotonic() + arguments.seconds
    runs = chosen(arguments.tool, arguments.kernels)
    logs = [None] * len(runs)
    if arguments.logs:
        arguments.logs.mkdir(parents=True, exist_ok=True)
        logs = [arguments.logs / f"{n}-{tool}-{way}.log" for n, (tool, way, _) in enumerate(runs)]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        rows = list(pool.map(run, *zip(*runs, strict=True), [until] * len(runs), logs))
    what = "compute-sanitizer on the device tests of both passes, caching allocator off"
    found = {
        "command": " ".join([*COMMAND, "TOOL python3", *PYTEST, "FILE -k SELECTION"]),
        "plugins": "all_arrive, for racecheck",
        "versions": versions(()) | {"compute-sanitizer": tool_version()},
        "rows": rows,
    }
    write_record(arguments.json, what, found)
    sys.exit(not all(map(as_expected, rows)))


if __name__ == "__main__":
    main()
