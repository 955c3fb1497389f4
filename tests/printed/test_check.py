"""The check says no: to a false display, to idle letters and words, to a changed one that was read.

And it says where: file, cell and line, in the report and in the exit code of the command.
"""

import json

import pytest

from gdn_ref.proofs import __main__ as command
from gdn_ref.proofs import printed, proving, registry, report
from gdn_ref.proofs.printed import Depends, Draw, World, cases, check, entries, source
from gdn_ref.proofs.printed.draws import DRAWS

PLACE = "eq-test as printed in 01_test.ipynb, cell 2, line 5"
GENERIC = {"a": 6, "b": 3, "c": 2}


def test_a_true_display(page):
    found = page("a = bc", GENERIC)
    assert found["problems"] == [] and found["crashed"] == ""
    assert (found["kind"], found["residual"], found["draws"], found["letters"]) == (
        "evaluated", 0.0, 3, 3,
    )  # fmt: skip
    assert json.loads(json.dumps(found)) == found and not report.printed_complaints(found)
    assert "holds as printed: whole numbers, counted, " in report.printed_summary(found)


@pytest.mark.parametrize(
    "tex, problem",
    [
        ("a = b + c", "is false as it is printed: off by 1.0e+00"),
        ("a = bq", "cannot be evaluated: no value for q"),
        ("a = b(c", "cannot be evaluated: did not expect the end of: a = b ( c"),
        (r"a \mapsto b", r"cannot be evaluated: no meaning is known for \mapsto"),
        ("a", "cannot be evaluated: no value 'value' for a side without a relation"),
        ("a = a", "cannot be evaluated: both sides are the same: nothing is claimed"),
        (
            r"a = bc \quad \text{if } b = c",
            "cannot be evaluated: no index satisfies the conditions",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(page, tex, problem):
    found = page(tex, GENERIC)
    (line,) = report.printed_complaints(found)
    assert line.startswith(f"FAILED {PLACE}: {problem}")


def test_an_error_on_the_way_is_no_verdict(page):
    found = page("a = bc", lambda draw: 1 / 0)
    (line,) = report.printed_complaints(found)
    assert line == f"CRASHED {PLACE}: ZeroDivisionError: division by zero"
    found = page("a = f(b)", GENERIC | {"f": lambda x: {}[x]})
    assert found["crashed"] == "KeyError: 3"


def test_a_letter_that_may_be_anything(page):
    """The world's b is used, and any other would do as well."""
    known, tex = {"a": 1, "b": 3, "c": 2}, "a + bc = cb + 1"
    assert page(tex, known)["problems"] == ["claims nothing of b", "claims nothing of c"]
    assert page(tex, known, anything="b c")["problems"] == []
    assert page(tex, known, anything="a b c")["problems"] == ["claims something of a"]


def test_each_statement_claims_something(page):
    """A false copy of one statement beside a true one is found; so is one that is always true."""
    tex = r"a = bc, \quad b + c = c + b"
    assert "claims nothing: b + c = c + b" in page(tex, GENERIC)["problems"]
    assert "claims nothing: 1 + 1 = 2" in page(r"a = bc, \quad 1 + 1 = 2", GENERIC)["problems"]
    assert page(r"b + c = c + b", GENERIC, anything="b c")["problems"] == []


def test_words_that_nothing_evaluates(page):
    tex = r"a = bc \text{ (twice)}"
    assert page(tex, GENERIC)["problems"] == ["its words are '(twice)'; those that were read: ''"]
    assert page(tex, GENERIC, words="(twice)")["problems"] == []
    assert page("a = bc", GENERIC, words="(twice)")["problems"]


def test_every_draw_counts(page):
    """What holds in one draw and fails in another is false; the borders are among them."""
    seen, borders = [], []

    def world(draw):
        if draw.easy:
            borders.append(draw.easy)
        else:
            seen.append((draw.exact, draw.seed))
        return World({"a": 5 if draw.exact and draw.seed else 6, "b": 2, "c": 3})

    assert "is false" in page("a = bc", world, arithmetic="modular")["problems"][0]
    assert seen == [(False, 0), (False, 1), (True, 2), (True, 0), (True, 1)]
    assert borders == [*check.BORDERS, cases.EMPTY, cases.RESET]


def test_each_draw_begins_anew(page):
    """The same numbers whatever ran before."""
    drawn = []

    def world(draw):
        number = draw.number()
        if not draw.easy:
            drawn.append(number)
        return World({"a": number, "b": number / 2})

    for _ in range(2):
        assert page("a = 2b", world, arithmetic="float64")["problems"] == []
    assert len(set(drawn)) == 3 and drawn[:3] == drawn[3:]
    assert DRAWS["float64"][0].array(2).shape == (2,)  # and of a draw that was used
    assert Draw(False, 0) == DRAWS["float64"][0].anew()


def test_what_was_read(page):
    page("a = b")
    fingerprint = source.fingerprint("a = b")
    check.read("eq-test", fingerprint=fingerprint, against="ch01.check", why="a limit")
    found = check.run("eq-test")
    assert found["kind"] == "read" and found["problems"] == []
    assert report.printed_summary(found) == "was read beside ch01.check, not evaluated: a limit"
    assert page("a  =\n b")["problems"] == []  # white space is no change
    assert source.fingerprint(r"\beta b") != source.fingerprint(r"\betab")
    assert page("a = 2b")["problems"] == [
        f"its TeX has changed since it was read against ch01.check (now "
        f"{source.fingerprint('a = 2b')}): read it again"
    ]


def test_a_display_without_a_world(page):
    assert page("a = b")["problems"] == ["is neither evaluated nor read against a check"]


def test_a_world_without_a_display(page):
    page("a = b", GENERIC)
    check.printed("eq-gone", lambda draw: World({}), against="sums")
    assert check.run("eq-gone")["problems"] == ["no chapter prints this label"]
    assert command.printed_labels() == ["eq-test", "eq-gone"]


def test_the_register(register):
    check.printed("eq-a eq-b", dict, against="sums", anything=r"\mathbf{S} x_")
    assert list(register.printed) == ["eq-a", "eq-b"]
    assert register.printed["eq-b"].anything == (r"\mathbf{S}", "x_")
    with pytest.raises(ValueError, match="eq-b is registered twice"):
        check.printed("eq-b", dict, against="sums")
    with pytest.raises(ValueError, match="eq-a is registered twice"):
        check.read("eq-a", fingerprint="", against="", why="")
    with pytest.raises(ValueError, match="arithmetic: expected one of modular.*got 'real'"):
        check.printed("eq-c", dict, against="sums", arithmetic="real")


@pytest.mark.parametrize(
    "tex, known, code",
    [("a = bc", GENERIC, 0), ("a = b", GENERIC, 1), ("a = bc", {"a": object()}, 1),
     ("a = bc", lambda draw: 1 / 0, 3)],
)  # fmt: skip
def test_the_exit_code_of_one_label(page, monkeypatch, capsys, tex, known, code):
    """`python -m gdn_ref.proofs eq-test`, and `prove` in a notebook."""
    page(tex, known)
    for module in (registry, printed):
        monkeypatch.setattr(module, "load", lambda text="": None)
    assert command.main(["eq-test"]) == code
    told = capsys.readouterr().out
    assert "01_test.ipynb, cell 2, line 5" in told
    proved = proving.prove("eq-test")
    assert bool(proved) is (code == 0) and proved.crashed is (code == 3)
    assert repr(proved) in told


def test_without_chapters(tmp_path, monkeypatch):
    """An installed package has no chapters: nothing is evaluated, and the checks still run."""
    monkeypatch.setattr(command, "CHAPTERS", tmp_path / "none")
    for module in (check, printed):
        monkeypatch.setattr(module, "displays", lambda: source.displays(tmp_path / "none"))
    assert printed.displays() == {} and command.printed_labels() == []
    assert proving.run_printed("eq-gdn-step") is None
    proved = proving.prove("eq-gdn-step")
    assert proved and proved.printed is None
    assert command.printed_totals([]) == "no chapters here: no printed equation was evaluated"


def test_where_displays_stand(tmp_path):
    cell = "a $$x$$\n\n$$\nb\n$$ (eq-b)\n\n$$ c = d $$ (eq-c)\n\n$$\ne\n$$\n"
    cells = [{"cell_type": kind, "source": [cell]} for kind in ("code", "markdown", "code")]
    (tmp_path / "02_two.ipynb").write_text(json.dumps({"cells": cells}))
    found = source.displays(tmp_path)
    assert {label: (d.tex, d.place) for label, d in found.items()} == {
        "eq-b": ("b", "02_two.ipynb, cell 2, line 3"),
        "eq-c": ("c = d", "02_two.ipynb, cell 2, line 7"),
    }


def test_a_label_stands_once(tmp_path):
    cells = [{"cell_type": "markdown", "source": ["$$ a $$ (eq-a)"]}] * 2
    (tmp_path / "03_three.ipynb").write_text(json.dumps({"cells": cells}))
    with pytest.raises(ValueError, match="eq-a stands in 03_three.*cell 1.* and again in .*cell 2"):
        source.displays(tmp_path)


def test_the_whole_register_is_in_the_chapters():
    """Every label of the chapters is evaluated or read, at least 85 of 100 are evaluated."""
    printed.load()
    labels = set(printed.displays())
    assert labels == {*printed.PRINTED, *printed.READ}
    assert len(printed.PRINTED) >= 0.85 * len(labels)
    assert all(entry.why and entry.against for entry in printed.READ.values())


def test_noise_reaches_families_functions_and_outcomes(page):
    known = {"x_": entries([2, 4, 6]), "y_": entries([1, 2, 3]), "f": lambda x: 2 * x}
    found = page("x_i = f(y_i)", World(known, {"i": range(1, 4)}))
    assert found["problems"] == [] and found["letters"] == 3
    known = {"s": Depends(lambda at: at["t"] ** 2), "x_": entries([1, 4, 9])}
    found = page("s = x_t", World(known, {"t": range(1, 4)}))
    assert found["problems"] == [] and found["letters"] == 2
    cases = World({"b": 5}, outcomes=[(0.5, {"m": 1}), (0.5, {"m": 3})])
    found = page(r"\mathbb{E}\,m^2 = b", cases)
    assert found["problems"] == [] and found["letters"] == 2


def test_what_a_machine_lacks_is_no_verdict(monkeypatch):
    """As in a browser, where there is no lark: the checks run, and the report says what did not."""

    def lacking(label):
        raise ModuleNotFoundError("No module named 'lark'")

    monkeypatch.setattr("gdn_ref.proofs.printed.run", lacking)
    report = proving.prove("eq-affine-compose")
    assert report and "was not evaluated as printed: No module named 'lark'" in repr(report)
