"""A book of one chapter with its results, for the tests of the Sphinx extension."""

import json
import subprocess
import sys
from pathlib import Path

from gdn_ref.proofs.printed.source import fingerprint
from gdn_ref.proofs.sources import digests

EXTENSION = Path(__file__).parents[1] / "book" / "_ext"

CONF = """
extensions = ["myst_parser", "sphinx.ext.autodoc", "gdn_book"]
myst_enable_extensions = ["dollarmath", "amsmath"]
root_doc = "index"
html_static_path = ["static"]
html_theme = "basic"
numfig = math_numfig = True
gdn_proofs_json = "proofs.json"
gdn_package = "code"
gdn_code = ["code"]
"""
INDEX = """# Book
```{toctree}
11_chunks
verification
errata
api
```
"""
CHAPTER = """# Chunks

$$ a = b $$ (eq-name)

See {eq}`eq-sum` and {eq}`eq-name`.

````{note}
```{math}
:label: eq-sum
1 + 1 = 2
```
````

```python
total = 1 + 1  # eq-sum
```
"""
VERIFICATION = """# Verification
```{gdn-totals}
```
```{gdn-methods}
```
```{gdn-equations}
```
```{gdn-read}
```
"""
API = """# API
```{eval-rst}
.. automodule:: total
   :members:
```
"""
ERRATA = """# Errata
```{gdn-errata}
```
"""
CODE = '''"""A sum.

It is one (eq-sum,
eq-name).

    a = b    (eq-name)
    1 + 1    (eq-sum)

More words.
"""
'''


def as_printed(label, tex, **more):
    """What the printed form of a label gave."""
    tried = {"by_number": 3, "refused": 1, "kinds": {"sign": 1, "number": 3}, "survived": []}
    tried["equal"] = [{"form": "a for b", "why": "the same letter"}]
    others = {"by_number": 2, "refused": 1, "equal": [], "survived": []}
    return {
        "label": label, "kind": "evaluated", "place": "11_chunks, cell 1, line 1", "problems": [],
        "crashed": "", "seconds": 0.25, "fingerprint": fingerprint(tex), "arithmetic": "counted",
        "against": "a `count`", "defines": False, "residual": 0.0, "mutants": tried,
        "doubles": others, "alike": others, "data": ["1, 5 tokens"], "needs": ["a `unit` key"],
    } | more  # fmt: skip


def good_results(package):
    return {
        "date": "2026-01-02",
        "versions": {"python": "3.11"},
        "sources_sha256": digests(package),
        "methods": {"algebra": "computer algebra, symbolic sizes", "float64": "float64"},
        "printed": [
            as_printed("eq-name", "a = b", defines=True, arithmetic="float64"),
            as_printed("eq-sum", "1 + 1 = 2"),
        ],
        "sentences": [
            {
                "notebook": "11_chunks.ipynb", "fingerprint": "0" * 12, "problems": [],
                "evaluated": 5, "listed": 3, "sets": 2, "rejected": 1234, "left": 1,
                "seconds": 0.25,
            }
        ],
        "checks": [
            {
                "label": "eq-sum", "name": name, "method": method,
                "covers": covers, "about": "", "residual": 0, "passed": True,
                "part": "", "crashed": "", "inputs": [],
                "mutants": [
                    {"name": mutant, "residual": 1, "rejected": True} for mutant in mutants
                ],
                "seconds": 0.5, "source": "def total():\n    return 0\n",
            }
            for name, method, covers, mutants in (  # two mutants, one of them tried twice
                ("ch11_chunks.on_data", "float64", "n = 3", ["off by <one>"]),
                ("ch11_chunks.total", "algebra", "every `n`", ["off by <one>", "doubled"]),
            )
        ],
        "definitions": {"eq-name": "What a is called."},
        "errata": [
            {
                "key": "sum", "name": "ch11_chunks.slip", "source_text": "A paper",
                "printed": "1 + 1 = 3", "corrected": "1 + 1 = 2", "consequence": "Off *by one*.",
                "label": "eq-sum", "method": "algebra", "printed_residual": 1,
                "corrected_residual": 0, "passed": True, "source": "def slip(form):\n    ...\n",
            }
        ],
    }  # fmt: skip


class Book:
    """A book of one chapter in a folder, with good results until a test spoils something."""

    def __init__(self, root):
        self.root = root
        self.write("conf.py", CONF)
        self.write("index.md", INDEX)
        self.write("11_chunks.md", CHAPTER)
        self.write("verification.md", VERIFICATION)
        self.write("errata.md", ERRATA)
        self.write("api.md", API)
        self.write("code/total.py", CODE)
        self.write("static/empty.css", "")
        self.results = good_results(root / "code")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def build(self, results=True, fresh=True):
        """`(exit code, warnings)` of a build with `-W -n`; `fresh` reads every page again."""
        if results:
            self.write("proofs.json", json.dumps(self.results))
        command = [sys.executable, "-m", "sphinx", "-W", "-n", "--keep-going", "-q"]
        command += ["-E"] if fresh else []
        environment = {
            "PYTHONPATH": f"{EXTENSION}:{EXTENSION.parents[1]}:{self.root / 'code'}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "NO_COLOR": "1",
            "PATH": "/usr/bin:/bin",
        }
        run = subprocess.run(
            [*command, str(self.root), str(self.root / "html")],
            capture_output=True,
            text=True,
            env=environment,
            timeout=120,
        )
        return run.returncode, run.stderr

    def page(self, name):
        return (self.root / "html" / f"{name}.html").read_text()
