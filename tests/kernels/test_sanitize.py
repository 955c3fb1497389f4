"""What `kernels/bench/sanitize.py` can show without a GPU: what it reads, and what it would run."""

import importlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BENCH = ROOT / "kernels" / "bench"
RECORD = ROOT / "book" / "_data" / "bench" / "sanitizer_h100.json"
PASSES = ("forward", "backward")
OURS = (*PASSES, "fused", "shards")
FRAME = "{}\n============ {} in 94.51s (0:01:34) ============\n========= {}\n"


@pytest.fixture(scope="module")
def sanitize():
    pytest.importorskip("triton")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCH)
        patch.setenv("TRITON_CACHE_DIR", "unused")  # `compare` would take an empty one
        return importlib.import_module("sanitize")


@pytest.mark.parametrize("tests, summary, body, row", [
    ("24 passed, 73 deselected", "ERROR SUMMARY: 0 errors", "", {"tests": 24, "errors": 0}),
    ("1 passed", "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)", "",
     {"tests": 1, "errors": 0}),
    ("13 passed, 84 deselected, 2 warnings",
     "RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)",
     "========= Error: Race reported between Write access at scan_kernel+0x4d0\n"
     "=========     and Read access at void maps_kernel(float *)+0x20 [4 hazards]",
     {"tests": 13, "errors": 2, "note": "found in maps_kernel, scan_kernel"}),
    ("1 passed", "RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)",
     "========= Error: Race reported between Write access at scan_kernel+0xfe0 in chain.py:149\n"
     "=========     and Read access at scan_kernel+0x2790 in chain.py:158 [1024 hazards]\n"
     "=========     and Read access at scan_kernel+0x27a0 in chain.py:158 [896 hazards]",
     {"tests": 1, "errors": 1, "note": "found in scan_kernel (chain.py:149, chain.py:158)"}),
    ("1 failed, 5 passed", "ERROR SUMMARY: 1 error",
     "========= Invalid __global__ read of size 4 bytes\n=========     at scan_kernel+0x90",
     {"tests": 6, "errors": 1, "note": "1 of the tests failed; found in scan_kernel"}),
    ("2 passed", "Error: process terminated", "", {"tests": 2, "errors": None}),
    ("1 passed", "ERROR SUMMARY: 300 errors\n========= ERROR SUMMARY: 200 errors were not printed. "
     "Use --print-limit option to adjust the number of printed errors", "",
     {"tests": 1, "errors": 300}),
])  # fmt: skip
def test_counts_are_those_that_tool_and_tests_print(sanitize, tests, summary, body, row):
    assert sanitize.read(FRAME.format(body, tests, summary)) == row


def test_a_run_that_ends_early_counts_as_nothing(sanitize):
    assert sanitize.read("Killed\n") == {"tests": 0, "errors": None}


def test_every_selection_has_tests_and_none_wants_the_allocator(sanitize):
    files = [str(ROOT / sanitize.TESTS / file) for file in sanitize.FILES.values()]
    edits = sanitize.unordered.EDITS
    runs = [run for run in sanitize.RUNS if run[1] != "unordered"]
    runs += [("racecheck", edit[0], sanitize.unordered.SELECTION) for edit in edits.values()]
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", "-m", "gpu"]
    printed = subprocess.run([*collect, *files], capture_output=True, text=True, check=True).stdout
    for _, kernels, selection in runs:
        inside = re.sub(r"\b(?!and\b|or\b)([\w-]+)", r"('\1' in name)", selection)
        names = [line for line in printed.splitlines() if f"/{sanitize.FILES[kernels]}::" in line]
        chosen = [name for name in names if eval(inside, {"name": name})]
        assert chosen, selection
        assert not [name for name in chosen if "graph" in name or "little_memory" in name]


def test_runs_are_of_one_tool_or_one_pass(sanitize):
    assert sanitize.chosen() == sanitize.RUNS
    assert {x[0] for x in sanitize.chosen("synccheck")} == {"synccheck"}
    both = sanitize.chosen("initcheck", "backward")
    assert both and {x[:2] for x in both} == {("initcheck", "backward")}


def test_the_record_has_the_form_that_is_written(sanitize):
    record = json.loads(RECORD.read_text())
    written = (BENCH / "sanitize.py").read_text() + (BENCH / "compare.py").read_text()
    for name in [*record, *record["rows"][0]]:
        assert f'"{name}"' in written
    rows = [(row["tool"], row["kernels"], row["selection"]) for row in record["rows"]]
    assert rows == sanitize.RUNS


def test_a_record_says_where_and_when(sanitize, monkeypatch, tmp_path):
    monkeypatch.setattr(sanitize.torch.cuda, "get_device_name", lambda: "a GPU")
    sanitize.write_record(None, "nothing", {"rows": []})
    path = tmp_path / "new" / "record.json"
    sanitize.write_record(path, "something", {"rows": [1], "versions": "all"})
    found = json.loads(path.read_text())
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found.pop("date"))
    assert found == {"what": "something", "gpu": "a GPU", "versions": "all", "rows": [1]}


