"""The order of the house: who imports whom, that no file is a link, what is never committed."""

import ast
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HOME = ROOT / "kernels"
KERNELS = sorted(p for p in HOME.rglob("*.py") if HOME / "bench" not in p.parents)
REFERENCE = sorted([*ROOT.glob("gdn_ref/*.py"), *ROOT.glob("gdn_ref/family/*.py")])
NOTEBOOKS = sorted([*ROOT.glob("chapters/*.ipynb"), *ROOT.glob("book/*.ipynb")])
CHECKS_AND_DRAWINGS = {"gdn_ref.proofs", "gdn_ref.figures", "gdn_ref.exercises"}
ANY_ARRAY = ["affine", "chunking", "wy", "__init__"]
ANY_ARRAY += ["delta_rule", "gated_delta_rule", "linear_attention", "scalar_decay"]
ANY_ARRAY += sorted(f"family/{p.stem}" for p in ROOT.glob("gdn_ref/family/*.py"))
LATE = {"torch", "triton", "sympy", "matplotlib", "ipywidgets", "gdn_ref.kernels"}
MAY_ASK = {  # what a folder or module of the kernels imports, besides itself
    "common": set(),
    "host": {"common"},
    "forward": {"common", "host"},
    "backward": {"common", "host", "forward"},
    "decode": {"common", "host"},
    "conv": {"common", "host"},
    "activations": {"common", "host"},
    "shards": {"common", "host"},
    "rule": {"common", "host", "forward", "backward", "decode", "activations"},
    "first": set(),
}
MOST_PARAMETERS = 12
ONE_PLACE = {  # what only one module may know
    "common/triton_private.py": ["_reinterpret", "make_tensordesc", "object.__new__"],
    "host/gpu.py": ["get_device_capability", "get_device_properties", "torch.version.hip"],
}


def package_of(path):
    """The package that a module of gdn_ref or kernels is in."""
    folder = path.parent.relative_to(ROOT).as_posix().replace("/", ".")
    return f"gdn_ref.{folder}" if path in KERNELS else folder


def imported(path, top_level_only=False):
    """The absolute names that a module of gdn_ref or kernels imports."""
    package = package_of(path).split(".")
    tree = ast.parse(path.read_text())
    for node in tree.body if top_level_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            prefix = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{prefix}.{alias.name}" for alias in node.names)


def within(names, modules):
    return {n for n in names if any(n == m or n.startswith(m + ".") for m in modules)}


def file_name(path):
    return path.name


def place(path):
    """Where a kernel is, from the kernels' folder."""
    return path.relative_to(HOME).as_posix()


def owner(name):
    """Which folder of the kernels, or which module beside the folders, has an imported name."""
    return name.removeprefix("gdn_ref.kernels.").split(".")[0]


def test_no_package_at_the_root_is_called_kernels():
    """It would shadow the one that transformers imports; gdn_ref.kernels looks into the folder."""
    assert not (ROOT / "kernels" / "__init__.py").exists()


def test_no_file_is_a_symbolic_link():
    """Which a checkout on Windows and many a zip file would not have."""
    folders = [ROOT / name for name in ("gdn_ref", "kernels", "book", "chapters", "examples")]
    assert not [p for folder in folders for p in folder.rglob("*") if p.is_symlink()]


@pytest.mark.parametrize("path", [p for p in KERNELS if p.name != "__init__.py"], ids=place)
def test_the_readme_says_what_each_file_computes(path):
    """Under its folder's heading if it is not at the top; one folder further down, with that."""
    text = (HOME / "README.md").read_text()
    table = text[text.index("## The files") : text.index("## How the work is split")]
    folder, *rest = place(path).split("/")
    if rest:
        table = table.split(f"| **`{folder}/`** |")[1].split("| **`")[0]
    name = "/".join(rest or [folder])
    if "chunk_gradients" in rest:  # a row for all, and their names below the table
        assert f"`{path.name}`" in text.split("## How the work is split")[1]
        name = "hopper/chunk_gradients/"
    assert f"`{name}`" in table


@pytest.mark.parametrize("path", KERNELS, ids=place)
def test_a_kernel_imports_no_reference(path):
    ours = within(imported(path), {"gdn_ref"})
    assert ours == within(ours, {"gdn_ref.kernels"})


@pytest.mark.parametrize("path", KERNELS, ids=place)
def test_kernels_ask_downstairs_only(path):
    room = owner(place(path).removesuffix(".py").replace("/", "."))
    asked = {owner(name) for name in within(imported(path), {"gdn_ref.kernels"})}
    assert asked <= MAY_ASK[room] | {room}


@pytest.mark.parametrize("path", [p for p in KERNELS if "hopper" not in p.parts], ids=place)
def test_a_portable_kernel_is_imported_without_those_for_hopper(path):
    ours = within(imported(path, top_level_only=True), {"gdn_ref.kernels"})
    assert not [name for name in ours if ".hopper." in name]


@pytest.mark.parametrize("path", KERNELS, ids=place)
def test_what_one_module_knows_no_other_does(path):
    text = path.read_text()
    for home, words in ONE_PLACE.items():
        found = [word for word in words if word in text]
        assert found == (words if place(path) == home else [])


@pytest.mark.parametrize("path", KERNELS, ids=place)
def test_a_compiled_function_has_few_parameters(path):
    """Related ones are grouped in named tuples."""
    for function in compiled_functions(path):
        parameters = ast.unparse(function.args).split(", ")
        assert len(parameters) <= MOST_PARAMETERS, f"{function.name}: {len(parameters)} parameters"


def compiled_functions(path):
    """The functions of a module that Triton compiles, in either of its languages."""
    return [
        node
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
        and any(".jit" in ast.unparse(decorator) for decorator in node.decorator_list)
    ]


def test_a_name_of_the_kernels_has_one_meaning():
    """No two modules define the same name; nor does one define it twice."""
    homes = {}
    for path in KERNELS:
        for name in names_of(path):
            homes.setdefault(name, []).append(place(path))
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}


def names_of(path):
    """What a module defines: functions, classes, and what is assigned outside of both."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from {
                x.id for target in targets for x in ast.walk(target) if isinstance(x, ast.Name)
            }


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


def test_the_book_is_served_to_this_machine_alone():
    servers = [x for x in (ROOT / "Makefile").read_text().splitlines() if "http.server" in x]
    assert servers and all("--bind 127.0.0.1 " in x for x in servers)
