"""gdn_ref.browser: without NumPy and Matplotlib the package imports, and proofs by algebra run."""

import subprocess
import sys
from pathlib import Path

import pytest

from gdn_ref import browser

ROOT = Path(__file__).parents[1]
BARE = """
from importlib.machinery import PathFinder

find = PathFinder.find_spec
ABSENT = {"numpy", "matplotlib", "torch", "triton", "tqdm"}
PathFinder.find_spec = lambda name, *more: (
    None if name.partition(".")[0] in ABSENT else find(name, *more)
)
"""


def run_bare(code):
    """Run code in a Python that has no NumPy, Matplotlib, torch, triton or tqdm."""
    command = [sys.executable, "-c", BARE + code]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_every_algebraic_check_runs_without_numpy():
    done = run_bare("""
from gdn_ref import browser
browser.stand_in()
from gdn_ref.proofs import registry, running
registry.load('method="algebra"')  # a module with such checks imports no torch
for check in registry.CHECKS:
    if check.method == "algebra":
        try:
            size = running.magnitude(check.function(), check.method)
            assert running.passes(size, check.method), check.name
            print("ran")
        except ModuleNotFoundError:
            print("stopped", check.name)
""")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines.count("ran") > 100
    assert [line for line in lines if line != "ran"] == []


def test_one_proof_imports_only_its_chapter():
    done = run_bare("""
import sys
from gdn_ref import browser
browser.stand_in()
from gdn_ref.proofs import prove
print(prove("eq-gdn-order"))
print(any(".proofs.ch11" in name for name in sys.modules))
""")
    assert done.returncode == 0, done.stderr
    assert "eq-gdn-order holds" in done.stdout and done.stdout.endswith("False\n")


@pytest.mark.parametrize(
    "use",
    ["np.zeros(3)", "np.linalg.norm([1])", "plt.subplots()", "np.float64(1)", "Rectangle((0, 0))"],
)
def test_what_needs_an_array_or_a_drawing_says_so(use):
    done = run_bare(f"""
from gdn_ref import browser
browser.stand_in()
import numpy as np
import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle
{use}
""")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "NotLoaded" in last and "It comes from Pyodide's distribution" in last
    assert ("needs NumPy" if use.startswith("np") else "needs Matplotlib") in last


def test_a_notebook_shows_the_sentence_alone():
    """No traceback: what is missing is no fault of the cell."""
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    with capture_output() as shown:
        found = InteractiveShell.instance().run_cell(
            "from gdn_ref.browser import Absent\nAbsent('numpy.zeros')(3)"
        )
    InteractiveShell.clear_instance()
    assert isinstance(found.error_in_exec, ModuleNotFoundError)
    assert found.error_in_exec.name == "numpy"
    assert shown.stdout.strip() == str(found.error_in_exec)
    assert shown.stdout.startswith("numpy.zeros needs NumPy. It comes from Pyodide's distribution")


def test_without_a_network_fetch_says_so():
    done = run_bare("""
import asyncio
from gdn_ref import browser
asyncio.run(browser.fetch("numpy", "matplotlib"))
import gdn_ref.figures.ch06, gdn_ref.gated_delta_rule
""")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("NumPy and Matplotlib could not be loaded")


def test_installed_packages_come_first():
    code = """
import asyncio
from gdn_ref import browser
asyncio.run(browser.fetch("numpy", "matplotlib"))
import numpy
print(numpy.zeros(2))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "NumPy and Matplotlib: ready\n[0. 0.]\n", done.stderr


def test_another_package_is_refused():
    with pytest.raises(
        ValueError, match="packages: expected one of numpy, matplotlib, got 'torch'"
    ):
        browser.fetch("torch").send(None)
