"""The registry can say no, and the real checks all say yes."""

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import sympy

from gdn_ref.proofs import __main__ as command
from gdn_ref.proofs import proving, registry, report, running
from gdn_ref.proofs.symbols import nonzero_somewhere

ROOT = Path(__file__).parents[1]
SUFFIXES = {".py", ".lark", ".txt", ".ipynb"}
MUTANTS_AT_LEAST = 49  # as many plausible mistakes were known before the checks were written
x, n = sympy.symbols("x n")


@pytest.fixture
def empty(monkeypatch):
    """A registry of its own: nothing registered here reaches the real one."""
    monkeypatch.setattr(registry, "CHECKS", [])
    monkeypatch.setattr(registry, "DEFINITIONS", {})
    monkeypatch.setattr(registry, "ERRATA", [])
    monkeypatch.setattr(registry, "load", lambda text="": None)


def register(function, method="algebra", mutants=None):
    mutants = {"off by one": {"change": 1}} if mutants is None else mutants
    registry.verifies("eq-test", method=method, covers="x", mutants=mutants)(function)
    return running.run(registry.CHECKS[-1])


def complaints(*results, errata=()):
    return command.failures(
        {"printed": [], "sentences": [], "checks": list(results), "errata": list(errata)}
    )


def told(*results):
    """The command's verdict on these results: its exit code."""
    return command.exit_code(complaints(*results))


def square(change=0):
    return sympy.expand((x + 1) ** 2) - (x**2 + 2 * x + 1 + change)


def test_a_true_claim_passes(empty):
    result = register(square)
    assert result["passed"] and [m["rejected"] for m in result["mutants"]] == [True]
    assert result["residual"] == 0 and "def square" in result["source"]
    assert not complaints(result)
    assert proving.prove("eq-test")


def test_a_false_claim_fails(empty):
    result = register(lambda change=0: square(change=2 + change))
    assert not result["passed"]
    assert ["eq-test: residual 1" in line for line in complaints(result)] == [True]
    assert not proving.prove("eq-test") and "FAILS" in repr(proving.prove("eq-test"))


def test_a_surviving_mutant_is_reported(empty):
    result = register(square, mutants={"no change": {"change": 0}, "off by one": {"change": 1}})
    assert result["passed"] and [m["rejected"] for m in result["mutants"]] == [False, True]
    assert ["mutant 'no change' survived" in line for line in complaints(result)] == [True]
    assert not proving.prove("eq-test") and "SURVIVED" in repr(proving.prove("eq-test"))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e-6, 1.0])
def test_a_mutant_far_off_is_rejected(empty, wrong):
    result = register(lambda size=1e-15: size, "float64", {"wrong": {"size": wrong}})
    assert result["passed"] and result["mutants"][0]["rejected"] and not complaints(result)


@pytest.mark.parametrize("size", [1e-12, 1e-9, 0.99e-6])
def test_a_mutant_close_by_survives(empty, size):
    result = register(lambda size=0.0: size, "float64", {"wrong": {"size": size}})
    assert not result["mutants"][0]["rejected"] and complaints(result)


@pytest.mark.parametrize("size", [1.1e-12, 1.0, np.inf, np.nan])
def test_a_float64_residual_has_a_budget(empty, size):
    result = register(lambda residual=size: residual, "float64", {"wrong": {"residual": 1.0}})
    assert not result["passed"] and complaints(result)
    assert "FAILS" in repr(proving.prove("eq-test"))


@pytest.mark.parametrize("method", ["algebra", "polynomial", "modular"])
@pytest.mark.parametrize("residual", [0.0, np.float64(0), np.zeros(3), [0, 0.0]])
def test_an_exact_method_takes_no_float(empty, method, residual):
    crashed = register(lambda change=0: residual, method)["crashed"]
    assert crashed.startswith("TypeError: ") and "must return an exact residual" in crashed


@pytest.mark.parametrize(
    "residual",
    [
        sympy.sin(x) ** 2 + sympy.cos(x) ** 2 - 1,
        sympy.zeros(2, 3),
        sympy.ZeroMatrix(n, 2),
        np.zeros(3, dtype=np.int64),
        np.zeros(3, dtype=object),
        [0, sympy.Integer(0), (0, sympy.zeros(2, 2))],
    ],
    ids=str,
)
def test_exact_zeros(residual):
    assert running.magnitude(residual, "algebra") == 0


@pytest.mark.parametrize(
    "residual",
    [
        x,
        sympy.Matrix([[0, x - x + 1]]),
        sympy.MatrixSymbol("A", n, n),
        np.array([0, 0, 1]),
        np.array([0, 3], dtype=object),
        [0, (0, x)],
    ],
    ids=str,
)
def test_exact_differences(residual):
    assert running.magnitude(residual, "algebra") == 1


