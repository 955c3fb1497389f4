r"""Hold a printed equation to its world: as it stands, and in every altered form.

printed(label, world, ...)    its TeX is evaluated in the worlds that `world(draw)` makes
read(label, ...)              its TeX cannot be evaluated: why, and which check was read with it
run(label)                    what the printed form gives, as a dict that JSON can hold
"""

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from .. import left_out
from ..report import ARITHMETIC
from .altered import altered, gap_of
from .bound import unambiguous
from .cases import BORDERS, EXACT, ONE_DIMENSION
from .contained import contained
from .draws import DRAWS, Draw
from .evaluate import Evaluator
from .gaps import PASS, Nothing, verdict
from .lexer import NotRead
from .lowest import reducible
from .noise import idle, noise
from .position import alone, settle
from .slips import slips
from .source import displays
from .special import constants, ends, intervals, matrices, powers, unsolved
from .statements import statements
from .tree import render
from .undefined import undefined
from .values import NotExact, Refused
from .world import canonical


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
    tied: tuple = ()
    words: str = ""
    needs: dict = field(default_factory=dict)
    few: dict = field(default_factory=dict)
    excluded: str = ""
    no_value: dict = field(default_factory=dict)


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
    tied="",
    words="",
    needs=None,
    few=None,
    excluded="",
    no_value=None,
):
    r"""Register how the TeX of these labels is evaluated.

    Parameters
    ----------
    labels : str
        One label, or several with spaces between them.
    world : callable
        `world(draw)` returns a `World`; `draw` says in which arithmetic, and has
        random numbers from a fixed seed.
    against : str
        Where the world's values come from, in a few words: "the token loop".
    arithmetic : str
        "modular": two draws in float64 and three modulo p. "float64": three draws, where no exact
        arithmetic has the functions. "counted": whole numbers. "rational": the world makes
        fractions, exact numbers that have an order. Of these two three draws; and of each as many
        more as it takes to bring the sizes into general position (see `position`).
    defines : bool
        The equation defines its left side: the world computes it by the same formula.
    equal : dict, optional
        Altered forms that are true as well: what `run` calls each, and why it is equal. Each must
        hold exactly; where there is no exact arithmetic, to 1e-12, and the reason is a theorem.
    anything : str
        Letters, with spaces, that may stand for anything: the equation holds for noise in their
        place. All other letters are replaced by noise once, and the equation must then fail.
    tied : str
        Letters, with spaces, that others of the world determine, as `L = L_s + L_a`: they are not
        asked to be in general position.
    words : str
        The words of the display that no one evaluates, remarks beside it or under a brace, with
        a semicolon after each equation's: they were read beside the world.
    needs : dict, optional
        Premises that the page states in words: what is needed, and a world whose data lack it
        alone. There the equation must come out false.
    few : dict, optional
        Whole numbers that take fewer values than are asked, and why.
    excluded : str
        A border of the data (`cases.BORDERS`, `cases.RESET`) that the page excludes in words.
    no_value : dict, optional
        What it divides by that is zero somewhere (`undefined`), and why it is not so there.
    """
    if arithmetic not in ARITHMETIC:
        raise ValueError(f"arithmetic: expected one of {', '.join(ARITHMETIC)}, got {arithmetic!r}")
    for label in labels.split():
        if label in PRINTED or label in READ:
            raise ValueError(f"labels: {label} is registered twice")
        free, bound = (tuple(map(canonical, names.split())) for names in (anything, tied))
        PRINTED[label] = Printed(
            label,
            world,
            arithmetic,
            against,
            defines,
            dict(equal or {}),
            free,
            bound,
            words,
            needs or {},
            {canonical(name): why for name, why in (few or {}).items()},
            excluded,
            no_value or {},
        )


def read(label, *, fingerprint, against, why):
    """Register an equation whose TeX cannot be evaluated: what it was read against, and why."""
    if label in PRINTED or label in READ:
        raise ValueError(f"label: {label} is registered twice")
    READ[label] = Read(label, fingerprint, against, why)


def load(text=""):
    """Import the chapters' worlds, or only the modules whose source holds `text`, say a label.

    All of them: what needs a library that is not installed is left out (`left_out`).
    """
    paths = sorted(Path(__file__).parent.glob("ch[0-9][0-9].py"))
    if not text:
        return left_out.import_modules(__package__, paths, needs="lark")  # it reads the letters
    for path in paths:
        if text in path.read_text(encoding="utf-8"):
            importlib.import_module(f"{__package__}.{path.stem}")


# A label: its true form, its mutants.