def test_the_record_names_nothing_but_what_the_copy_engine_wrote(sanitize):
    """The last chunk's states and their gradients, which `chunk_gradients_kernel` reads: all of
    them, and in `copied` the whole tensor."""
    rows = json.loads(RECORD.read_text())["rows"]
    assert all(map(sanitize.as_expected, rows))
    found = {(row["tool"], row["kernels"]): row["errors"] for row in rows if row["errors"]}
    sizes = [64 * 64, 128 * 128]  # heads of 256 have no short chunk on Hopper
    sequences, heads, bytes, reads = 2, 4, 2, 16
    states = 2 * sequences * heads * sum(sizes)
    assert found.pop(("initcheck", "backward")) == states * bytes // reads
    assert found.pop(("initcheck", "limits")) == 64 * 64 * 64 * bytes // reads
    assert list(found) == [("racecheck", "limits"), ("racecheck", "unordered")]


@pytest.mark.parametrize("tool, kernels, change", [
    ("memcheck", "forward", {"tests": 0}),
    ("memcheck", "forward", {"errors": None}),
    ("racecheck", "backward", {"errors": 1}),
    ("racecheck", "backward", {"note": "1 of the tests failed"}),
    ("initcheck", "forward", {"errors": 1, "note": "found in scan_kernel (tokens.py:31)"}),
    ("initcheck", "backward", {"note": "found in chunk_gradients_kernel (states.py:31)"}),
    ("initcheck", "backward", {"note": "1 of the tests failed; found in chunk_gradients_kernel "
                                       "(tokens.py:31)"}),
    ("racecheck", "limits", {"selection": "words", "errors": 1}),
    ("racecheck", "limits", {"selection": "hasty", "errors": 0}),
    ("initcheck", "limits", {"errors": 0}),
    ("racecheck", "unordered", {"errors": 0}),
    ("racecheck", "unordered", {"errors": None}),
])  # fmt: skip
def test_what_is_not_expected(sanitize, tool, kernels, change):
    rows = json.loads(RECORD.read_text())["rows"]
    row = next(row for row in rows if (row["tool"], row["kernels"]) == (tool, kernels))
    assert sanitize.as_expected(row) and not sanitize.as_expected(row | change)


@pytest.mark.parametrize("name", [
    "no_wait_for_tiles", "free_too_early", "no_wait_for_sums", "no_wait_for_room",
    "no_wait_for_chunk",
])  # fmt: skip
def test_unordered_kernels_differ_by_one_edit(sanitize, monkeypatch, tmp_path, name):
    assert name in sanitize.unordered.EDITS
    kernels, file, before, after = sanitize.unordered.EDITS[name]
    assert sanitize.unordered.make(name, tmp_path) == kernels in PASSES
    assert (tmp_path / sanitize.TESTS / sanitize.FILES[kernels]).is_file()
    for path in (ROOT / "kernels").rglob("*.py"):
        place = path.relative_to(ROOT / "kernels").as_posix()
        copy = tmp_path / "kernels" / place
        assert (copy.read_text() != path.read_text()) == (place == file)
    monkeypatch.setitem(sanitize.unordered.EDITS, name, (kernels, file, "no such line", after))
    with pytest.raises(ValueError, match=f"{name}: expected the text once in {file}, found 0"):
        sanitize.unordered.make(name, tmp_path / "again")


def test_an_unordered_kernel_is_run_where_its_copy_stands(sanitize, monkeypatch, tmp_path):
    tool = tmp_path / "tool"
    pairs = "kernels/backward/hopper/chunk_gradients/pairs.py"
    tool.write_text(f"#!/bin/sh\ngrep -c 'wait(signal, SUMS, head)' {pairs}\n"
                    "echo $PYTHONPATH; echo $@\n")  # fmt: skip
    tool.chmod(0o755)
    monkeypatch.setattr(sanitize, "COMMAND", [str(tool)])
    logs = [tmp_path / "ours", tmp_path / "copy"]
    sanitize.run("racecheck", "backward", "anything", log=logs[0])
    row = sanitize.run("racecheck", "unordered", "no_wait_for_sums", log=logs[1])
    assert row["selection"] == "no_wait_for_sums" and row["kernels"] == "unordered"
    (waits, path, _), (none, other, command) = (log.read_text().splitlines() for log in logs)
    assert (waits, none) == ("1", "0")
    assert path.split(os.pathsep)[0] == str(ROOT) != other.split(os.pathsep)[0]
    assert command.endswith(f"-p all_arrive tests/kernels/test_device_backward.py "
                            f"-k {sanitize.unordered.SELECTION}")  # fmt: skip


