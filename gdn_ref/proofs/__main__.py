"""Run every check, print a table, write JSON, and fail if a check fails or a mutant survives.

With labels, run the checks of these equations alone and say what each rejects. The exit code is 0
if everything holds, 1 if an equation fails, 2 for a wrong argument, 3 if a check crashed: then
nothing is known of its equation. Where PyTorch or lark is not installed, all that needs neither is
run and the rest is named; with --json nothing may be left out.
"""

import argparse
import datetime
import json
import platform
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.metadata import version
from pathlib import Path

from . import left_out, printed, proving, registry, report, running
from .printed import inline
from .printed.source import CHAPTERS
from .sources import digests

FAILED, CRASHED = 1, 3  # exit codes; argparse takes 2


def _run_check(key):
    registry.load()
    result = running.run(next(check for check in registry.CHECKS if check.key == key))
    return left_out.entry("check", result["name"], lacks) if (lacks := result["lacks"]) else result


def _run_erratum(key):
    registry.load()
    return running.run_erratum(next(entry for entry in registry.ERRATA if entry.key == key))


def _run_printed(label, one_by_one):
    printed.load()
    if lacks := _without_a_world([label]):
        return left_out.entry("printed", label, *lacks)
    run = partial(printed.run, one_by_one=one_by_one)
    return _unless_left_out(run, label, "printed", label)


def _run_sentences(path):
    printed.load()
    near = {label for formula in inline.formulas(path) for label in formula.near}
    if lacks := _without_a_world(near):  # the letters of the sentences are theirs
        return left_out.entry("sentences", path.name, lacks[0])
    return _unless_left_out(inline.judge, path, "sentences", path.name)


def _without_a_world(labels):
    """The libraries for want of which some of `labels` have no world."""
    here = [x for x in labels if x not in printed.PRINTED and x not in printed.READ]
    return sorted(set(left_out.printed_forms(here).values()))


def _unless_left_out(run, argument, kind, name):
    """What `run` finds; that it was left out, if it asks for an optional library in vain."""
    try:
        return run(argument)
    except ModuleNotFoundError as error:
        if not left_out.library(error):
            raise
        return left_out.entry(kind, name, error.name)


def run_all(jobs=2, one_by_one=False):
    """Evaluate every printed equation and the sentences' formulas, and run every check and erratum,
    in `jobs` processes; with `one_by_one`, also what each altered form gives."""
    from tqdm import tqdm

    registry.load()
    printed.load()
    with ProcessPoolExecutor(jobs) as pool:
        pages = [pool.submit(_run_printed, label, one_by_one) for label in printed_labels()]
        work = [pool.submit(_run_check, check.key) for check in registry.CHECKS]
        errata = [pool.submit(_run_erratum, entry.key) for entry in registry.ERRATA]
        prose = [pool.submit(_run_sentences, path) for path in chapters()]
        for future in tqdm(
            pages + work + errata + prose, desc="proofs", unit="check", file=sys.stderr
        ):
            future.result()
    ran, without = left_out.apart([future.result() for future in work])
    shown, without_shown = left_out.apart([future.result() for future in pages])
    judged, without_judged = left_out.apart([future.result() for future in prose])
    return {
        "date": datetime.date.today().isoformat(),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "sympy")},
        },
        "sources_sha256": digests(),
        "methods": report.METHODS,
        "arithmetic": report.ARITHMETIC,
        "printed": shown,
        "sentences": judged,
        "checks": ran,
        "definitions": registry.DEFINITIONS,
        "errata": [future.result() for future in errata],
        "left_out": [*left_out.checks(), *without, *without_shown, *without_judged],
    }


def chapters():
    """The notebooks whose sentences are judged; none without the chapters."""
    return sorted(CHAPTERS.glob("*.ipynb"))


def printed_labels():
    """Every label that a chapter prints or a world is made for; none without the chapters."""
    known = {*printed.PRINTED, *printed.READ}
    return (
        [*printed.displays(), *sorted(known - {*printed.displays()})] if CHAPTERS.is_dir() else []
    )


def failures(results):
    """One line for each printed equation or sentence that fails, each check that crashes or fails,
    each altered form or mutant that survives, each erratum that does not tell the printed form
    from the corrected one."""
    lines = [line for page in results["printed"] for line in report.printed_complaints(page)]
    lines += [line for s in results["sentences"] for line in report.sentence_complaints(s)]
    lines += [line for check in results["checks"] for line in report.complaints(check)]
    for e in results["errata"]:
        if e["crashed"]:
            lines.append(f"CRASHED erratum {e['key']}: {e['crashed']} ({e['name']})")
        elif not e["passed"]:
            lines.append(f"FAILED erratum {e['key']} ({e['name']})")
    return lines


