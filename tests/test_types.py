"""Types of the public functions: all there, as the docstrings say, and as checkers read them."""

import ast
import inspect
from pathlib import Path

import check_types
import pytest
import signatures
import torch
import types_right

import gdn_ref
from gdn_ref import layers

PUBLIC = signatures.public()


def test_the_pages_show_what_the_package_exports():
    functions = {inspect.unwrap(x) for x in PUBLIC.values()}
    for name in set(gdn_ref.__all__) - {"__version__"}:
        exported = getattr(gdn_ref, name)
        assert not inspect.isfunction(exported) or exported in functions
    assert len(PUBLIC) > 90


@pytest.mark.parametrize("name", PUBLIC)
def test_every_parameter_and_result_has_a_type(name):
    assert signatures.untyped(PUBLIC[name]) == []


@pytest.mark.parametrize("name", PUBLIC)
def test_types_are_what_the_docstring_says(name):
    assert [*signatures.disagreements(PUBLIC[name])] == []


def test_a_docstring_that_says_something_else_is_noticed():
    def f(a: int, b: torch.Tensor, c: gdn_ref.types.Backend, d: bool | None):
        """A line.

        Parameters
        ----------
        a : bool
        b : torch.Tensor, [N], or None
        c : {"auto", "triton"}
        d : bool
        e : int
            More: `a : int`.

        Returns
        -------
        x : int
        """

    found = [*signatures.disagreements(f)]
    assert [sentence[0] for sentence in found] == list("abcde")


def block_for_checkers(path):
    """The statements of the first `if TYPE_CHECKING:` in a module or in one of its classes."""
    for node in ast.walk(ast.parse(Path(path).read_text())):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield node.body


def test_checkers_see_the_lazy_names():
    """Each where it is, under its own name."""
    (block,) = block_for_checkers(gdn_ref.__file__)
    seen = {alias.asname: (x.module, alias.name) for x in block for alias in x.names}
    assert seen == {
        **{name: (home, name) for name, home in gdn_ref._HOME.items()},
        **{name: (None, name) for name in gdn_ref._MODULES},
    }


def test_a_call_of_the_layer_is_its_forward():
    *_, (called,) = block_for_checkers(layers.__file__)
    (layer,) = (
        x
        for x in ast.parse(Path(layers.__file__).read_text()).body
        if isinstance(x, ast.ClassDef) and x.name == "GatedDeltaNet"
    )
    (forward,) = (x for x in layer.body if getattr(x, "name", "") == "forward")
    assert called.name == "__call__"
    assert ast.unparse(called.args) == ast.unparse(forward.args)
    assert ast.unparse(called.returns) == ast.unparse(forward.returns)


@pytest.mark.parametrize("use", types_right.ON_ANY_MACHINE, ids=lambda use: use.__name__)
def test_the_right_uses_are_right(use):
    use()


def test_a_checker_that_says_too_much_or_too_little_is_noticed():
    lines = check_types.WRONG.read_text().splitlines()
    marked = [n for n, line in enumerate(lines, 1) if check_types.MARK.search(line)]
    errors = [(check_types.WRONG, n, "wrong") for n in marked]
    assert len(marked) >= 15
    assert [*check_types.differences(errors)] == []
    assert len([*check_types.differences(errors[1:])]) == 1
    assert len([*check_types.differences([*errors, (check_types.WRONG, 1, "more")])]) == 1
    assert len([*check_types.differences([*errors, (check_types.RIGHT, marked[0], "more")])]) == 1
