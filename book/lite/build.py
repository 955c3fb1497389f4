"""Build the notebooks that run in the browser: JupyterLite with Pyodide, asking no other host.

    python book/lite/build.py FETCHED OUT

FETCHED is what fetch.py left, OUT the folder of the site to fill. NumPy, Matplotlib and what they
need are the exception: they are in no package registry, so their addresses in Pyodide's own
distribution go into its lock file, and they load when a notebook asks for them.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import nbformat
from fetch import PYODIDE, PYTHON
from jupyterlite_pyodide_kernel.constants import PYODIDE_CDN_URL, PYODIDE_VERSION
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from gdn_book.launch import torchless  # noqa: E402

LABEXTENSIONS = Path(sys.prefix) / "share" / "jupyter" / "labextensions"
KERNEL = "@jupyterlite/pyodide-kernel-extension"
EXTENSIONS = [KERNEL, "@jupyter-widgets/jupyterlab-manager", "jupyterlab-myst"]
DISABLED = [
    "@jupyterlite/application-extension:service-worker-manager",
    # throws where a cell that fails makes a text active that was not drawn yet
    "@jupyterlab/cell-toolbar-extension:plugin",
]
FROM_THE_NETWORK = ["numpy", "matplotlib"]
IN_BROWSER = {"sys_platform": "emscripten", "platform_system": "Emscripten"}
IN_BROWSER |= {"python_version": PYTHON, "extra": "book"}
REFERENCE = re.compile(r"\{(?:eq|numref|prf:ref|cite:[a-z]+)\}`([^`]+)`")
NUMBER = re.compile(r'id="equation-([\w-]+)"[^>]*>\s*<span class="eqno">(\([\d.]+\))')
CAPTION = re.compile(
    r'id="((?:thm|fig)-[\w-]+)"(?:(?!\bid=").)*?<span class="caption-number">([^<]+?)\s*</span>',
    re.S,
)
FIRST_CELL = """\
# In the browser: NumPy and Matplotlib come over the network, the rest is on this site
from gdn_ref import browser
await browser.fetch("numpy", "matplotlib")"""


def main(fetched, out):
    fetched, out = Path(fetched), Path(out)
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        copy_notebooks(scratch / "files", numbers(out.parent))
        pyodide = scratch / "static" / "pyodide"
        shutil.copytree(fetched / "pyodide", pyodide)
        packages = lock(pyodide, [*wheels_of(fetched / "wheels"), build_wheel(scratch)])
        run_jupyterlite(scratch, out, packages)
    say_what_files_cannot(out / "notebooks" / "index.html")
    shutil.copy(Path(__file__).with_name("README.md"), out / "THIRD_PARTY.md")


def numbers(site):
    """Label -> what the pages of the built book call it: (2.12), Theorem 5.1."""
    found = {}
    for page in sorted(site.glob("chapters/*.html")):
        html = page.read_text(encoding="utf-8")
        found |= {match[1]: match[2] for match in NUMBER.finditer(html)}
        found |= {match[1]: match[2] for match in CAPTION.finditer(html)}
    return found


def copy_notebooks(to, known):
    """The notebooks that need no torch, for the browser's kernel, under their own paths."""
    notebooks = sorted([*ROOT.glob("chapters/*.ipynb"), *ROOT.glob("book/*.ipynb")])
    for path in torchless(notebooks, ROOT):
        notebook = nbformat.read(path, 4)
        notebook.metadata["kernelspec"] = {
            "name": "python",
            "display_name": "Python (Pyodide)",
            "language": "python",
        }
        if path.parent.name == "chapters":
            notebook.cells.insert(0, nbformat.v4.new_code_cell(FIRST_CELL, id="in-the-browser"))
        name_what_is_elsewhere(notebook, known)
        copy = to / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, copy)


def name_what_is_elsewhere(notebook, known):
    """References that this notebook alone cannot resolve become numbers, or labels and keys."""
    text = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    whole = "\n".join(cell.source for cell in text)
    own = set(re.findall(r"\((eq-[\w-]+)\)|^:(?:label|name): (\S+)", whole, re.MULTILINE))
    own = {label for pair in own for label in pair}
    for cell in text:
        cell.source = REFERENCE.sub(
            lambda m: m[0] if m[1] in own else known.get(m[1], f"`{m[1]}`"), cell.source
        )


def wheels_of(folder):
    """The fetched wheels and those that the kernel brings along."""
    brought = LABEXTENSIONS / KERNEL / "static" / "pypi"
    old = "widgetsnbextension-3."
    found = [*folder.glob("*.whl"), *brought.glob("*.whl")]
    return sorted(wheel for wheel in found if not wheel.name.startswith(old))


