r"""Hold a printed equation to its world: as it stands, and in every altered form.

printed(label, world, ...)    its TeX is evaluated in the worlds that `world(draw)` makes
read(label, ...)              its TeX cannot be evaluated: why, and which check was read with it
run(label)                    what the printed form gives, as a dict that JSON can hold
"""

import importlib
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..report import ARITHMETIC
from .draws import DRAWS
from .evaluate import Evaluator
from .gaps import PASS, gap, verdict
from .lexer import NotRead
from .mutate import mutants
from .noise import idle, noise
from .source import displays
from .tree import render, statements
from .values import NotExact, Refused, distance, is_exact
from .world import canonical

EQUAL = 1e-12  # as far off as an altered form may be that is called equal


@dataclass(frozen=True)
class Printed:
    """How one printed equation is evaluated."""

    label: str
    world: Callable
    arithmetic: str
    against: str
    defines: bool = False
    equal: dict = field(default_factory=dict)
    anything: tuple = ()
    words: str = ""


@dataclass(frozen=True)
class Read:
    """A printed equation that was read beside a check, at this fingerprint."""

    label: str
    fingerprint: str
    against: str
    why: str


PRINTED: dict[str, Printed] = {}
READ: dict[str, Read] = {}


def printed(
    labels,
    world,
    *,
    against,
    arithmetic="modular",
    defines=False,
    equal=None,
    anything="",
    words="",
):
    r"""Register how the TeX of these labels is evaluated.

    Parameters
    ----------
    labels : str
        One label, or several with spaces between them.
    world : callable
        `world(draw)` returns a `World`; `draw` says in which arithmetic, and is random.
    against : str
        Where the world's values come from, in a few words: "the token loop".
    arithmetic : str
        "modular": two draws in float64 and two modulo p. "float64": three draws, where no exact
        arithmetic has the functions. "counted": three draws of whole numbers. "rational": three
        draws, of which the world makes fractions: exact numbers that have an order.
    defines : bool
        The equation defines its left side: the world computes it by the same formula.
    equal : dict, optional
        Altered forms that are true as well: what `run` calls each, and why it is equal. Each must
        hold exactly; where there is no exact arithmetic, to 1e-12, and the reason is a theorem.
    anything : str
        Letters, with spaces, that may stand for anything: the equation holds for noise in their
        place. All other letters are replaced by noise once, and the equation must then fail.
    words : str
        The words of the display that no one evaluates, remarks beside it or under a brace: they
        were read beside the world.
    """
    if arithmetic not in ARITHMETIC:
        raise ValueError(f"arithmetic: expected one of {', '.join(ARITHMETIC)}, got {arithmetic!r}")
    for label in labels.split():
        if label in PRINTED or label in READ:
            raise ValueError(f"labels: {label} is registered twice")
        letters = tuple(canonical(letter) for letter in anything.split())
        PRINTED[label] = Printed(
            label, world, arithmetic, against, defines, dict(equal or {}), letters, words
        )


def read(label, *, fingerprint, against, why):
    """Register an equation whose TeX cannot be evaluated: what it was read against, and why."""
    if label in PRINTED or label in READ:
        raise ValueError(f"label: {label} is registered twice")
    READ[label] = Read(label, fingerprint, against, why)


def load(text=""):
    """Import the chapters' worlds, or only the modules whose source holds `text`, say a label."""
    for path in sorted(Path(__file__).parent.glob("ch[0-9][0-9].py")):
        if text in path.read_text(encoding="utf-8"):
            importlib.import_module(f"{__package__}.{path.stem}")


# A label: its true form, its mutants.


def run(label):
    """Evaluate the printed form of `label` and of its mutants.

    Returns a dict that JSON can hold; "problems" is empty if the printed form holds and every
    altered form is rejected or shown equal. An exception on the way is no verdict: "crashed" then
    says what was raised.
    """
    start = time.process_time()
    display = displays().get(label)
    entry = PRINTED.get(label)
    result = {"label": label, "kind": "", "place": "", "problems": [], "crashed": "", "seconds": 0}
    if display is None:
        return result | {"problems": ["no chapter prints this label"]}
    result |= {"fingerprint": display.fingerprint, "place": display.place}
    if entry is None:
        return result | _read(label, display)
    result |= {
        "kind": "evaluated",
        "arithmetic": entry.arithmetic,
        "against": entry.against,
        "defines": entry.defines,
    }
    try:
        result |= _evaluated(entry, display)
    except (Refused, NotRead, NotExact) as error:
        result["problems"] = [f"cannot be evaluated: {error}"]
    except ModuleNotFoundError:
        raise  # no fault of the equation's
    except Exception as error:
        result["crashed"] = f"{type(error).__name__}: {error}"
    return result | {"seconds": time.process_time() - start}


