"""The labelled displays of the chapters, where each stands, and fingerprints of their TeX."""

import hashlib
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CHAPTERS = Path(__file__).parents[3] / "chapters"
LABEL = re.compile(r"[ \t]*\((eq-[a-z0-9-]+)\)")


@dataclass(frozen=True)
class Display:
    """One labelled equation: its TeX and its place."""

    label: str
    tex: str
    notebook: str  # the file's name
    cell: int  # counted from 1
    line: int  # of the cell, counted from 1

    @property
    def place(self):
        return f"{self.notebook}, cell {self.cell}, line {self.line}"

    @property
    def fingerprint(self):
        return fingerprint(self.tex)


def fingerprint(tex):
    """Twelve digits that change with the TeX, but not with its white space."""
    return hashlib.sha256(" ".join(tex.split()).encode()).hexdigest()[:12]


@cache
def displays(folder=CHAPTERS):
    """Every labelled display of the notebooks in `folder`, by label."""
    found = {}
    for path in sorted(Path(folder).glob("*.ipynb")):
        for number, cell in enumerate(json.loads(path.read_text("utf-8"))["cells"], 1):
            if cell["cell_type"] != "markdown":
                continue
            parts = "".join(cell["source"]).split("$$")
            for n in range(1, len(parts) - 1, 2):
                if label := LABEL.match(parts[n + 1]):
                    line = sum(part.count("\n") for part in parts[:n]) + 1
                    display = Display(label[1], parts[n].strip(), path.name, number, line)
                    if twice := found.get(display.label):
                        raise ValueError(
                            f"{display.label} stands in {twice.place} and again in {display.place}"
                        )
                    found[display.label] = display
    return found