def test_a_run_that_takes_too_long_is_stopped(sanitize, monkeypatch, tmp_path):
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho started; echo '==== 3 passed in 1.0s ===='; sleep $1\n")
    tool.chmod(0o755)
    monkeypatch.setattr(sanitize, "COMMAND", [str(tool)])
    log, begin = tmp_path / "log", time.monotonic()
    assert "note" not in sanitize.run("0", "forward", "x")
    found = sanitize.run("60", "forward", "x", begin + 5, log)
    assert found["note"] == "stopped before its end" and time.monotonic() - begin < 50
    assert log.read_text().startswith("started")


def test_without_the_tool_it_says_what_is_missing():
    found = subprocess.run(
        [sys.executable, BENCH / "sanitize.py"], env={"PATH": "", "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 2 and "needs compute-sanitizer" in found.stderr


def test_the_readme_counts_the_tests():
    rows = json.loads(RECORD.read_text())["rows"]
    text = (ROOT / "README.md").read_text()
    for tool in ("memcheck", "racecheck", "synccheck"):
        tests = [row["tests"] for row in rows if row["tool"] == tool and row["kernels"] in OURS]
        assert re.search(rf"{tool} in {sum(tests)}\b", text), tool


PTX = """
\tsetmaxnreg.inc.sync.aligned.u32 \t40;
\tsetp.eq.b32 \t%p1, %r9, 0;
\tand.pred \t%p2, %p7, %p1;
\t@%p1 mbarrier.init.shared::cta.b64 [%r1], 3;
\tbar.sync \t2, 128;
\t@%p1 mbarrier.arrive.shared::cta.b64 _, [%r1];
\tbar.warp.sync \t-1;
\t@%p2 mbarrier.arrive.shared::cta.b64 _, [%r2];
\t@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 512;
"""
ALL_ARRIVE = """
\tsetmaxnreg.inc.sync.aligned.u32 \t40;
\tsetp.eq.b32 \t%p1, %r9, 0;
\tand.pred \t%p2, %p7, %p1;
\t@%p1 mbarrier.init.shared::cta.b64 [%r1], 384;
\tbar.sync \t2, 128;
\tmbarrier.arrive.shared::cta.b64 _, [%r1], 1;
\tbar.warp.sync \t-1;
\t@%p7 mbarrier.arrive.shared::cta.b64 _, [%r2], 4;
\t@%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 512;
\t@%p1 mbarrier.arrive.shared::cta.b64 _, [%r1], 128;
"""


@pytest.fixture
def all_arrive(sanitize, monkeypatch):
    """The plugin, and Triton as it was afterwards."""
    from triton.backends.nvidia.compiler import CUDABackend

    monkeypatch.setattr(CUDABackend, "make_ptx", CUDABackend.make_ptx)
    monkeypatch.setenv("TRITON_CACHE_DIR", "unused")
    monkeypatch.syspath_prepend(BENCH)
    yield importlib.import_module("all_arrive")
    del sys.modules["all_arrive"]


def test_each_thread_arrives_for_itself(all_arrive):
    assert all_arrive.with_all_arrivals(PTX) == ALL_ARRIVE
    alone = PTX.replace("setmaxnreg", "nothing")
    assert all_arrive.with_all_arrivals(alone) == alone


@pytest.mark.parametrize("before, after", [
    ("%r9, 0", "%r9, 32"),
    ("\tbar.sync \t2, 128;\n", ""),
    ("2, 128;\n", "2, 128;\n\tst.shared.b32 [%r3], %r4;\n"),
    ("2, 128;\n", "2, 128;\n\t@%p7 bra \t$L__BB0_1;\n"),
    ("2, 128;\n", "2, 128;\n$L__BB0_1:\n"),
])  # fmt: skip
def test_what_is_no_groups_arrival_is_refused(all_arrive, before, after):
    """What Triton writes has changed, then."""
    assert before in PTX
    with pytest.raises(AssertionError):
        all_arrive.with_all_arrivals(PTX.replace(before, after))


SCRIPT = """
import json, sys
import all_arrive, aot
found, compile_for = [], all_arrive.with_all_arrivals
def watched(ptx):
    found.append((ptx, compile_for(ptx)))
    return found[-1][1]
all_arrive.with_all_arrivals = watched
for name, *rest in [*aot.hopper_configurations(90), *aot.hopper_backward_configurations(90)]:
    if "K=64" in name and "bf16" in name:
        aot.compile_for(90, *rest)
json.dump(found, sys.stdout)
"""


@pytest.mark.interpreter
def test_all_arrive_in_what_triton_writes(sanitize):
    """The plugin takes it, and ptxas takes what it makes of it."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [ROOT, BENCH, HERE]))}
    environment.pop("TRITON_INTERPRET", None)
    printed = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
    ).stdout
    one, each = "mbarrier.arrive.shared", r"mbarrier\.arrive\.shared\S+ _, \[%r\d+\], "
    kernels = [pair for pair in json.loads(printed) if one in pair[0]]
    assert len(kernels) >= 5
    for before, after in kernels:
        assert "arrive.expect_tx" in before and "arrive.expect_tx" not in after
        arrivals = before.count(one) + before.count("arrive.expect_tx")
        assert len(re.findall(each, after)) == after.count(one) == arrivals
