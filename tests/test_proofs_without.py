"""The proofs without PyTorch or lark: the rest runs, and what is left out is named."""

import subprocess
import sys
from pathlib import Path

import pytest

from gdn_ref.proofs import __main__ as command
from gdn_ref.proofs import left_out, registry, running

ROOT = Path(__file__).parents[1]
FEW = """
import sys
from importlib.machinery import PathFinder

find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *more: (
    None if name.partition(".")[0] == {missing!r} else find(name, *more)
)
from gdn_ref.proofs import __main__ as command
from gdn_ref.proofs import printed, registry

registry.load()
printed.load()
chapters = command.chapters()
registry.CHECKS[:] = [
    check for check in registry.CHECKS if check.label in ("eq-gdn-step", "eq-grad-token-decay")
]
registry.ERRATA.clear()
command.printed_labels = lambda: ["eq-gdn-step", "eq-decay-gate", "eq-block"]
command.chapters = lambda: [x for x in chapters if x.name[:2] in ("01", "19")]
if __name__ == "__main__":
    sys.exit(command.main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    def run(missing, *arguments):
        script = tmp_path_factory.mktemp("few") / "few.py"
        script.write_text(FEW.format(missing=missing))
        line = [sys.executable, str(script), "--jobs", "1", *arguments]
        return subprocess.run(line, cwd=ROOT, capture_output=True, text=True)

    return run


def named(text, kind):
    """The names under a heading of the list."""
    lines = text[text.index("Left out, because") :].splitlines()
    (at,) = [n for n, line in enumerate(lines) if f" {kind}: " in line]
    more = [line for line in lines[at + 1 :] if line.startswith("    ")]
    return " ".join([lines[at].split(": ", 1)[1], *more]).replace(",", " ").split()


def test_without_torch_the_rest_runs_and_what_is_left_out_is_named(run):
    done = run("torch")
    assert done.returncode == 0, done.stderr
    assert "Left out, because PyTorch is not installed:" in done.stdout
    text = done.stdout
    checks = named(text, "checks")
    assert "ch12_token.pytorch_agrees" in checks  # imports torch when it is called
    assert "ch19_norms.rule_normalises_inside" in checks  # in a module that imports it
    assert "ch10_rule.five_steps" not in checks
    assert {"eq-decay-gate", "eq-block"} <= set(named(text, "equations as they are printed"))
    assert "eq-gdn-step" not in named(text, "equations as they are printed")
    assert "19_the_block.ipynb" in named(text, "sentences of")
    assert "1 of 1 equations hold as they are printed" in text
    assert "2 equations checked by" in text


def test_without_lark_nothing_is_evaluated_as_printed_and_every_check_runs(run):
    done = run("lark")
    assert done.returncode == 0, done.stderr
    assert "Left out, because lark is not installed:" in done.stdout
    assert "checks:" not in done.stdout[done.stdout.index("Left out") :]
    assert set(named(done.stdout, "equations as they are printed")) >= {"eq-gdn-step", "eq-block"}


def test_with_all_nothing_is_left_out(run):
    done = run("nothing_of_that_name")
    assert done.returncode == 0 and "Left out" not in done.stdout, done.stderr


def test_a_check_that_fails_still_fails(run, monkeypatch):
    entry = left_out.entry("check", "a.b", "torch")
    false = running.run(registry.Check("eq-x", "algebra", "x", lambda: 1))
    ran, without = left_out.apart([entry, false])
    assert ran == [false] and without == [entry]
    found = {"printed": [], "sentences": [], "checks": ran, "errata": []}
    assert command.exit_code(command.failures(found)) == command.FAILED


def test_the_record_of_every_check_may_leave_nothing_out(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(left_out, "find_spec", lambda name: None)
    monkeypatch.setattr(command, "run_all", lambda jobs: pytest.fail("too late"))
    with pytest.raises(SystemExit, match="2"):
        command.main(["--json", str(tmp_path / "proofs.json")])
    assert "expected every check, but without PyTorch and lark" in capsys.readouterr().err


def test_another_missing_module_stops_the_run(tmp_path, monkeypatch):
    (tmp_path / "ch99.py").write_text("import no_such_module")
    monkeypatch.syspath_prepend(tmp_path.parent)
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        left_out.import_modules(tmp_path.name, [tmp_path / "ch99.py"])
    assert not left_out.MODULES


def test_the_names_are_those_of_the_registry():
    """Read from the sources, since a module that was passed over registers nothing."""
    registry.load()
    ours = [check for check in registry.CHECKS if check.function.__module__.startswith("gdn_ref.")]
    ours = {entry.name for entry in [*ours, *registry.ERRATA]}
    folder = Path(registry.__file__).parent
    read = {name for path in folder.glob("ch*.py") for name in left_out.registered(path)}
    assert ours and read == ours