@pytest.mark.parametrize(
    "expression, found",
    [
        (x, True),
        (sympy.sqrt(x) - 2, True),
        (sympy.Matrix([0, x]), True),
        ((x + 1) ** 2 - x**2 - 2 * x - 1, False),
        (sympy.sin(x) ** 2 + sympy.cos(x) ** 2 - 1, False),
        (sympy.Symbol("y", negative=True), False),  # no point of its domain is tried
        (sympy.MatrixSymbol("A", n, n), False),
    ],
    ids=str,
)
def test_a_number_at_one_point_is_not_zero(expression, found):
    assert nonzero_somewhere(expression) is found


def test_a_check_needs_mutants(empty):
    with pytest.raises(ValueError, match="mutants: eq-test has none"):
        register(square, mutants={})


def test_a_method_must_be_known(empty):
    with pytest.raises(ValueError, match="method: expected one of algebra, .*, got 'intuition'"):
        register(square, method="intuition")


def test_a_definition_is_made_once(empty):
    registry.definition("eq-test", "a name")
    with pytest.raises(ValueError, match="eq-test is defined twice"):
        registry.definition("eq-test", "another")


def test_an_unknown_label_cannot_be_proved(empty):
    with pytest.raises(ValueError, match="no check is registered for 'eq-nothing'"):
        proving.prove("eq-nothing")


def test_a_label_that_is_off_by_a_little_is_named():
    with pytest.raises(ValueError, match="'gdn-step'; did you mean eq-gdn-step"):
        proving.prove("gdn-step")
    with pytest.raises(ValueError, match="-by-anyone'; the verification page lists all$"):
        proving.prove("eq-unheard-of-by-anyone")


def test_what_cannot_be_proved_says_why(empty):
    registry.definition("eq-test", "a name")
    with pytest.raises(ValueError, match="eq-test is a definition"):
        proving.prove("eq-test")
    with pytest.raises(TypeError, match="label: expected a string, got NoneType"):
        proving.prove(None)


def test_the_command_says_what_it_needs(monkeypatch, capsys):
    """Its help needs nothing; without sympy or tqdm it names the extra that brings them."""
    for missing in ("sympy", "tqdm"):
        with monkeypatch.context() as patched:
            patched.setitem(sys.modules, missing, None)
            patched.setattr(registry, "load", lambda text="": __import__("sympy"))
            with pytest.raises(SystemExit, match="2"):
                command.main([])
        assert f"{missing} halted" in (printed := capsys.readouterr().err) and "`book`" in printed


def test_the_command_takes_labels(capsys):
    assert command.main(["eq-gdn-step", "eq-affine-compose"]) == 0
    printed = capsys.readouterr().out
    assert printed == f"{proving.prove('eq-gdn-step')}\n\n{proving.prove('eq-affine-compose')}\n"


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["gdn-step"], "no check is registered for 'gdn-step'; did you mean eq-gdn-step"),
        (["--jobs", "0"], "argument --jobs: expected at least 1, got 0"),
        (["--json", "."], "argument --json: expected a file, got the folder ."),
        (["eq-gdn-step", "--json", "out.json"], "argument --json: expected no labels with it"),
    ],
)
def test_a_wrong_argument_of_the_command_is_named(arguments, message, capsys, monkeypatch):
    monkeypatch.setattr(command, "run_all", lambda jobs: pytest.fail("too late"))
    with pytest.raises(SystemExit, match="2"):
        command.main(arguments)
    assert message in capsys.readouterr().err


def test_a_label_that_fails_fails_the_command(empty):
    register(lambda change=2: change)
    assert command.main(["eq-test"]) == command.FAILED


def raises(error):
    """A check that cannot be run."""

    def check(change=0):
        raise error

    return check


@pytest.mark.parametrize("error", [ValueError("shapes"), KeyError("x"), ZeroDivisionError("by 0")])
def test_a_check_that_raises_has_crashed(empty, error, capsys):
    """It is neither false nor a wrong argument of the command: nothing is known of its equation."""
    result = register(raises(error))
    assert not result["passed"] and not proving.prove("eq-test")
    (line,) = complaints(result)
    assert line.startswith("CRASHED eq-test: ") and type(error).__name__ in line
    assert result["name"] in line and "as it stands" in line
    assert command.main(["eq-test"]) == told(result) == command.CRASHED
    printed = capsys.readouterr()
    assert "eq-test CRASHED in test_proofs.check" in printed.out and "usage" not in printed.err


