"""The figure `equation-lines`: which line of some kernels carries which equation.

Chapters 15 and 16 each have a `Source`, which finds the texts of the lines in the kernels and
writes them into its own block of book/_static/figures/equation-lines.js.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from .ch15_source import line_with, lines_of
from .places import KERNELS

FIGURE = Path(__file__).parents[2] / "book" / "_static" / "figures" / "equation-lines.js"


@dataclass(frozen=True)
class Source:
    """Kernels and their equations.

    `equations` is key -> (formula, colour role, what it says); `lines` has (file, words by which
    the line is found, key of its equation, what it does).
    """

    name: str
    files: tuple
    equations: dict
    lines: tuple

    def lit_lines(self):
        """Dicts of file, number, text, equation and words, in file order."""
        found = []
        for file, words, equation, says in self.lines:
            n = line_with(file, words)
            text = lines_of(file)[n].strip()
            found.append({"file": file, "line": n + 1, "text": text, "eq": equation, "says": says})
        return sorted(found, key=lambda entry: (self.files.index(entry["file"]), entry["line"]))

    def script(self):
        """The data as JavaScript."""
        equations = [
            {"key": key, "formula": formula, "role": role, "says": says}
            for key, (formula, role, says) in self.equations.items()
        ]
        shapes = [{"file": file, "lines": lengths(file)} for file in self.files]
        parts = {"equations": equations, "lines": self.lit_lines(), "files": shapes}
        rows = [
            f"    {name}: [\n"
            + "".join(f"      {json.dumps(entry, ensure_ascii=False)},\n" for entry in entries)
            + "    ],\n"
            for name, entries in parts.items()
        ]
        return "".join(rows)

    def block(self):
        """The place of the data in the figure's script."""
        begin, end = (
            rf"    // {self.name}, from the source: {word}\n" for word in ("begin", "end")
        )
        return re.compile(f"(?<={begin}).*?(?={end})", re.S)

    def write(self):
        """Renew the data in the figure's script."""
        text = FIGURE.read_text()
        FIGURE.write_text(self.block().sub(lambda _: self.script(), text))


def lengths(file):
    """Where each line of a file begins and how long it is: `[indent, length]`, 0 when empty."""
    lines = [line.rstrip() for line in lines_of(file)]
    return [[len(line) - len(line.lstrip()), len(line.strip())] for line in lines]


def code_lines(file):
    """How many lines hold code: no comments, no docstrings, no empty lines."""
    text = re.sub(r'""".*?"""', "", (KERNELS / file).read_text(), flags=re.S)
    return sum(bool(re.sub(r"#.*", "", line).strip()) for line in text.splitlines())
