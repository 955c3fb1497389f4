"""The equations of the chunk theorem, taken apart: what each letter is, its numbers, its lines.

`parts()` is the table, with the numbers of three tokens; the figure `equation-apart` reads it from
the page and computes the numbers anew when a slider moves.
"""

from html import escape
from pathlib import Path

import numpy as np

from .. import gated_delta_rule, wy
from ..chunking import decay
from .ch15_source import line_with, lines_of

REFERENCE = Path(gated_delta_rule.__file__)
ALPHA, BETA, ANGLE = 0.9, 0.8, 50  # where the sliders stand at first
STATE = np.array([[1.0, 0.0], [0.0, -1.0]])
VALUES = np.array([[2.0, 1.0], [0.0, 2.0], [1.0, -1.0]])

EQUATIONS = {  # label: the display in pieces; a piece without a key is a sign between them
    "eq-gdn-chunk-delta": (
        (r"(\mathbf{I}+", ""), (r"\tilde{\mathbf{A}}", "A"), (r")\,", ""), (r"\mathbf{E}", "E"),
        ("=", ""), (r"\mathbf{B}", "B"), (r"\bigl(", ""), (r"\mathbf{V}", "V"), ("-", ""),
        (r"\mathbf{D}_\gamma", "D"), (r"\mathbf{K}", "K"), (r"\mathbf{S}^\top", "S"),
        (r"\bigr).", ""),
    ),
    "eq-gdn-chunk-state": (
        (r"\mathbf{S}'", "next"), ("=", ""), (r"\gamma_C", "end"), (r"\,", ""),
        (r"\mathbf{S}", "S"), ("+", ""), (r"\mathbf{E}^\top", "E"),
        (r"\mathbf{D}_\rightarrow", "to"), (r"\mathbf{K}", "K"), (",", ""),
    ),
    "eq-gdn-chunk-output": (
        (r"\mathbf{O}", "O"), ("=", ""), (r"\mathbf{D}_\gamma", "D"), (r"\mathbf{Q}", "Q"),
        (r"\mathbf{S}^\top", "S"), (r"+\bigl(", ""), (r"\boldsymbol{\Gamma}", "Gamma"),
        (r"\odot", ""), (r"\mathbf{Q}\mathbf{K}^\top", "scores"), (r"\bigr)", ""),
        (r"\mathbf{E}", "E"), (".", ""),
    ),
}  # fmt: skip
PLAIN = {
    r"(\mathbf{I}+": "(I + ", r")\,": ") ", r"\bigl(": "(", r"+\bigl(": " + (", r"\bigr)": ")",
    r"\bigr).": ")", r"\odot": " ⊙ ", "=": " = ", "-": " − ", "+": " + ",
}  # fmt: skip
T, S = "forward/transform.py", "forward/scan.py"
CC, CV, CK, VK = r"C\times C", r"C\times d_v", r"C\times d_k", r"d_v\times d_k"
PARTS = {  # key: letter, shape, what it is, where it is defined, words of its two lines of code
    "A": (r"\tilde{\mathbf{A}}", CC, "how much token r reads of what token i has written, "
          "strictly below the diagonal", "eq-gdn-interaction", "A = wy.interaction(",
          T, "A21 = beta_late[:, :, None] * decay(c_late, c_early) * pairs"),
    "E": (r"\mathbf{E}", CV, "the corrections: row r is what token r writes",
          "eq-gdn-step", "delta = wy.solve(", S, "delta = tl.dot(residual"),
    "B": (r"\mathbf{B}", CC, "the write strengths, on the diagonal",
          "eq-interaction", "delta = wy.solve(", T, "UT *= beta[None, :]"),
    "V": (r"\mathbf{V}", CV, "the values, a row for each token",
          "eq-gdn-recurrence", "delta = wy.solve(", S, "residual = tl.trans(v)"),
    "D": (r"\mathbf{D}_\gamma", CC, "the decay from the old state to each token, on the "
          "diagonal", "eq-gamma", "gamma, Gamma = decay(g)", S, "gamma = tl.exp2("),
    "K": (r"\mathbf{K}", CK, "the keys, a row for each token",
          "eq-gdn-recurrence", "def chunk(", S, "k = load_tile(chunk.k_ptr"),
    "S": (r"\mathbf{S}", VK, "the state before the chunk",
          "eq-gdn-recurrence", "def chunk(", S, "S_in = S.to(dtype)"),
    "next": (r"\mathbf{S}'", VK, "the state after the chunk",
             "eq-gdn-chunk-state", "S = gamma_C[..., None, None] * S", S,
             "return tl.dot((to_end * delta)"),
    "end": (r"\gamma_C", r"1\times 1", "the decay over the whole chunk",
            "eq-gamma", "gamma_C, to_end =", S, "S = S * tl.exp2(c_C"),
    "to": (r"\mathbf{D}_\rightarrow", CC, "the decay from each token to the end of the chunk, "
           "on the diagonal", "eq-scalar-decay-chunk", "gamma_C, to_end =", S, "to_end = tl.exp2("),
    "O": (r"\mathbf{O}", CV, "the outputs, a row for each token",
          "eq-gdn-chunk-output", "O = gamma[..., None] *", S, "o = tl.dot(delta.to(dtype), scores"),
    "Q": (r"\mathbf{Q}", CK, "the queries, a row for each token",
          "eq-gdn-recurrence", "O = gamma[..., None] *", S, "o = scale * gamma * tl.dot(S_in"),
    "Gamma": (r"\boldsymbol{\Gamma}", CC, "the decay from token i to token r, on and below "
              "the diagonal", "eq-decay-mask", "gamma, Gamma = decay(g)", S,
              "Gamma = tl.exp2(tl.where(i <= r"),
    "scores": (r"\mathbf{Q}\mathbf{K}^\top", CC, "the products of queries and keys, before "
               "the mask", "eq-linear-attention-parallel", "O = gamma[..., None] *", S,
               "scores = (scale * Gamma *"),
}  # fmt: skip


