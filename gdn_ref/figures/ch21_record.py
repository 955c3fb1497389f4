"""Chapter 21: the recorded runs, and the reduced one; accuracies by seed, means and intervals."""

from functools import cache

from ..experiments.recall import HALF_LIFE, reduced
from ..experiments.training import interval
from .ch14_model import record

NAMES = {"linear": "linear attention", "decay": "scalar decay", "delta": "delta rule",
         "gated": "gated delta rule", "attention": "softmax attention"}  # fmt: skip


@cache
def rows():
    return [row for run in record("recall_h100")["runs"] for row in run["rows"]]


def asked(part, task, mixers, d_k=16, half_life=HALF_LIFE):
    """The rows of one model, a seed each."""
    mixers = [mixers] if isinstance(mixers, str) else list(mixers)
    keys = {"part": part, "task": task, "mixers": mixers, "d_k": d_k, "half_life": half_life}
    found = [row for row in rows() if all(row[key] == x for key, x in keys.items())]
    if not found:
        raise ValueError(f"asked: no row of the record has {keys}")
    return found


def accuracies(*which, names=None, **more):
    """The share of right answers with so many names, one for each seed; by default the most."""
    found = [row["accuracy"] for row in asked(*which, **more)]
    return [x[str(names or max(map(int, x)))] for x in found]


def counts(*which):
    """The numbers of names that were tested."""
    return [int(n) for n in asked(*which)[0]["accuracy"]]


def stated(values):
    """The mean and half the width of its interval, as the text prints them."""
    mean, low, _ = interval(values)
    return f"{100 * mean:5.1f} +- {100 * (mean - low):4.1f}"


def table(columns, rules=tuple(NAMES)):
    """Rows of text: a rule, and for each column, `title: which(rule)`, mean and interval."""
    lines = [f"{'per cent':17}" + "".join(f"{title:>15}" for title in columns)]
    for rule in rules:
        cells = [stated(accuracies(*which(rule))) for which in columns.values()]
        lines.append(f"{NAMES[rule]:17}" + "".join(f"{cell:>15}" for cell in cells))
    return "\n".join(lines)


def small_table():
    """The reduced run, trained now: each rule, and its share right with the most names."""
    found = {}
    for row in reduced():
        accuracy = row["accuracy"]
        found.setdefault(row["mixers"][0], []).append(accuracy[max(accuracy, key=int)])
    return "\n".join(f"{NAMES[rule]:17} {stated(x)}  {x}" for rule, x in found.items())