def exit_code(lines):
    """What the command returns for the complaints of a run."""
    if any(line.startswith("CRASHED") for line in lines):
        return CRASHED
    return FAILED if lines else 0


def table(results):
    rows = [
        (
            check["label"],
            check["method"],
            f"{check['covers']} [{check['part']}]" if check["part"] else check["covers"],
            f"{check['seconds']:.2f} s",
            f"{sum(m['rejected'] for m in check['mutants'])}/{len(check['mutants'])}",
            "CRASHED" if check["crashed"] else "ok" if check["passed"] else "FAILS",
        )
        for check in sorted(results["checks"], key=lambda c: c["label"])
    ]
    head = ("equation", "method", "covers [part]", "time", "mutants rejected", "")
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [head, *rows]
    )


def printed_totals(pages):
    """How many equations hold as they are printed, by which means, and what was rejected."""
    if not pages:
        return "no chapters here: no printed equation was evaluated"
    good = [page for page in pages if not report.printed_complaints(page)]
    evaluated = [page for page in good if page["kind"] == "evaluated"]
    by = Counter(page["arithmetic"] for page in evaluated)
    kinds = ", ".join(f"{by[name]} in {words}" for name, words in report.ARITHMETIC.items())
    found = [page["mutants"] for page in evaluated]
    number, refused = (sum(m[key] for m in found) for key in ("by_number", "refused"))
    equal = sum(len(m["equal"]) for m in found)
    return (
        f"{len(evaluated)} of {len(pages)} equations hold as they are printed ({kinds}), "
        f"read beside a check: {len(good) - len(evaluated)}; of {number + refused + equal} "
        f"altered forms {number} rejected by number, {refused} without a value, {equal} equal, "
        f"{sum(len(m['survived']) for m in found)} left; "
        f"{report.beyond_one_edit(evaluated)}; {sum(p['seconds'] for p in pages):.1f} s"
    )


def sentence_totals(judged):
    """How many formulas inside sentences were evaluated, and what the others are."""
    if not judged:
        return "no chapters here: no formula in a sentence was evaluated"
    by = {key: sum(c[key] for c in judged) for key in inline.COUNTED}
    return (
        f"{by['evaluated']} formulas in sentences hold ({by['rejected']} altered forms rejected), "
        f"{by['listed']} are listed, {by['sets']} only set letters; "
        f"{sum(c['seconds'] for c in judged):.1f} s"
    )


def prove_each(labels, parser):
    """Print the report of each of these equations; the exit code."""
    try:
        reports = [proving.prove(label) for label in labels]
    except proving.NothingToProve as error:
        parser.error(str(error))
    print(*reports, sep="\n\n")
    return exit_code([line for r in reports for line in r.complaints()])


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m gdn_ref.proofs", description=__doc__)
    parser.add_argument("labels", nargs="*", metavar="label", help="such as eq-gdn-chunk-state")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    args = parser.parse_args(argv)
    if args.jobs < 1:
        parser.error(f"argument --jobs: expected at least 1, got {args.jobs}")
    if args.labels and args.json:
        parser.error("argument --json: expected no labels with it, for it holds every check")
    if args.json and (absent := left_out.absent()):
        parser.error(f"argument --json: expected every check, but without {' and '.join(absent)}")
    if args.json:  # now, not after the checks
        if args.json.is_dir():
            parser.error(f"argument --json: expected a file, got the folder {args.json}")
        args.json.parent.mkdir(parents=True, exist_ok=True)

    try:
        if args.labels:
            return prove_each(args.labels, parser)
        results = run_all(args.jobs, one_by_one=bool(args.json))
    except ModuleNotFoundError as error:
        parser.error(f"{error}; the checks need the package's extra `proofs`, or `book` for all")
    print(table(results))
    print(f"\n{printed_totals(results['printed'])}")
    print(sentence_totals(results["sentences"]))
    mutants = report.distinct(results["checks"])
    inputs = [x for check in results["checks"] for x in check["inputs"]]
    print(
        f"{len({c['label'] for c in results['checks']})} equations checked by "
        f"{len(results['checks'])} checks, {len(results['definitions'])} definitions, "
        f"{sum(mutants.values())} of {len(mutants)} mutants rejected (each once an equation), "
        f"{sum(x['rejected'] for x in inputs)} of {len(inputs)} wrong inputs refused, "
        f"{sum(e['passed'] for e in results['errata'])} of {len(results['errata'])} errata "
        "confirmed, "
        f"{sum(c['seconds'] for c in results['checks']):.1f} s of checks"
    )
    if results["left_out"]:
        print(left_out.words(results["left_out"]))
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))
    wrong = failures(results)
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    return exit_code(wrong)


if __name__ == "__main__":
    sys.exit(main())