def numbers(alpha=ALPHA, beta=BETA, angle=ANGLE):
    """Key of each part -> its matrix, for three tokens whose keys are `angle` degrees apart."""
    turn = np.radians(angle) * np.arange(3)
    K = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    Q = K[::-1]
    g, strengths = np.full(3, np.log(alpha)), np.full(3, float(beta))
    gamma, Gamma = decay(g)
    A = wy.interaction(K, strengths, Gamma)
    E = wy.solve(A, strengths[:, None] * (VALUES - gamma[:, None] * (K @ STATE.T)))
    O, after = gated_delta_rule.chunk(STATE, Q, K, VALUES, g, strengths)
    return {
        "A": A, "E": E, "B": np.diag(strengths), "V": VALUES, "D": np.diag(gamma), "K": K,
        "S": STATE, "next": after, "end": gamma[-1:, None], "to": np.diag(Gamma[-1]), "O": O,
        "Q": Q, "Gamma": Gamma, "scores": Q @ K.T,
    }  # fmt: skip


class Parts:
    """The table of all parts, folded; as text, the equations."""

    def _repr_html_(self):
        found = numbers()
        lines = "".join(
            f'<p data-equation="{label}">{"".join(_piece(tex, key) for tex, key in pieces)} '
            f'<code class="gdn-eq">{label}</code></p>'
            for label, pieces in EQUATIONS.items()
        )
        head = "".join(
            f'<th scope="col">{name}</th>'
            for name in ("part", "shape", "what it is", "three tokens", "defined", "in the code")
        )
        rows = "".join(_row(key, part, found[key]) for key, part in PARTS.items())
        return (
            '<details class="gdn-apart"><summary>The parts as a table</summary>'
            f'{lines}<div class="gdn-scroll"><table class="gdn-table">'
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></details>"
        )

    def __repr__(self):
        return "\n".join(
            "".join(tex for tex, _ in pieces) + f"  ({label})"
            for label, pieces in EQUATIONS.items()
        )


def parts():
    """The equations of the chunk theorem and what they are made of."""
    return Parts()


def _math(tex):
    return f'<span class="math notranslate nohighlight">\\({escape(tex)}\\)</span>'


def _piece(tex, key):
    """Signs between the parts are text, for a bracket alone is no formula."""
    if key:
        return f'<span data-part="{key}">{_math(tex)}</span>'
    return f"<span>{PLAIN.get(tex, '')}</span>"


def _row(key, part, matrix):
    tex, shape, says, label, words, file, kernel_words = part
    return (
        f'<tr data-part="{key}"><td>{_math(tex)}</td><td>{_math(shape)}</td>'
        f"<td>{says}</td>"
        f'<td class="gdn-apart-few">{_matrix(matrix)}</td>'
        f'<td><code class="gdn-eq">{label}</code></td>'
        f"<td>{_code('gdn_ref/' + REFERENCE.name, *_reference_line(words))}"
        f"{_code('kernels/' + file, *_kernel_line(file, kernel_words))}</td></tr>"
    )


def _matrix(matrix):
    return "<br>".join(" ".join(f"{x:.2f}" for x in row) for row in matrix)


def _code(file, number, text):
    return f"<p>{file}:{number}<br><code>{escape(text)}</code></p>"


def _reference_line(words):
    for number, line in enumerate(REFERENCE.read_text(encoding="utf-8").splitlines(), 1):
        if words in line:
            return number, line.strip()
    raise ValueError(f"words: no line of {REFERENCE.name} contains {words!r}")


def _kernel_line(file, words):
    number = line_with(file, words)
    return number + 1, lines_of(file)[number].strip()