def _read(label, display):
    entry = READ.get(label)
    if entry is None:
        return {"problems": ["is neither evaluated nor read against a check"]}
    problems = []
    if entry.fingerprint != display.fingerprint:
        problems = [
            f"its TeX has changed since it was read against {entry.against} (now "
            f"{display.fingerprint}): read it again"
        ]
    return {"kind": "read", "against": entry.against, "why": entry.why, "problems": problems}


def _evaluated(entry, display):
    stated = statements(display.tex)
    remarks = " ".join(remark for statement in stated for remark in statement.remarks)
    if remarks != entry.words:
        return {"problems": [f"its words are {remarks!r}; those that were read: {entry.words!r}"]}
    worlds = [entry.world(draw.anew()) for draw in DRAWS[entry.arithmetic]]
    evaluators = [Evaluator(world) for world in worlds]
    gaps = [gap(stated, world, ev) for world, ev in zip(worlds, evaluators, strict=True)]
    found = {"residual": max(gaps), "draws": len(worlds), "problems": []}
    if not max(gaps) <= PASS:
        return found | {"problems": [f"is false as it is printed: off by {max(gaps):.1e}"]}
    found["mutants"] = _mutants(entry, stated, worlds, evaluators)
    found["letters"], held = noise(entry, stated, evaluators)
    found["problems"] += [f"survives: {what}" for what in found["mutants"]["survived"]]
    found["problems"] += [f"no such altered form: {w}" for w in found["mutants"]["unused"]]
    claimed = set(entry.anything)
    found["problems"] += [f"claims nothing of {x}" for x in sorted(held - claimed)]
    found["problems"] += [f"claims nothing: {text}" for text in idle(entry, stated, evaluators)]
    found["problems"] += [f"claims something of {x}" for x in sorted(claimed - held)]
    return found


def _mutants(entry, stated, worlds, evaluators):
    rejected, kinds, equal, survived = Counter(), Counter(), [], []
    for edit, altered in mutants(stated, evaluators[0]):
        found = verdict(altered, worlds)
        kinds[edit.kind] += 1
        if found != "holds":
            rejected[found] += 1
            continue
        why = _fewer_cases(stated, altered, evaluators) or _same(edit, evaluators[-1])
        if not why and edit.what in entry.equal and _exactly(altered, worlds):
            why = entry.equal[edit.what]
        if why:
            equal.append({"form": edit.what, "why": why})
        else:
            survived.append(edit.what)
    return {
        "by_number": rejected["number"],
        "refused": rejected["refused"],
        "kinds": dict(kinds),
        "equal": equal,
        "survived": survived,
        "unused": sorted(set(entry.equal) - {e["form"] for e in equal}),
    }


def _exactly(altered, worlds):
    """Whether an altered form holds in all draws, exactly or as well as float64 can say."""
    try:
        return max(gap(altered, world) for world in worlds) <= EQUAL
    except (Refused, NotExact):
        return False


def _fewer_cases(stated, altered, evaluators):
    """Why a narrower condition is no slip: the claim is the same, and made of fewer cases."""
    if any(a.claim != b.claim for a, b in zip(stated, altered, strict=True)):
        return ""
    for evaluator in evaluators:
        narrower = Evaluator(evaluator.world)
        try:
            gap(altered, evaluator.world, narrower)
        except (Refused, NotExact):
            return ""
        cases = [(narrower.cases[n], evaluator.cases[n]) for n in range(len(stated))]
        if not all(a <= b for a, b in cases) or all(a == b for a, b in cases):
            return ""
    return "the same claim, of fewer cases"


def _same(edit, evaluator):
    """Why an edit changes nothing, if the values show it: symmetry, or factors that commute."""
    values = [evaluator.last.get(id(part)) for part in edit.parts]
    if not values or not all(isinstance(x, np.ndarray) for x in values):
        return ""
    if edit.kind == "transpose" and distance(values[0], values[0].T) < 1e-14:
        return "a symmetric matrix"
    if not all(map(is_exact, values)):
        return ""
    if edit.kind == "order" and values[0].shape == values[1].shape[::-1]:
        one, other = values[0] @ values[1], values[1] @ values[0]
        return "the two commute" if one.shape == other.shape and np.all(one == other) else ""
    return ""


def described(stated):
    """The statements as they were understood, one line each."""
    return [render(node) for s in stated for node in s.nodes]
