"""A folder of chapters with one display in it, and a register of its own."""

import json
from types import SimpleNamespace

import pytest

from gdn_ref.proofs import __main__ as command
from gdn_ref.proofs import printed
from gdn_ref.proofs.printed import World, altered, check, position, source


def write(folder, tex, label="eq-test"):
    """A notebook whose second cell ends in this display."""
    text = f"# Title\n\nWords with $x$.\n\n$$\n{tex}\n$$ ({label})\n\nMore words.\n"
    cells = [
        {"cell_type": "code", "source": [f"'$$ no display $$ ({label})'"]},
        {"cell_type": "markdown", "source": text.splitlines(keepends=True)},
    ]
    (folder / "01_test.ipynb").write_text(json.dumps({"cells": cells}))


@pytest.fixture
def register(monkeypatch):
    """An empty register: nothing that is registered here reaches the real one."""
    for module in (check, printed):
        monkeypatch.setattr(module, "PRINTED", found := {})
        monkeypatch.setattr(module, "READ", read := {})
        monkeypatch.setattr(check, "PRINTED", found)
        monkeypatch.setattr(check, "READ", read)
    return SimpleNamespace(printed=found, read=read)


@pytest.fixture
def page(tmp_path, monkeypatch, register):
    """`page(tex, letters, ...)`: what `run` gives for a chapter that prints this display alone.

    `letters` may be a `World`, or a function of the draw; None registers nothing. A world that is
    given is one case, whose sizes are not asked for their position; nor is it altered by two edits
    at a time or by terms of equal value, which would find that its numbers are the same.
    """
    for more in ("doubles", "alike"):
        monkeypatch.setattr(altered, more, lambda *given: ())
    monkeypatch.setattr(command, "CHAPTERS", tmp_path)
    for module in (check, printed):
        monkeypatch.setattr(module, "displays", lambda: source.displays.__wrapped__(tmp_path))

    def of(tex, letters=None, **more):
        write(tmp_path, tex)
        check.PRINTED.clear()
        asked = position.settle if callable(letters) else lambda *_: ([], [])
        monkeypatch.setattr(check, "settle", asked)
        if letters is not None:
            world = letters if callable(letters) else lambda draw: _world(letters)
            check.printed("eq-test", world, against="sums", **{"arithmetic": "counted"} | more)
        return check.run("eq-test")

    return of


def _world(letters):
    return letters if isinstance(letters, World) else World(letters)
