"""Run every check, print a table, write JSON, and fail if a check fails or a mutant survives.

With labels, run the checks of these equations alone and say what each rejects.
"""

import argparse
import datetime
import json
import platform
import sys
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path

from . import registry
from .sources import digests


def _run_check(key):
    registry.load()
    return registry.run(next(check for check in registry.CHECKS if check.key == key))


def _run_erratum(key):
    registry.load()
    return registry.run_erratum(next(entry for entry in registry.ERRATA if entry.key == key))


def run_all(jobs=2):
    """Run every check and erratum of the registry in `jobs` processes."""
    from tqdm import tqdm

    registry.load()
    with ProcessPoolExecutor(jobs) as pool:
        work = [pool.submit(_run_check, check.key) for check in registry.CHECKS]
        errata = [pool.submit(_run_erratum, entry.key) for entry in registry.ERRATA]
        for future in tqdm(work + errata, desc="proofs", unit="check", file=sys.stderr):
            future.result()
    return {
        "date": datetime.date.today().isoformat(),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "sympy")},
        },
        "sources_sha256": digests(),
        "methods": registry.METHODS,
        "checks": [future.result() for future in work],
        "definitions": registry.DEFINITIONS,
        "errata": [future.result() for future in errata],
    }


def failures(results):
    """One line for each check that fails, each mutant that survives, each erratum that does not
    tell the printed form from the corrected one."""
    lines = []
    for check in results["checks"]:
        if not check["passed"]:
            lines.append(f"{check['label']}: residual {check['residual']} ({check['name']})")
        lines += [
            f"{check['label']}: the mutant {m['name']!r} survived ({check['name']})"
            for m in check["mutants"]
            if not m["rejected"]
        ]
    lines += [f"erratum {e['key']} ({e['name']})" for e in results["errata"] if not e["passed"]]
    return lines


def table(results):
    rows = [
        (
            check["label"],
            check["method"],
            check["covers"],
            f"{check['seconds']:.2f} s",
            f"{sum(m['rejected'] for m in check['mutants'])}/{len(check['mutants'])}",
            "ok" if check["passed"] else "FAILS",
        )
        for check in sorted(results["checks"], key=lambda c: c["label"])
    ]
    head = ("equation", "method", "covers", "time", "mutants rejected", "")
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [head, *rows]
    )


def prove_each(labels, parser):
    """Print the report of each of these equations; 0 if all hold."""
    try:
        reports = [registry.prove(label) for label in labels]
    except ValueError as error:
        parser.error(str(error))
    print(*reports, sep="\n\n")
    return 0 if all(reports) else 1


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
    if args.json:  # now, not after the checks
        if args.json.is_dir():
            parser.error(f"argument --json: expected a file, got the folder {args.json}")
        args.json.parent.mkdir(parents=True, exist_ok=True)

    try:
        if args.labels:
            return prove_each(args.labels, parser)
        results = run_all(args.jobs)
    except ModuleNotFoundError as error:
        parser.error(f"{error}; the checks need the package's extra `book`")
    print(table(results))
    mutants = [m for check in results["checks"] for m in check["mutants"]]
    print(
        f"\n{len({c['label'] for c in results['checks']})} equations checked by "
        f"{len(results['checks'])} checks, {len(results['definitions'])} definitions, "
        f"{sum(m['rejected'] for m in mutants)} of {len(mutants)} mutants rejected, "
        f"{sum(e['passed'] for e in results['errata'])} of {len(results['errata'])} errata "
        "confirmed, "
        f"{sum(c['seconds'] for c in results['checks']):.1f} s of checks"
    )
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))
    wrong = failures(results)
    for line in wrong:
        print("FAILED", line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
