"""What a run leaves out where a library that only some of the checks need is not installed.

`import_modules` passes over a module that needs such a library and remembers it; `checks`,
`printed_forms` and `words` then say by name what was not run. Any other missing module stops the
run: without SymPy, say, nothing is left to check.
"""

import ast
import re
from importlib import import_module
from importlib.util import find_spec
from textwrap import fill

OPTIONAL = {"torch": "PyTorch", "lark": "lark"}  # as imported -> as called
MODULES = {}  # path of a module that was passed over -> the library that it needs
LAYOUT = {"initial_indent": "  ", "subsequent_indent": "    ", "break_on_hyphens": False}
KINDS = {"check": "checks", "printed": "equations as they are printed", "sentences": "sentences of"}


def import_modules(package, paths, needs=""):
    """Import the modules at `paths` into `package`; those that need what is not here, not.

    `needs` names an optional library that all of them need.
    """
    if needs and find_spec(needs) is None:
        MODULES.update(dict.fromkeys(paths, needs))
        return
    for path in paths:
        try:
            import_module(f"{package}.{path.stem}")
        except ModuleNotFoundError as error:
            if not library(error):
                raise
            MODULES[path] = error.name


def library(error):
    """The optional library whose absence `error` reports; empty if it reports anything else."""
    absent = isinstance(error, ModuleNotFoundError) and error.name in OPTIONAL
    return error.name if absent else ""


def absent():
    """The optional libraries that are not installed, by the names that a sentence has for them."""
    return [name for module, name in OPTIONAL.items() if find_spec(module) is None]


def entry(kind, name, lacks):
    """One thing that is left out: a check, a printed equation or the sentences of a chapter."""
    return {"kind": kind, "name": name, "lacks": lacks}


def apart(results):
    """`(those that were run, the entries of those that were left out)`."""
    ran = [result for result in results if not result.get("lacks")]
    return ran, [result for result in results if result.get("lacks")]


def checks():
    """The checks and errata of the modules that were passed over, read from their sources."""
    return [
        entry("check", name, module)
        for path, module in sorted(MODULES.items())
        for name in registered(path)
    ]


def registered(path):
    """`module.function` of each check and erratum that the module at `path` registers."""
    return [
        f"{path.stem}.{node.name}"
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef)
        and any(
            isinstance(call, ast.Call) and getattr(call.func, "id", "") in ("verifies", "erratum")
            for call in node.decorator_list
        )
    ]


def printed_forms(labels):
    """`{label: library}` for those of `labels` that a module which was passed over names."""
    found = {}
    for path, module in MODULES.items():
        if path.parent.name == "printed":
            named = set(re.findall(r"eq-[a-z0-9-]+", path.read_text("utf-8")))
            found |= dict.fromkeys(named & set(labels), module)
    return found


def words(entries):
    """What was left out and why, by name; one paragraph for each library and kind."""
    lines = []
    for module, library_name in OPTIONAL.items():
        of_it = [e for e in entries if e["lacks"] == module]
        if of_it:
            lines.append(f"\nLeft out, because {library_name} is not installed:")
        for kind, heading in KINDS.items():
            names = [e["name"] for e in of_it if e["kind"] == kind]
            if names:
                text = f"{len(names)} {heading}: {', '.join(names)}"
                lines.append(fill(text, 100, **LAYOUT))
    return "\n".join(lines)
