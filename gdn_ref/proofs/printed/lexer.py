r"""TeX to tokens: the letters of the book with their accents, the operators, the brackets.

A letter is one token, named by its TeX with every brace written: `\tilde{\mathbf{A}}`,
`\boldsymbol{k}`, `d_k` is three tokens. A differential is part of the letter that follows:
`\mathrm{d}\mathbf{S}` is the token `d\mathbf{S}`, `\nabla\mathcal{L}` one too. Spacing means
nothing but for `\quad`, which parts statements and sets off conditions.
"""

import re
from dataclasses import dataclass


class NotRead(Exception):
    """The notation has no meaning here: the equation cannot be read."""


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    at: int = 0  # the character in the display where it begins


PIECE = re.compile(r"\\[A-Za-z]+|\\.|.", re.DOTALL)
SPACING = {r"\,", r"\;", r"\:", r"\!", r"\ ", r"\displaystyle", r"\left", r"\right", "~", "\n", " "}
SPACING |= {rf"\{size}{side}" for size in ("big", "Big", "bigg", "Bigg") for side in ("", "l", "r")}
FONTS = {r"\mathbf", r"\boldsymbol", r"\mathcal", r"\mathbb", r"\mathrm", r"\operatorname"}
WORDS = {r"\text", r"\texttt"}
TABLES = {"aligned", "pmatrix", "cases"}
ACCENTS = {r"\tilde", r"\bar", r"\hat"}
GREEK = """alpha beta gamma delta epsilon varepsilon zeta eta theta iota kappa lambda mu nu xi pi
    rho sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi
    Omega ell infty"""
GREEK = set(GREEK.split())
FUNCTIONS = "exp ln log sin cos det max min tr rank tril diag cond softplus silu Var"
FUNCTIONS = set(FUNCTIONS.split())
KINDS = {
    "=": "RELATION", r"\le": "RELATION", r"\ge": "RELATION", "<": "RELATION", ">": "RELATION",
    r"\ne": "RELATION", r"\perp": "RELATION", r"\in": "RELATION", r"\approx": "RELATION",
    r"\to": "RELATION",
    "+": "SIGN", "-": "SIGN", r"\cdot": "CDOT", r"\times": "TIMES", r"\odot": "ODOT", "/": "SLASH",
    r"\cdots": "DOTS", r"\dots": "DOTS", r"\ldots": "DOTS",
    r"\sum": "SUM", r"\prod": "PROD", r"\sqrt": "SQRT", r"\binom": "BINOM",
    r"\frac": "FRAC", r"\tfrac": "FRAC", r"\dfrac": "FRAC",
    "(": "LPAR", ")": "RPAR", "[": "LSQB", "]": "RSQB", "{": "LBRACE", "}": "RBRACE",
    r"\langle": "LANGLE", r"\rangle": "RANGLE", r"\lfloor": "LFLOOR", r"\rfloor": "RFLOOR",
    r"\lceil": "LCEIL", r"\rceil": "RCEIL", "^": "UP", "_": "DOWN", "'": "PRIME",
    r"\top": "TOP", r"\ast": "MARK", r"\star": "MARK", r"\rightarrow": "MARK",
    r"\leftarrow": "MARK",
    ",": "COMMA", ".": "STOP", ":": "COLON", "&": "CELL", r"\\": "ROW", r"\bmod": "MOD",
    r"\Longrightarrow": "IMPLIES", r"\quad": "QUAD", r"\qquad": "QUAD",
}  # fmt: skip
OPENS = {"LPAR", "LSQB", "LBRACE", "LANGLE", "LFLOOR", "LCEIL", "LNORM", "LBAR", "BEGIN"}
CLOSES = {"RPAR", "RSQB", "RBRACE", "RANGLE", "RFLOOR", "RCEIL", "RNORM", "RBAR", "END"}
ENDS_OPERAND = {"NAME", "NUMBER", "TOP", "PRIME", "MARK"} | CLOSES


def tokens(tex):
    """The tokens of one display."""
    return _bars(_Lexer(tex).run())