def test_a_mutant_that_raises_is_not_rejected(empty):
    result = register(lambda change=0: 1 // change if change else 0, mutants={"c": {"change": "x"}})
    assert not result["passed"] and "TypeError" in result["crashed"] and "'c'" in result["crashed"]
    assert told(result) == command.CRASHED


def test_a_crash_outranks_a_failure(empty):
    crashed, false = register(raises(ValueError())), register(lambda change=2: change)
    assert (told(false), told(false, crashed)) == (command.FAILED, command.CRASHED)


def test_an_erratum_can_crash_too(empty):
    about = dict.fromkeys(("source", "printed", "corrected", "consequence"), "text")
    registry.erratum("slip", label="eq-test", method="algebra", **about)(lambda: 0)
    result = running.run_erratum(registry.ERRATA[0])
    (line,) = complaints(errata=[result])
    assert line.startswith("CRASHED erratum slip: TypeError")


def test_a_part_is_named(empty, capsys):
    """Whoever reads the verdict learns that it is about a part of the equation."""
    part = "the first of its two lines"
    registry.verifies("eq-test", method="algebra", covers="x", mutants={"m": {"change": 1}})(square)
    assert running.run(registry.CHECKS[0])["part"] == ""
    registry.CHECKS.clear()
    registry.verifies(
        "eq-test", method="algebra", covers="x", mutants={"m": {"change": 1}}, part=part
    )(square)
    result = running.run(registry.CHECKS[0])
    assert result["part"] == part and part in repr(proving.prove("eq-test"))
    assert f"x [{part}]" in command.table({"checks": [result]})
    proving.proved("eq-test")
    assert part in capsys.readouterr().out


def test_a_mutant_counts_once_for_each_equation(empty):
    """However many checks try it; and it is rejected only if all of them reject it."""
    tried = (("eq-one", 1), ("eq-one", 2), ("eq-one", 0), ("eq-one", 1), ("eq-two", 1))
    for label, change in tried:
        registry.verifies(label, method="algebra", covers="x", mutants={"m": {"change": change}})(
            square
        )
    results = [running.run(check) for check in registry.CHECKS]
    assert report.distinct(results[:2]) == {("eq-one", "m"): True}
    assert report.distinct(results) == {("eq-one", "m"): False, ("eq-two", "m"): True}


@pytest.mark.parametrize("change, refused", [(1, True), (0, False)])
def test_wrong_inputs_are_no_mutants(empty, change, refused):
    registry.verifies(
        "eq-test", method="algebra", covers="x", mutants={"m": {"change": 1}},
        inputs={"too long": {"change": change}},
    )(square)  # fmt: skip
    result = running.run(registry.CHECKS[0])
    assert report.distinct([result]) == {("eq-test", "m"): True}
    assert [x["rejected"] for x in result["inputs"]] == [refused]
    assert bool(proving.prove("eq-test")) is refused is not bool(complaints(result))
    assert ("refuses  inputs: too long" in repr(proving.prove("eq-test"))) is refused


def test_only_the_callers_mistakes_are_usage_errors(empty, capsys):
    with pytest.raises(proving.NothingToProve):
        proving.prove("eq-nothing")
    with pytest.raises(SystemExit, match="2"):
        command.main(["eq-nothing"])
    assert "usage" in capsys.readouterr().err


def test_one_method_can_be_chosen():
    methods = {result["method"] for result in proving.prove("eq-gdn-step").results}
    assert len(methods) > 1
    chosen = proving.prove("eq-gdn-step", method="algebra").results
    assert {result["method"] for result in chosen} == {"algebra"}
    with pytest.raises(ValueError, match="method: eq-gdn-step has .*, got 'intuition'"):
        proving.prove("eq-gdn-step", method="intuition")


def test_the_source_of_a_check_holds_its_label():
    """`prove` imports only the modules whose source holds the label: they must be all it needs."""
    calls = chain.from_iterable(
        ast.walk(ast.parse(path.read_text()))
        for path in sorted((ROOT / "gdn_ref" / "proofs").glob("ch*.py"))
    )
    written = Counter(
        call.args[0].value
        for call in calls
        if isinstance(call, ast.Call) and getattr(call.func, "id", None) == "verifies"
    )
    registry.load()
    assert written == Counter(check.label for check in registry.CHECKS)
    assert len({check.key for check in registry.CHECKS}) == len(registry.CHECKS)


@pytest.mark.parametrize(
    "sizes, passed",
    [
        ({"printed": 1, "corrected": 0}, True),
        ({"printed": 0, "corrected": 0}, False),  # the printed form is right: no slip
        ({"printed": 1, "corrected": 1}, False),  # the corrected form is wrong too
    ],
)
def test_an_erratum_tells_the_forms_apart(empty, sizes, passed):
    about = dict.fromkeys(("source", "printed", "corrected", "consequence"), "text")
    registry.erratum("slip", label="eq-test", method="algebra", **about)(lambda form: sizes[form])
    result = running.run_erratum(registry.ERRATA[0])
    assert result["passed"] is passed
    assert bool(complaints(errata=[result])) is not passed


def run_python(*arguments):
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


ONE_CHECK = """
import sys
from gdn_ref.proofs import __main__, registry

registry.load = lambda text="": None
__main__.printed_labels = __main__.chapters = list  # what they print has tests of its own
__main__.printed.load = dict
mutants = {{"wrong": {{"size": {mutant}}}}}
registry.verifies("eq-test", method="algebra", covers="x", mutants=mutants)(
    lambda size={residual}: {inside}
)
registry.verifies("eq-other", method="algebra", covers="y", mutants=mutants)(
    lambda size=0: size
)
if __name__ == "__main__":
    sys.exit(__main__.main([]))
"""


@pytest.mark.parametrize(
    "residual, mutant, code, word",
    [
        (0, 1, 0, ""),
        (1, 1, 1, "FAILED"),
        (0, 0, 1, "FAILED"),
        ("1 // (size or 0)", 1, 3, "CRASHED"),
    ],
    ids=["true", "false", "survivor", "crash"],
)
def test_the_exit_code_tells(tmp_path, residual, mutant, code, word):
    """The command itself, in a process of its own; a crash does not keep it from the rest."""
    script = tmp_path / "one_check.py"
    inside = residual if isinstance(residual, str) else "size"
    residual = "None" if isinstance(residual, str) else residual
    script.write_text(ONE_CHECK.format(residual=residual, inside=inside, mutant=mutant))
    done = run_python(script)
    assert done.returncode == code, done.stderr
    assert f"{word} eq-test" in done.stderr if word else "eq-test" not in done.stderr
    assert "2 equations checked by 2 checks" in done.stdout
    survived = "survived" in done.stderr
    counted = re.search(r"(\d+) of (\d+) mutants rejected", done.stdout)
    assert counted and (counted[1] != counted[2]) == survived


def results_of_this_tree(folder):
    """What `make proofs` found, which `make book` runs, if nothing has changed; else found now."""
    found = ROOT / "_build" / "proofs.json"
    sources = [*(ROOT / "gdn_ref").rglob("*"), *ROOT.glob("chapters/*.ipynb")]
    changed = max(path.stat().st_mtime for path in sources if path.suffix in SUFFIXES)
    if not found.exists() or found.stat().st_mtime < changed:
        found = folder / "proofs.json"
        done = run_python("-m", "gdn_ref.proofs", "--json", found)
        assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(found.read_text())


def test_every_equation_is_proved(tmp_path):
    """`make proofs`: everything holds, as it is printed and for every size, in few minutes."""
    results = results_of_this_tree(tmp_path)
    mutants = report.distinct(results["checks"])
    assert len(mutants) >= MUTANTS_AT_LEAST and all(mutants.values())
    assert not command.failures(results)
    assert all(x["rejected"] for check in results["checks"] for x in check["inputs"])
    assert {"part", "crashed", "inputs"} <= results["checks"][0].keys()
    assert sum(check["seconds"] for check in results["checks"]) < 2 * 60  # of a core, beside others
    assert results["errata"]

    printed = results["printed"]
    by = Counter(page.get("arithmetic", page["kind"]) for page in printed)
    assert sum(by.values()) == len(printed) and by["read"] <= 1
    assert sum(page["seconds"] for page in printed) < 2 * 90
    evaluated = [page for page in printed if page["kind"] != "read"]
    assert not any(page["mutants"]["survived"] for page in evaluated)
    doubles = [page["doubles"] for page in evaluated]
    assert sum(x["by_number"] + x["refused"] for x in doubles) >= 5000
    assert not any(x["survived"] for x in doubles)
    row = (
        f"for {len(printed) - by['read']} of {len(printed)} labels: {by['modular']} in float64 and "
        f"exactly modulo a prime, {by['counted']} in whole numbers, {by['float64']} in float64, "
        f"{by['rational']} in fractions; {by['read']} {'is' if by['read'] == 1 else 'are'} read"
    )
    assert row in (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(results["sentences"]) == len({page["place"].split(",")[0] for page in printed})
    assert sum(chapter["evaluated"] for chapter in results["sentences"]) >= 170
    assert sum(chapter["seconds"] for chapter in results["sentences"]) < 2 * 10