def build_wheel(scratch):
    """A wheel of gdn_ref as it stands, made in a copy so that the tree stays clean."""
    tree = scratch / "tree"
    for name in ("gdn_ref", "kernels", "book/_data"):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, tree / name, ignore=ignore)
    for name in (
        "pyproject.toml", "setup.py", "publishing.py", "_config.yml", "README.md", "LICENSE",
        "LICENSE-text",
    ):  # fmt: skip
        shutil.copy(ROOT / name, tree)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", scratch, tree], check=True)
    return next(scratch.glob("gdn_ref-*.whl"))


def lock(pyodide, wheels):
    """Put the wheels beside Pyodide and rewrite its lock file; returns the names of the wheels."""
    path = pyodide / "pyodide-lock.json"
    whole = json.loads(path.read_text())
    packages = {name: whole["packages"][name] for name in needed(whole["packages"])}
    for entry in packages.values():
        entry["file_name"] = f"{PYODIDE_CDN_URL}/{entry['file_name']}"
    here = {entry["name"]: entry for entry in map(lock_entry, wheels)}
    ours = here["gdn-ref"]  # the book's own needs, less what no browser has
    ours["depends"] = [name for name in ours["depends"] if name in here and name != "gdn-ref"]
    for entry in here.values():
        missing = [name for name in entry["depends"] if name not in here]
        if missing:
            raise ValueError(f"wheels.txt: {entry['name']} needs {', '.join(missing)}")
    for wheel in wheels:
        shutil.copy(wheel, pyodide)
    whole["packages"] = packages | here
    path.write_text(json.dumps(whole))
    return sorted(here)


def needed(packages, names=FROM_THE_NETWORK):
    """`names` and all that they need."""
    below = [needed(packages, packages[name]["depends"]) for name in names]
    return sorted({*names, *(name for some in below for name in some)})


def lock_entry(wheel):
    """What Pyodide's lock file says of a wheel."""
    with ZipFile(wheel) as files:
        names = files.namelist()
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        about = Parser().parsestr(files.read(metadata).decode())
    requirements = [Requirement(line) for line in about.get_all("Requires-Dist", [])]
    tops = {name.partition("/")[0].removesuffix(".py") for name in names if name.endswith(".py")}
    return {
        "name": canonicalize_name(about["Name"]),
        "version": about["Version"],
        "file_name": wheel.name,
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "imports": sorted(top for top in tops if top.isidentifier()),
        "depends": sorted(
            canonicalize_name(requirement.name)
            for requirement in requirements
            if requirement.marker is None or requirement.marker.evaluate(IN_BROWSER)
        ),
        "install_dir": "site",
        "package_type": "package",
        "unvendored_tests": False,
    }


def run_jupyterlite(scratch, out, packages):
    """Build the site in a folder of its own: a stale state file would drop settings silently.

    Without a service worker Python sees no files of the notebooks' folder, and needs none.
    """
    settings = {
        "disablePyPIFallback": True,
        "loadPyodideOptions": {"packages": packages},
    }
    write(scratch / "jupyter-lite.json", {
        "jupyter-lite-schema-version": 0,
        "jupyter-config-data": {
            "appName": "Gated DeltaNet",
            "appUrl": "./tree",
            "faviconUrl": "./tree/favicon.ico",
            "disabledExtensions": DISABLED,
            "litePluginSettings": {f"{KERNEL}:kernel": settings},
        },
    })  # fmt: skip
    write(scratch / "jupyter_lite_config.json", {
        "LiteBuildConfig": {
            "apps": ["notebooks", "tree"],
            "contents": ["files"],
            "ignore_sys_prefix": ["federated_extensions"],
            "federated_extensions": [str(LABEXTENSIONS / name) for name in EXTENSIONS],
            "no_sourcemaps": True,
            "no_unused_shared_packages": True,
            "output_dir": str(out.resolve()),
        },
    })  # fmt: skip
    command = [sys.executable, "-m", "jupyterlite_core", "build"]
    done = subprocess.run(command, cwd=scratch, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"jupyter lite build failed:\n{done.stdout}{done.stderr}")


def say_what_files_cannot(page):
    """From file:// no browser starts the notebooks: say so instead of an empty page."""
    message = json.dumps("This needs a web server: run `make serve` and open the address it names.")
    script = f'if (location.protocol === "file:") document.body.textContent = {message};'
    html = page.read_text(encoding="utf-8")
    page.write_text(html.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")


def write(path, data):
    path.write_text(json.dumps(data, indent=1))


if __name__ == "__main__":
    if PYODIDE != PYODIDE_VERSION:
        raise SystemExit(f"fetch.py has Pyodide {PYODIDE}, the kernel wants {PYODIDE_VERSION}")
    main(*sys.argv[1:])
