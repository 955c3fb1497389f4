"""One-line edits to the code, each of which must turn a test red.

Every edit is made in a copy of the project, and the tests named beside it run there. The list is
the promise that the suite can fail; the first test shows that it does not fail for nothing.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

REFERENCE = "tests/test_reference.py"
OPS = "tests/test_ops.py"
STAGES = "tests/kernels/test_stages.py"
FORWARD = "tests/kernels/test_forward.py"
BACKWARD = "tests/kernels/test_backward.py"
DECODING = "tests/test_decoding.py"
RECURRENT = "tests/kernels/test_recurrent.py"
ACTIVATIONS = "tests/kernels/test_activations.py"

EDITS = [  # what it does, file, line as it stands, line as it becomes, tests that must notice
    ("Gamma loses its diagonal", "gdn_ref/chunking.py",
     "xp.where(r >= i, stretch", "xp.where(r > i, stretch", REFERENCE),
    ("a decay counts one token twice", "gdn_ref/chunking.py",
     "xp.where(r > i, g[", "xp.where(r >= i, g[", REFERENCE),
    ("the chunk reads an undecayed state", "gdn_ref/gated_delta_rule.py",
     "(v - gamma[..., None] * (k @ transpose(S)))", "(v - (k @ transpose(S)))", REFERENCE),
    ("the step reads before it decays", "gdn_ref/gated_delta_rule.py",
     "delta = beta[..., None] * (v - matvec(S, k))",
     "delta = beta[..., None] * (v - matvec(S, k) / alpha[..., None])", REFERENCE),
    ("writes do not decay to the chunk's end", "gdn_ref/gated_delta_rule.py",
     "transpose(delta) @ (to_end[..., None] * k)", "transpose(delta) @ k", REFERENCE),
    ("a token interacts with itself", "gdn_ref/wy.py", "k=-1)", "k=0)", REFERENCE),
    ("maps compose in the wrong order", "gdn_ref/affine.py", "F1 @ F2,", "F2 @ F1,", REFERENCE),
    ("the output forgets the scale", "gdn_ref/reference.py", "* scale, k, v)", ", k, v)", OPS),
    ("a packed sequence starts from its neighbour's state", "gdn_ref/reference.py",
     "S.split(1)", "S.roll(1, 0).split(1)", OPS),
    ("kernel: a chunk is given to the sequence before", "kernels/tokens.py",
     "// C + middle <= slot", "// C + middle < slot", STAGES),
    ("kernel: pairs of blocks join with the wrong sign", "kernels/ut_transform.py",
     "T21 = -tl.dot(", "T21 = tl.dot(", STAGES),
    ("kernel: a row of the inverse misses the row above", "kernels/ut_transform.py",
     "for s in range(1, n)", "for s in range(2, n)", STAGES),
    ("kernel: the write strength lies on the wrong token", "kernels/ut_transform.py",
     "UT *= beta[None, :]", "UT *= beta[:, None]", STAGES),
    ("kernel: Gamma loses its diagonal", "kernels/chunk_scan.py",
     "tl.where(i <= r, stretch", "tl.where(i < r, stretch", STAGES),
    ("kernel: the state does not decay", "kernels/chunk_scan.py",
     "S = S * tl.exp2(c_C.to(tl.float32))", "S = S * 1.0", STAGES),
    ("kernel: value heads read the wrong key head", "kernels/chunk_scan.py",
     "h = hv // (HV // H)", "h = hv % H", FORWARD),
    ("kernel: writes do not decay to the chunk's end", "kernels/chunk_scan.py",
     "(to_end * delta)", "delta", STAGES),
    ("backward: offsets are read as if they lay side by side", "kernels/backward.py",
     "x.contiguous() for x in (g, cu_seqlens)", "x for x in (g, cu_seqlens)", BACKWARD),
    ("backward: the states that are kept forget how strongly was written",
     "kernels/chunk_states.py", "residual = beta * (", "residual = (", BACKWARD),
    ("backward: dS does not decay to the token it reaches", "kernels/state_gradients.py",
     "dE = to_end * tl.dot(", "dE = tl.dot(", BACKWARD),
    ("backward: the solve is not transposed", "kernels/state_gradients.py",
     "tl.dot(dE.to(dtype), T_inv.to(dtype)", "tl.dot(dE.to(dtype), tl.trans(T_inv.to(dtype))",
     BACKWARD),
    ("backward: reading from the state forgets beta", "kernels/state_gradients.py",
     "(-gamma * beta * Z)", "(-gamma * Z)", BACKWARD),
    ("backward: a chunk that is not whole is left out", "kernels/state_gradients.py",
     "if end - at < C:", "if end - at < 0:", BACKWARD),
    ("backward: a token that is missing sees those before it", "kernels/state_gradients.py",
     "(i <= r) & (r < left)", "i <= r", BACKWARD),
    ("backward: X loses its diagonal", "kernels/chunk_gradients.py",
     "(i <= r) & (r < left)", "(i < r) & (r < left)", BACKWARD),
    ("backward: N gets a diagonal", "kernels/chunk_gradients.py",
     "Y = tl.where(i < r, Gamma", "Y = tl.where(i <= r, Gamma", BACKWARD),
    ("backward: N has the wrong sign", "kernels/chunk_gradients.py",
     "Y = -beta * Y", "Y = beta * Y", BACKWARD),
    ("backward: keys are read without the decay after them", "kernels/chunk_gradients.py",
     "(to_end * E)", "E", BACKWARD),
    ("backward: beta's gradient forgets the keys before", "kernels/chunk_gradients.py",
     "dbeta - row_sums(Y * overlap)", "dbeta", BACKWARD),
    ("backward: what crosses a decay begins at its token", "kernels/chunk_gradients.py",
     "tl.where(i < r, to_here", "tl.where(i <= r, to_here", BACKWARD),
    ("backward: the old state does not decay to the next", "kernels/chunk_gradients.py",
     "old *= tl.exp2(c_C.to(tl.float32))", "old *= 1.0", BACKWARD),
    ("backward: a head's decay answers for the heads before", "kernels/chunk_gradients.py",
     "q_reads = -row_sums(q.to(tl.float32) * dq)", "q_reads = tl.zeros((C,), tl.float32)",
     BACKWARD),
    ("a sequence without tokens has its state rounded", "gdn_ref/decoding.py",
     "moved = cu_seqlens.diff() > 0", "moved = cu_seqlens.diff() >= 0", DECODING),
    ("slots are not looked at", "gdn_ref/decoding.py",
     "    if slot_idx is not None:", "    if False:", DECODING),
    ("kernel: every sequence has the first one's slot", "kernels/recurrent.py",
     "tl.load(slot_idx_ptr + n)", "tl.load(slot_idx_ptr)", RECURRENT),
    ("kernel: a token is read twice", "kernels/recurrent.py", "t + 1, end,", "t, end,", RECURRENT),
    ("kernel: the gate loses what 1 + exp(x) rounds away", "kernels/recurrent.py",
     "tl.log(rounded) * (y / tl.where(kept == 0.0, 1.0, kept))", "tl.log(rounded)", RECURRENT),
    ("kernel: a unit vector may still grow", "kernels/activations.py",
     "dx = r * (dy - tl.sum(y * dy, axis=1)[:, None] * y)", "dx = r * dy", ACTIVATIONS),
    ("kernel: a program's numbers begin where its rows do", "kernels/activations.py",
     "pid.to(tl.int64) * own + i", "pid.to(tl.int64) * ROWS + i", ACTIVATIONS),
    ("a call is taken for another with other options", "gdn_ref/prepared.py",
     "key = (prepare, options, settings,", "key = (prepare, settings,", OPS),
]  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    copy = tmp_path_factory.mktemp("project")
    for name in ("gdn_ref", "kernels", "tests"):
        shutil.copytree(ROOT / name, copy / name, symlinks=True)
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


def run(project, tests):
    environment = {**os.environ, "PYTHONPATH": str(project), "GDN_REQUIRE": ""}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)


@pytest.mark.interpreter
def test_the_code_as_it_stands_passes(project):
    done = run(project, sorted({tests for *_, tests in EDITS}))
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.interpreter
@pytest.mark.parametrize("what, file, line, edited, tests", EDITS, ids=[e[0] for e in EDITS])
def test_an_edit_turns_a_test_red(project, what, file, line, edited, tests):
    source = (project / file).read_text()
    assert line in source, f"{file} no longer has the line: {line}"
    (project / file).write_text(source.replace(line, edited, 1))
    try:
        done = run(project, [tests])
    finally:
        (project / file).write_text(source)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, f"nothing noticed: {what}"
