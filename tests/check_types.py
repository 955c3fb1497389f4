"""What mypy and pyright say of the uses of the package in `types_right.py` and `types_wrong.py`.

    python tests/check_types.py

Each must find nothing in the first, and in the second something on every line marked `# wrong`, and
nothing else. The package's own code, whose inner functions have no types, is read and not judged.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
RIGHT, WRONG = HERE / "types_right.py", HERE / "types_wrong.py"
MARK = re.compile(r"  # wrong: \w")


def run(module, *options):
    """The output of a checker that was run on both files from the root of the repository."""
    command = [sys.executable, "-m", module, *options, str(RIGHT), str(WRONG)]
    done = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True)
    if done.returncode not in (0, 1):  # 1: it found errors
        raise SystemExit(f"{module} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def mypy():
    """What it calls errors, as `(file, line, message)`."""
    lines = map(json.loads, run("mypy", "--output", "json").splitlines())
    return [
        ((HERE.parent / x["file"]).resolve(), x["line"], x["message"])
        for x in lines
        if x["severity"] == "error"
    ]


def pyright():
    """The same, by the fork of pyright that pip installs whole."""
    said = json.loads(run("basedpyright", "--outputjson", "--pythonpath", sys.executable))
    return [
        (Path(x["file"]).resolve(), x["range"]["start"]["line"] + 1, x["message"])
        for x in said["generalDiagnostics"]
        if x["severity"] == "error"
    ]


def differences(errors, right=RIGHT, wrong=WRONG):
    """A sentence for each error where none should be, and for each mistake without one."""
    lines = wrong.read_text().splitlines()
    marked = {n for n, line in enumerate(lines, 1) if MARK.search(line)}
    for file, n, message in errors:
        if file != wrong or n not in marked:
            yield f"{file.name}:{n}: expected no error, got: {message}"
    for n in sorted(marked - {n for file, n, _ in errors if file == wrong}):
        yield f"{wrong.name}:{n}: expected an error, got none: {lines[n - 1].strip()}"


def main():
    wrong = False
    for checker in (mypy, pyright):
        errors = checker()
        found = list(differences(errors))
        marked = sum(MARK.search(line) is not None for line in WRONG.read_text().splitlines())
        print(*(f"{checker.__name__}: {line}" for line in found), sep="\n", end="\n" * bool(found))
        print(f"{checker.__name__}: {marked} mistakes, {len(found)} differences")
        wrong |= bool(found)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
