r"""The lines of the tables of equations (`token_forms`, `ch12_form`), and where they are printed.

    printed_as(FORM["E"], "eq-gdn-delta-split")

A check that uses such a line claims that the page prints it: the line is then run on the letters of
the page, in the worlds where the display is evaluated, and compared with what is printed.
"""

import numpy as np

from . import page


def _vector(letter):
    """`alpha`, `beta`: one number a token."""
    return lambda at: np.array([at(rf"{letter}_{{{i}}}") for i in _tokens(at)])


def _tokens(at):
    return range(1, len(at(r"\mathbf{K}")) + 1)


def _diagonal(tex):
    return lambda at: np.diag(at(tex))


NAMES = {  # of a table's letters
    "S": r"\mathbf{S}", "Q": r"\mathbf{Q}", "K": r"\mathbf{K}", "V": r"\mathbf{V}",
    "E": lambda at: at.first(r"\mathbf{E}", r"\mathbf{V}"), "alpha": _vector(r"\alpha"),
    "beta": _vector(r"\beta"), "gamma": _diagonal(r"\mathbf{D}_\gamma"),
    "Gamma": r"\boldsymbol{\Gamma}", "to_end": _diagonal(r"\mathbf{D}_\rightarrow"),
    "A": r"\mathbf{A}", "A_gated": r"\tilde{\mathbf{A}}", "W": r"\mathbf{W}",
    "U": lambda at: at.first(r"\tilde{\mathbf{U}}", r"\mathbf{U}"),
    "W_left": r"\mathbf{W}_\leftarrow", "M": r"\mathbf{M}",
    "scores": lambda at: at.first(r"\boldsymbol{\Gamma}", r"\mathbf{M}")
    * (at(r"\mathbf{Q}") @ at(r"\mathbf{K}").T),
    "S_next": r"\mathbf{S}'", "dO": r"\mathrm{d}\mathbf{O}", "dS_next": r"\mathrm{d}\mathbf{S}'",
    "dE": r"\mathrm{d}\mathbf{E}", "Z": r"\mathbf{Z}", "X": r"\mathbf{X}", "N": r"\mathbf{N}",
    "dV": r"\mathrm{d}\mathbf{V}", "dQ": r"\mathrm{d}\mathbf{Q}",
    "dK_reading": r"\mathrm{d}\mathbf{K}^{\text{reads}}",
    "dK_read": r"\mathrm{d}\mathbf{K}^{\text{is read}}", "dc": _vector(r"\mathrm{d}c"),
    "J": r"\mathbf{J}", "a": _vector("a"), "b": _vector("b"),
    "old": lambda at: np.array([at(r"\gamma_C\langle \mathbf{S}, \mathrm{d}\mathbf{S}'\rangle")]),
    "read": lambda at: at(r"\mathbf{D}_\gamma") @ at(r"\mathbf{K}") @ at(r"\mathbf{S}").T,
    "at_the_end": lambda at: np.array([at(r"\langle \mathbf{S}', \mathrm{d}\mathbf{S}'\rangle")]),
    "missing": lambda at: at(r"\mathbf{V} - \mathbf{D}_\gamma\mathbf{K}\mathbf{S}^\top")
    - np.tril(at(r"\boldsymbol{\Gamma}") * (at(r"\mathbf{K}") @ at(r"\mathbf{K}").T), -1)
    @ at(r"\mathbf{E}"),
    "overlap": lambda at: at(r"\boldsymbol{\Gamma}") * (at(r"\mathbf{K}") @ at(r"\mathbf{K}").T),
}  # fmt: skip


class Names:
    """A chunk whose letters are those of the page; each is evaluated once."""

    def __init__(self, at, names):
        self.at, self.names = at, names

    def __getattr__(self, name):
        vars(self)[name] = found = self.value(name)
        return found

    def value(self, name):
        meaning = self.names[name]
        return self.at(meaning) if isinstance(meaning, str) else meaning(self.at)


class SoFar(Names):
    """Of its tokens those up to the one where the page is evaluated."""

    def value(self, name):
        found = super().value(name)
        return found[: self.at.n] if name in ("Q", "K", "V", "W", "U", "alpha", "beta") else found


class Run(Names):
    """Its tokens are those of the page, and the lines of a table are computed from them."""

    def __init__(self, at, form):
        super().__init__(at, NAMES)
        self.form = form

    def value(self, name):
        return self.form[name](self) if name in self.form else super().value(name)


def tokens(at):
    """The chunk of the page, by the names of the tables: `S Q K V alpha beta` and more."""
    return Names(at, NAMES)


def run(at, form):
    """The lines of `form` on the page's tokens."""
    return Run(at, form)


def so_far(at):
    """The same, up to token r."""
    return SoFar(at, NAMES)


LINES: dict = {}  # line -> the claims that the page prints it


def printed_as(line, label, of=0, system="", names=None):
    r"""The display `label` prints this line of a table, in statement `of`.

    `system` is the matrix, in TeX, that the line solves with, where the page prints the system.
    """

    def side(at):
        found = line(Names(at, NAMES if names is None else names))
        if system:
            return np.atleast_2d(at(system)) @ found
        if np.ndim(found) == 1:  # an entry a token; or the vector of one token
            found = found[at.n - 1] if names is None else found[:, None]
        return found

    LINES.setdefault(line, []).append(page.Claim(label, (side,), of))


def use(line):
    """A check uses this line."""
    for claim in LINES.get(line, ()):
        page.claim(claim)
