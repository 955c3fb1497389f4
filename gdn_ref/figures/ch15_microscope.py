"""One chunk from its equations to the machine: data of the figure `chunk-microscope`.

`chunk()` makes the chunk that the figure makes, with the same small generator of numbers, and
`numbers(chunk)` its five matrices. `steps()` is the table below the figure, which reads it: each
part of the solve with its term, its lines in the kernels, and the instructions of these lines in a
record (tests/kernels/sass.py).
"""

from html import escape

import ipywidgets as widgets
import numpy as np

from .. import wy
from ..chunking import decay
from .ch14_model import record
from .ch15_source import line_with, lines_of
from .style import COLOUR, figure, heat, live, styled

C, D, BLOCK = 64, 64, 16  # tokens, dimensions of keys and values, tokens of a block
LIKENESS, ALPHA = 0.8, 0.95  # where the sliders stand at first
T, S = "forward/transform_mma.py", "forward/scan.py"
PARTS = {  # key: name, term, label, what happens, (file, words of a line, kinds that are shown)
    "A": ("A", "A_(ri) = β_r Γ_(ri) k_r·k_i", "eq-gdn-interaction",
          "All products of keys, on tensor cores, then decay and write strength",
          ((T, "overlap = mma_v2(", "HMMA"), (T, "A = beta_r *", "MUFU FADD FMUL"))),
    "rows": ("(I + A)⁻¹", "x_s = e_s − Σ_(j<s) A_(sj) x_j", "eq-forward-substitution",
             "A row of all four diagonal blocks at once, on the ordinary units",
             ((T, "A_s = A_pairs", "LDS"), (T, "row -= ", "FFMA"))),
    "blocks": ("(I + A)⁻¹", "X_(ae) = −X_(aa) Σ_(e≤b<a) A_(ab) X_(be)", "eq-inverse-row",
               "A block below the diagonal, on tensor cores",
               ((T, "X = mma_v2(T_ee", "HMMA"), (T, "X = mma_v2(below", "HMMA"),
                (T, "T_ae = -mma_v2", "HMMA FADD"))),
    "UT": ("(I + A)⁻¹ B", "T = (I + A)⁻¹ B", "eq-gdn-ut-transform",
           "Each column times its write strength, blocks on the diagonal and below",
           ((T, "UT_diagonal.slice(", "FMUL"), (T, "T_ae *= ", "FMUL"))),
    "scores": ("Γ ⊙ QKᵀ", "Γ_(ri) q_r·k_i", "eq-transposed-output",
               "What queries read of the writes in the chunk, in the second kernel",
               ((S, "scores = (scale * Gamma", "HGMMA FMUL"),)),
    "E": ("E", "Eᵀ = (Vᵀ − S Kᵀ D_γ) Tᵀ", "eq-transposed-delta",
          "The corrections of all tokens, by one product",
          ((S, "delta = tl.dot(residual", "HGMMA"),)),
}  # fmt: skip
KINDS = {
    "HMMA": "a product of 16 × 16 by 16 × 8 numbers by a warp",
    "HGMMA": "a product of 64 × 16 by 16 × 64 numbers by four warps",
    "FFMA": "a product and a sum per thread", "FMUL": "a product per thread",
    "FADD": "a sum per thread", "MUFU": "a power of two per thread",
    "LDS": "a read of shared memory",
}  # fmt: skip
ORDER = [(a, e) for a in range(1, C // BLOCK) for e in range(a)]  # of the blocks below
STEPS = 1 + BLOCK + len(ORDER) + 3


def noise(count, seed=15):
    """`count` numbers from -1 to 1: x -> 1664525 x + 1013904223 modulo 2^32, as the page has it."""
    found = np.empty(count)
    for n in range(count):
        seed = (1664525 * seed + 1013904223) % 2**32
        found[n] = seed / 2**31 - 1
    return found


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def chunk(likeness=LIKENESS, alpha=ALPHA):
    """`Q, K, V, g, beta, state`: each key has the cosine `likeness` with the one before, about."""
    drawn = noise(4 * C * D + 2 * C)
    K, Q, V, state = drawn[: 4 * C * D].reshape(4, C, D)
    K, Q = unit(K), unit(Q)
    for t in range(1, C):
        K[t] = unit(likeness * K[t - 1] + np.sqrt(1 - likeness**2) * K[t])
    Q = unit(Q + K)
    strength, fading = drawn[4 * C * D :].reshape(2, C)
    return Q, K, V, np.log(alpha) * (1 + fading / 2), 0.7 + 0.25 * strength, 0.2 * state


def numbers(Q, K, V, g, beta, state):
    """Key of a matrix -> its numbers, `[64, 64]` each; `rows` and `blocks` are one matrix."""
    gamma, Gamma = decay(g)
    A = wy.interaction(K, beta, Gamma)
    T_inv = wy.solve(A, np.eye(C))
    E = wy.solve(A, beta[:, None] * (V - gamma[:, None] * (K @ state.T)))
    return {"A": A, "rows": T_inv, "blocks": T_inv, "UT": T_inv * beta,
            "scores": Gamma * (Q @ K.T), "E": E}  # fmt: skip


def part_of(step):
    """Key of the part that a step belongs to."""
    ends = np.cumsum([1, BLOCK, len(ORDER), 1, 1, 1])
    return list(PARTS)[int(np.searchsorted(ends, step, side="right"))]


def filled(step):
    """Which numbers of its matrix are there after a step, `[64, 64]`."""
    part, there = part_of(step), np.zeros((C, C), dtype=bool)
    if part not in ("rows", "blocks"):
        return ~there
    r, i = np.indices((C, C))
    same = r // BLOCK == i // BLOCK
    there |= same & (r % BLOCK < step)
    for a, e in ORDER[: max(0, step - BLOCK)]:
        there |= (r // BLOCK == a) & (i // BLOCK == e)
    return there


def counts(file, words):
    """`(number, text, instructions by kind)` of a line; a text that has no record is an error."""
    number = line_with(file, words)
    text = lines_of(file)[number].strip()
    for kernel in record("solve_sass")["kernels"].values():
        if kernel["file"] == file:
            return number + 1, text, kernel["lines"][text]["counts"]
    raise ValueError(f"file: expected one of the record solve_sass, got {file!r}")


def of_kinds(file, words, kinds):
    """`240 FFMA, ...` of a line."""
    found = counts(file, words)[2]
    return ", ".join(f"{found[kind]} {kind}" for kind in kinds.split())


@styled
def drawn(step=BLOCK + 4):
    """The matrix of a step as far as it is filled."""
    part = part_of(step)
    fig, ax = figure(3.6, 3.4)
    matrix = numbers(*chunk())[part]
    limit = np.abs(matrix).max()
    heat(ax, np.where(filled(step), matrix, 0), f"{step + 1}: {PARTS[part][0]}", -limit, limit)
    for n in range(BLOCK, C, BLOCK):
        ax.axhline(n - 0.5, color=COLOUR["faint"], lw=0.6)
        ax.axvline(n - 0.5, color=COLOUR["faint"], lw=0.6)
    return fig


def chunk_microscope_widget():
    """The figure in a notebook."""
    step = widgets.IntSlider(BLOCK + 4, 0, STEPS - 1, description="step")
    return live(drawn, step=step)


class Steps:
    """The table of the parts, folded; as text, a line for each."""

    def _repr_html_(self):
        titles = ("part", "term", "defined", "what happens", "line, in kernels/", "instructions")
        head = "".join(f'<th scope="col">{title}</th>' for title in titles)
        rows = "".join(_row(key, *part) for key, part in PARTS.items())
        kinds = "; ".join(f"{kind} is {says}" for kind, says in KINDS.items())
        made = record("solve_sass")
        return (
            '<details class="gdn-solve"><summary>The parts as a table</summary>'
            f'<div class="gdn-scroll"><table class="gdn-table"><thead><tr>{head}</tr></thead>'
            f"<tbody>{rows}</tbody></table></div><p>{kinds}. Compiled ahead of time for"
            f" {made['architecture']} by Triton {made['triton']} on {made['date']}, for keys and"
            " values of 128 dimensions in bfloat16.</p></details>"
        )

    def __repr__(self):
        return "\n".join(
            f"{name}: {term}; "
            + "; ".join(f"{counts(*line[:2])[1]} [{of_kinds(*line)}]" for line in lines)
            for name, term, _, _, lines in PARTS.values()
        )


def steps():
    """The parts of the solve: term, lines, instructions."""
    return Steps()


def _row(key, name, term, label, says, lines):
    code, machine = [], []
    for file, words, kinds in lines:
        number, text, _ = counts(file, words)
        code.append(f"<p>{file}:{number}<br><code>{escape(text)}</code></p>")
        machine.append(f"<p>{of_kinds(file, words, kinds)}</p>")
    return (
        f'<tr data-part="{key}"><td>{name}</td><td>{_term(term)}</td>'
        f'<td><code class="gdn-eq">{label}</code></td><td>{says}.</td>'
        f"<td>{''.join(code)}</td><td>{''.join(machine)}</td></tr>"
    )


def _term(text):
    """A formula with its indices: `A_(ri)`."""
    pieces = text.replace("(j<s)", "(j&lt;s)").replace("(e≤b<a)", "(e≤b&lt;a)").split("_")
    found = [pieces[0]]
    for piece in pieces[1:]:
        low, _, rest = piece[1:].partition(")") if piece[0] == "(" else (piece[0], "", piece[1:])
        found.append(f"<sub>{low}</sub>{rest}")
    return "".join(found)