class _Lexer:
    def __init__(self, tex, offset=0, script=False):
        self.pieces = [(m.group(), offset + m.start()) for m in PIECE.finditer(tex)]
        self.script = script  # inside of a script a word is part of a name
        self.i = 0

    def peek(self):
        self.skip()
        return self.pieces[self.i][0] if self.i < len(self.pieces) else ""

    def skip(self):
        while self.i < len(self.pieces) and self.pieces[self.i][0] in SPACING:
            self.i += 1

    def argument(self):
        """The text of `{...}` or of the one piece that follows a command."""
        self.skip()
        if self.i == len(self.pieces):
            raise NotRead("a command without its argument")
        first, _ = self.pieces[self.i]
        self.i += 1
        if first != "{":
            return first
        start, depth = self.i, 1
        while depth:
            if self.i == len(self.pieces):
                raise NotRead("a brace that is not closed")
            depth += {"{": 1, "}": -1}.get(self.pieces[self.i][0], 0)
            self.i += 1
        return "".join(piece for piece, _ in self.pieces[start : self.i - 1])

    def run(self):
        out = []
        while self.peek():
            piece, at = self.pieces[self.i]
            self.i += 1
            out += self.one(piece, at)
        return out

    def one(self, piece, at):
        if piece in FONTS | ACCENTS or piece == r"\nabla" or piece == r"\partial":
            return [self.letter(piece, at)]
        if piece in WORDS:
            text = " ".join(self.argument().split())
            name = self.script or piece == r"\texttt"
            return [Token("NAME" if name else "TEXT", text, at)]
        if piece in (r"\begin", r"\end"):
            name = self.argument()
            if name not in TABLES:
                raise NotRead(f"no meaning is known for a table {name}")
            return [] if name == "aligned" else [Token(piece[1:].upper(), name, at)]
        if piece == r"\underbrace":  # what stands under the brace is a remark
            inside = self.braced()
            if self.peek() == "_":
                self.i += 1
                words = " ".join(token.text for token in _Lexer(self.argument()).run())
                inside.append(Token("REMARK", words, at))
            return inside
        if KINDS.get(piece) in ("FRAC", "BINOM"):
            return [Token(KINDS[piece], piece, at), *self.braced(), *self.braced()]
        if piece in (r"\sqrt", "^", "_"):
            return [Token(KINDS[piece], piece, at), *self.braced(script=piece != r"\sqrt")]
        if piece == r"\\" and self.i < len(self.pieces) and self.pieces[self.i][0] == "[":
            while self.pieces[self.i][0] != "]":  # the distance to the next row, as in \\[4pt]
                self.i += 1
            self.i += 1
        if piece == ":" and self.peek() == "=":
            self.i += 1
            return [Token("RELATION", "=", at)]
        if piece == "{" and self.peek() == "}":
            self.i += 1
            return []
        if piece.startswith("\\") and piece[1:] in FUNCTIONS:
            return [Token("FUNCTION", piece[1:], at)]
        if piece.startswith("\\") and piece[1:] in GREEK:
            return [Token("NAME", piece, at)]
        if piece in (r"\|", "|"):
            return [Token("NORM" if piece == r"\|" else "BAR", piece, at)]
        if piece in KINDS:
            return [Token(KINDS[piece], piece, at)]
        if piece.isdigit():
            while self.i < len(self.pieces) and self.pieces[self.i][0].isdigit():
                piece += self.pieces[self.i][0]
                self.i += 1
            return [Token("NUMBER", piece, at)]
        if piece.isalpha():
            return [Token("NAME", piece, at)]
        raise NotRead(f"no meaning is known for {piece}")

    def braced(self, script=False):
        """The argument of a fraction, a root or a script, in braces even where it has none."""
        self.skip()
        if self.i == len(self.pieces):
            raise NotRead("a command without its argument")
        piece, at = self.pieces[self.i]
        if piece in FONTS | ACCENTS | WORDS:
            self.i += 1
            inside = _Lexer("", script=script)
            inside.pieces, inside.i = self.pieces, self.i
            found = inside.one(piece, at)
            self.i = inside.i
        else:
            found = _Lexer(self.argument(), at + (piece == "{"), script).run()
        return [Token("LBRACE", "{", at), *found, Token("RBRACE", "}", at)]

    def letter(self, command, at):
        """A letter with its font and accents; `d`, nabla and partial belong to the next letter."""
        if command in (r"\nabla", r"\partial"):
            return self.prefixed(command, at)
        body = self.argument().strip()
        if command in ACCENTS:
            inner = _Lexer(body).run()
            body = inner[0].text if len(inner) == 1 else body
        if command in (r"\mathrm", r"\operatorname"):
            if body == "d":
                return self.prefixed("d", at)
            return Token("FUNCTION" if body in FUNCTIONS else "NAME", body, at)
        letter = f"{command}{{{body}}}"
        return Token("EXPECT" if letter == r"\mathbb{E}" else "NAME", letter, at)

    def prefixed(self, prefix, at):
        self.skip()
        piece, start = self.pieces[self.i]
        self.i += 1
        (letter,) = self.one(piece, start)
        if letter.kind != "NAME":
            raise NotRead(f"{prefix} before {letter.text}, which is no letter")
        space = " " if prefix[0] == "\\" and letter.text[0].isalpha() else ""
        return Token("NAME", prefix + space + letter.text, at)


def _bars(found):
    """`|` and its double open and close with one sign; a stack tells which it is."""
    out, stack, last = [], [], ""
    for token in found:
        kind = token.kind
        if kind in ("NORM", "BAR"):
            closes = bool(stack) and stack[-1] == kind and last in ENDS_OPERAND
            stack.pop() if closes else stack.append(kind)
            kind = ("R" if closes else "L") + kind
        elif kind in OPENS:
            stack.append(kind)
        elif kind in CLOSES and stack:
            stack.pop()
        if kind not in ("QUAD", "CELL", "REMARK"):
            last = kind
        out.append(Token(kind, token.text, token.at))
    return out
