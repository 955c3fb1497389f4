"""Compile the formal proofs and compare them with the record that the book shows.

Every theorem must be closed under the global context, so it rests on no axiom; `coqchk` checks the
compiled files again, with all that they import. `--record` writes the record. Needs Rocq (Coq) with
MathComp, on Debian or Ubuntu the packages coq and libcoq-mathcomp-algebra.
"""

import argparse
import datetime
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from . import FOLDER, RECORD, differences, digests, sources, theorems

QUIET = ["-q", "-w", "-notation-overridden,-ambiguous-paths"]  # MathComp's own warnings
CLOSED = "Closed under the global context"
ASSUMPTIONS = """From mathcomp Require Import all_ssreflect.
From GDN Require {files}.
{questions}
"""


class Failed(Exception):
    """A proof does not hold, or cannot be checked here; the text says why."""


def run(*command, cwd):
    """What a command prints, its errors included."""
    done = subprocess.run(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        raise Failed(f"`{' '.join(command)}` fails:\n{done.stdout}")
    return done.stdout


def compile_files(paths, build):
    """Compile copies of these files in the folder `build`."""
    if not shutil.which("coqc"):
        raise Failed("coqc is not installed: `apt install coq libcoq-mathcomp-algebra` brings it")
    build.mkdir(parents=True, exist_ok=True)
    for path in paths:
        shutil.copy(path, build)
        run("coqc", *QUIET, "-Q", ".", "GDN", path.name, cwd=build)


def assumptions(stated, build):
    """Theorem -> what it rests on, in the words of `Print Assumptions`."""
    questions = "".join(
        f'Goal True. idtac "theorem {t["name"]}". Abort.\n'
        f"Print Assumptions GDN.{Path(t['file']).stem}.{t['name']}.\n"
        for t in stated
    )
    files = " ".join(dict.fromkeys(Path(t["file"]).stem for t in stated))
    asked = build / "assumptions.v"
    asked.write_text(ASSUMPTIONS.format(files=files, questions=questions))
    printed = run("coqc", *QUIET, "-Q", ".", "GDN", asked.name, cwd=build)
    answers = re.split(r"^theorem (\w+)$", printed, flags=re.MULTILINE)
    return {name: answer.strip() for name, answer in zip(answers[1::2], answers[2::2], strict=True)}


def check_again(paths, build):
    """`coqchk` on the compiled files and on all that they import, MathComp included."""
    summary = run(
        "coqchk", "-silent", "-o", "-Q", ".", "GDN", *(f"GDN.{p.stem}" for p in paths), cwd=build
    )
    if "* Axioms: <none>" not in summary:
        raise Failed(f"coqchk finds axioms:\n{summary}")


def versions():
    coq = run("coqc", "-print-version", cwd=None).split()[0]
    return {"coq": coq, "mathcomp": mathcomp()}


def mathcomp():
    """The version of MathComp: Debian's package or opam's says it, the library does not."""
    asked = {
        "dpkg-query": ["-W", "-f", "${Version}", "libcoq-mathcomp-algebra"],
        "opam": ["show", "-f", "installed-version", "coq-mathcomp-algebra"],
    }
    for program, question in asked.items():
        if shutil.which(program):
            return run(program, *question, cwd=None).partition("-")[0].strip()
    return "unknown"


def check(folder, build):
    """Compile every file; the theorems, each closed under the global context, or Failed."""
    stated = theorems(folder)
    compile_files(sources(folder), build)
    found = assumptions(stated, build)
    for theorem in stated:
        rests, labels = found[theorem["name"]], ", ".join(theorem["labels"])
        print(f"{theorem['file']:20} {theorem['name']:28} {rests}  {labels}".rstrip())
    if opened := [name for name, rests in found.items() if rests != CLOSED]:
        raise Failed(f"not closed under the global context: {', '.join(opened)}")
    return stated


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m gdn_ref.proofs.formal", description=__doc__)
    parser.add_argument("--build", type=Path, default=Path("_build/formal"), metavar="FOLDER")
    parser.add_argument("--record", action="store_true", help=f"write {RECORD.name} anew")
    args = parser.parse_args(argv)
    checked = digests()
    try:
        stated = check(FOLDER, args.build)
        check_again(sources(), args.build)
        print("coqchk: no axioms, in these files and in all that they import")
        if args.record:
            write_record(stated, checked)
        elif lines := differences(recorded()):
            raise Failed(f"{RECORD.name} is stale (`make formal RECORD=1`): {'; '.join(lines)}")
    except Failed as error:
        sys.exit(str(error))


def recorded():
    """The record as it stands; empty where there is none."""
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.is_file() else {}


def write_record(stated, checked):
    record = {
        "date": datetime.date.today().isoformat(),
        "versions": versions(),
        "sources_sha256": checked,
        "theorems": [theorem | {"closed": True} for theorem in stated],
    }
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {RECORD}")


if __name__ == "__main__":
    main()
