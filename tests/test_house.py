"""The order of the house: who imports whom, what is linked, what is never committed."""

import ast
import json
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
KERNELS = sorted(ROOT.glob("kernels/*.py"))
REFERENCE = sorted(ROOT.glob("gdn_ref/*.py"))
NOTEBOOKS = sorted([*ROOT.glob("chapters/*.ipynb"), *ROOT.glob("book/*.ipynb")])
CHECKS_AND_DRAWINGS = {"gdn_ref.proofs", "gdn_ref.figures", "gdn_ref.exercises"}
ANY_ARRAY = ["affine", "chunking", "wy", "__init__"]
ANY_ARRAY += ["delta_rule", "gated_delta_rule", "linear_attention", "scalar_decay"]
LATE = {"torch", "triton", "sympy", "matplotlib", "ipywidgets", "gdn_ref.kernels"}


def imported(path, top_level_only=False):
    """The absolute names that a module of gdn_ref or kernels imports."""
    package = "gdn_ref.kernels" if path.parent.name == "kernels" else "gdn_ref"
    tree = ast.parse(path.read_text())
    for node in tree.body if top_level_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.rpartition(".")[0] if node.level == 2 else package
            prefix = ".".join(filter(None, [above if node.level else "", node.module]))
            yield from (f"{prefix}.{alias.name}" for alias in node.names)


def within(names, modules):
    return {n for n in names if any(n == m or n.startswith(m + ".") for m in modules)}


def file_name(path):
    return path.name


def test_kernels_and_records_are_relative_links():
    """gdn_ref.kernels is kernels/; a package of that name at the root would shadow another."""
    assert os.readlink(ROOT / "gdn_ref" / "kernels") == "../kernels"
    assert os.readlink(ROOT / "gdn_ref" / "records") == "../book/_data"
    assert not (ROOT / "kernels" / "__init__.py").exists()


@pytest.mark.parametrize("path", KERNELS, ids=file_name)
def test_a_kernel_imports_no_reference(path):
    ours = within(imported(path), {"gdn_ref"})
    assert ours == within(ours, {"gdn_ref.kernels"})


@pytest.mark.parametrize("path", REFERENCE, ids=file_name)
def test_the_reference_imports_no_checks_and_no_drawings(path):
    assert not within(imported(path), CHECKS_AND_DRAWINGS)


@pytest.mark.parametrize("name", ANY_ARRAY)
def test_any_array_library_will_do(name):
    path = ROOT / "gdn_ref" / f"{name}.py"
    assert not within(imported(path, top_level_only=True), LATE)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=file_name)
def test_a_notebook_is_committed_without_outputs(path):
    notebook = json.loads(path.read_text())
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None, cell["source"]
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert "widgets" not in notebook["metadata"]


def test_there_are_kernels_and_notebooks():
    assert KERNELS and NOTEBOOKS
