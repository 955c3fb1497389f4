"""The tiers name tests that are there, and what a quick run leaves out has still been looked at."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest
from test_code_mutants import EDITS
from tiers import BOOK, CORE, OF, REST, TIERS, tier, unwanted

ROOT = Path(__file__).parents[1]
FILES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py"))


@pytest.mark.parametrize("name", OF)
def test_what_is_named_is_there(name):
    path, _, test = name.partition("::")
    files = [file for file in FILES if file.startswith(path)]
    assert files
    if test:
        (file,) = files
        names = [node.name for node in ast.walk(ast.parse((ROOT / file).read_text()))
                 if isinstance(node, ast.FunctionDef)]  # fmt: skip
        function, bracket, _ = test.partition("[")
        assert function in names if bracket else any(n.startswith(function) for n in names)


def test_no_name_twice():
    assert len(OF) == sum(map(len, TIERS.values()))


def test_every_edit_of_the_code_is_noticed_before_the_book():
    assert {tier(f"{file}::{test}") for *_, file, test in EDITS} == {CORE, REST}


def test_each_module_that_is_edited_has_a_core_test():
    noticed = defaultdict(set)
    for _, module, _, _, file, test in EDITS:
        noticed[module].add(tier(f"{file}::{test}"))
    assert not {module for module, tiers in noticed.items() if CORE not in tiers}


@pytest.mark.parametrize(
    "test, expected",
    [
        ("tests/test_ops.py::test_gradcheck[True]", CORE),
        ("tests/test_ops.py::test_traced_with_sizes_that_are_symbols[chunk]", REST),
        ("tests/test_family.py::test_a_published_rule_is_the_general_rule[numpy-mild-kda]", CORE),
        ("tests/test_family.py::test_a_published_rule_is_the_general_rule[torch-mild-kda]", REST),
        ("tests/kernels/test_compile.py::test_twice_in_one_graph", REST),
        ("tests/test_of_tomorrow.py::test_something", REST),
        ("tests/book/test_pdf.py::test_pages", BOOK),
    ],
)
def test_the_longest_name_decides(test, expected):
    assert tier(test) == expected


@pytest.mark.parametrize("file", FILES)
def test_no_module_with_a_wanted_test_is_left_out(file):
    """A run that imports less finds no less."""
    wanted = {OF[name] for name in OF if name.startswith(file)} | {tier(file)}
    assert unwanted("core and not gpu", file) == (CORE not in wanted)
    assert unwanted("not gpu and not book", file) == (wanted == {BOOK})
    for expression in ("not gpu", "gpu", "", "book"):
        assert not unwanted(expression, file)
