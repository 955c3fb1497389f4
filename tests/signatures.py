"""The public functions, which are those of the API pages, and what their signatures say."""

import ast
import inspect
import re
import typing
from importlib import import_module
from pathlib import Path
from types import NoneType

PAGES = sorted((Path(__file__).parents[1] / "book").glob("api*.md"))
DIRECTIVE = re.compile(r"^\.\. auto(module|class|function):: (\S+)\n(?:   :members:(.*)\n)?", re.M)


def found(name):
    """The object with this dotted name."""
    home, _, last = name.rpartition(".")
    if home and hasattr(found(home), last):
        return getattr(found(home), last)
    return import_module(name)


def public():
    """Dotted name -> function, of all functions and methods that the pages show."""
    functions = {}
    for page in PAGES:
        for kind, name, members in DIRECTIVE.findall(page.read_text()):
            owner = found(name)
            names = [member.strip() for member in members.split(",") if member.strip()]
            if kind == "function":
                functions[name] = owner
                continue
            if kind == "module" and not names and f":: {name}\n   :members:" in page.read_text():
                names = [
                    member
                    for member, x in vars(owner).items()
                    if inspect.isfunction(x) and x.__module__ == name and member[0] != "_"
                ]
            names += ["__init__"] * (kind == "class")
            functions |= {f"{name}.{member}": getattr(owner, member) for member in names}
    return functions


def plain(function):
    """Its signature as text, without types."""
    signature = inspect.signature(function)
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=signature.empty))


def types(function):
    """Parameter, or "return", -> type, for all that have one."""
    function = inspect.unwrap(function)
    context = None
    if "cp_context" in inspect.signature(function).parameters:  # imported for checkers alone
        context = {"CPContext": found("gdn_ref.distributed.CPContext")}
    return typing.get_type_hints(function, localns=context)


def untyped(function):
    """The parameters without a type, and "return" where that is missing."""
    names = [name for name in inspect.signature(function).parameters if name != "self"]
    return [name for name in (*names, "return") if name not in types(function)]


def described(function):
    """Parameter -> what its docstring says of its type, `[(names, text)]` under Parameters."""
    text = inspect.getdoc(function) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", text, re.M | re.S)
    lines = re.findall(r"^(\S[^\n]*?)(?: : ([^\n]*))?$", section[1] if section else "", re.M)
    return {
        name.strip().lstrip("*"): said.strip() for names, said in lines for name in names.split(",")
    }


def alternatives(hint):
    """The parts of a union, and those of a `Literal` in it; generic types without arguments."""
    parts = [hint]
    if typing.get_origin(hint) in (typing.Union, type(int | str)):
        parts = typing.get_args(hint)
    for part in parts:
        if typing.get_origin(part) is typing.Literal:
            yield from typing.get_args(part)
        else:
            yield typing.get_origin(part) or part


def disagreements(function):
    """Where the docstring and the types of a function say different things, a sentence each."""
    hints, known = types(function), inspect.signature(function).parameters
    for name, said in described(function).items():
        if name not in known or name not in hints:
            yield f"{name}: described, but no parameter, or without a type"
            continue
        if not said:  # it is described elsewhere
            continue
        parts = list(alternatives(hints[name]))
        names = [getattr(part, "__name__", part) for part in parts]
        if said.startswith("{"):
            choices = set(ast.literal_eval(said[: said.index("}") + 1]))
            choices = {NoneType if choice is None else choice for choice in choices}
            if choices != set(parts):
                yield f"{name}: described as {said}, has {names}"
            continue
        word = re.match(r"[\w.]*", said)[0].rpartition(".")[2]
        if word in ("Tensor", "Module", "bool", "int", "float", "str", "dtype", "CPContext"):
            kinds = {"Module": ["Module", "Model"]}.get(word, [word])
            if not set(kinds) & set(names):
                yield f"{name}: described as {said}, has {names}"
        if "optional" in said and known[name].default is inspect.Parameter.empty:
            yield f"{name}: described as {said}, and has no default"
        if "None" in said and NoneType not in parts:
            yield f"{name}: described as {said}, and None is no {names}"
        if known[name].default is None and NoneType not in parts:
            yield f"{name}: is None if left out, and None is no {names}"
        if NoneType in parts and known[name].default is not None and "None" not in said:
            yield f"{name}: may be None, which is not said"