def run(label, one_by_one=False):
    """Evaluate the printed form of `label` and of its mutants; with `one_by_one`, also say what
    each of these gives, and which data would hide it (`slips`).

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
        result |= _evaluated(entry, display, one_by_one)
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


def _evaluated(entry, display, one_by_one):
    stated = statements(display.tex)
    remarks = "; ".join(" ".join(statement.remarks) for statement in stated if statement.remarks)
    if remarks != entry.words:
        return {"problems": [f"its words are {remarks!r}; those that were read: {entry.words!r}"]}
    draws, evaluators, gaps = [], [], []

    def evaluate(draw):
        ev = Evaluator(entry.world(draw.anew()))
        if not draws:
            unambiguous(stated, ev)
        gaps.append(gap_of(stated, ev))
        draws.append(draw)
        evaluators.append(ev)

    def evaluate_one_more():
        evaluate(Draw(False, max(draw.seed for draw in draws) + 1))

    for draw in DRAWS[entry.arithmetic]:
        evaluate(draw)
    record, special, usual = [], [], max(gaps)
    gaps.append(max(gap_of(stated, Evaluator(world)) for world in borders(entry)))
    if usual <= PASS:
        counted = _counted_of(entry)
        record, special = settle(entry, stated, evaluators, evaluate_one_more, counted)
    found = {
        "residual": max(gaps),
        "draws": len(draws),
        "position": record,
        "problems": special,
    }
    if not max(gaps) <= PASS:
        return found | {"problems": [f"is false as it is printed: off by {max(gaps):.1e}"]}
    if not all(any(ev.cases[n] for ev in evaluators) for n in range(len(stated))):
        raise Nothing("no index satisfies the conditions: nothing is claimed")
    if entry.arithmetic == "float64":
        found["problems"] += [f"its constants are special: {x}" for x in constants(stated)]
    found["problems"] += [f"an interval is special: {x}" for x in intervals(stated, evaluators)]
    found["problems"] += [f"could be reduced: {x}" for x in reducible(stated, evaluators[0])]
    found["problems"] += [f"a sum ends at a number: {x}" for x in ends(stated)]
    found["problems"] += [f"powers are special: {x}" for x in powers(stated, evaluators[0])]
    found["problems"] += [f"may have other roots: {x}" for x in unsolved(stated, evaluators[0])]
    found["problems"] += [f"a matrix for a number: {x}" for x in matrices(stated, evaluators[0])]
    nowhere = set(undefined(stated, evaluators[0]))
    for x in sorted(nowhere ^ set(entry.no_value)):
        found["problems"].append(f"{'may' if x in nowhere else 'does not'} divide by zero: {x}")
    found |= altered(entry, stated, evaluators, draws)
    if one_by_one:
        found["slips"] = slips(entry, stated, evaluators, draws)
    found["letters"], held = noise(stated, evaluators, draws)
    for kind in ("mutants", "doubles", "alike"):
        found["problems"] += [f"survives: {what}" for what in found[kind]["survived"]]
    found["problems"] += [f"no such altered form: {w}" for w in found["mutants"]["unused"]]
    found |= {"needs": list(entry.needs), "data": contained([ev.world for ev in evaluators])}
    found["problems"] += [f"does not need {what}" for what in _idle_premises(entry, stated)]
    claimed = set(entry.anything)
    found["problems"] += [f"claims nothing of {x}" for x in sorted(held - claimed)]
    found["problems"] += [f"claims nothing: {x}" for x in idle(entry, stated, evaluators, draws)]
    found["problems"] += [f"claims something of {x}" for x in sorted(claimed - held)]
    return found


def borders(entry):
    """Worlds at the border of the domain: equal sizes, no decay, strengths of 1, low ranks, a
    reset, an empty state; with norms one dimension: it may be true of two, and not of one."""
    first, *more = DRAWS[entry.arithmetic]
    draws = [replace(first, easy=easy) for easy in BORDERS]
    draws += [replace(d, easy=EXACT[d.seed]) for d in more if d.exact and d.seed in EXACT]
    if entry.arithmetic == "float64":
        draws.append(replace(first, easy=ONE_DIMENSION))
    return [entry.world(draw) for draw in draws if draw.easy != entry.excluded]


def _counted_of(entry):
    """What stands alone on a side of the equations of this world: it is counted, not drawn."""
    found = set()
    for label, other in PRINTED.items():
        if other.world is entry.world and label in displays():
            found |= alone(statements(displays()[label].tex))
    return found


def _idle_premises(entry, stated):
    """The premises in words without which the equation does not come out false."""
    for what, world in entry.needs.items():
        lacking = [world(draw.anew()) for draw in DRAWS[entry.arithmetic]]
        if verdict(stated, lacking) != "number":
            yield what


def described(stated):
    """The statements as they were understood, one line each."""
    return [render(node) for s in stated for node in s.nodes]
