"""The TeX of an altered form as HTML: letters, signs, indices and powers, without a fraction bar.

A script shows these when a reader asks, where nothing sets formulas. `numbers` come the same way.
"""

import re
from html import escape

PART = re.compile(r"\\[A-Za-z]+|\\.|.", re.S)
SIGNS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ϵ", "varepsilon": "ε",
    "zeta": "ζ", "eta": "η", "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν",
    "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "varphi": "φ", "chi": "χ",
    "phi": "ϕ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Lambda": "Λ", "Pi": "Π",
    "Sigma": "Σ", "Omega": "Ω", "Phi": "Φ", "top": "⊤", "odot": "⊙", "sum": "∑", "prod": "∏",
    "le": "≤", "ge": "≥", "ne": "≠", "perp": "⊥", "times": "×", "cdot": "·", "cdots": "⋯",
    "dots": "…", "ldots": "…", "infty": "∞", "ell": "ℓ", "partial": "∂", "nabla": "∇", "in": "∈",
    "ast": "∗", "star": "⋆", "rightarrow": "→", "leftarrow": "←", "to": "→", "langle": "⟨",
    "rangle": "⟩", "lceil": "⌈", "rceil": "⌉", "lfloor": "⌊", "rfloor": "⌋", "sqrt": "√",
    "|": "‖", "_": "_", ",": " ", ";": " ", "!": "", "{": "{", "}": "}", "\\": "; ",
    "approx": "≈", "bmod": " mod ", "quad": " ",
}  # fmt: skip
BOLD = {"mathbf", "boldsymbol"}
PLAIN = {"mathrm", "mathcal", "mathbb", "mathsf", "text", "operatorname", "left", "right"}
ABOVE = {"tilde": "\u0303", "bar": "\u0304", "hat": "\u0302", "dot": "\u0307"}
LAST = re.compile(r"([^<>])((?:</\w+>)*)$")


def html(tex):
    """A formula, or words with formulas in them, as HTML."""
    parts = PART.findall(tex)
    found = []
    while parts:
        found.append(_next(parts))
    return "".join(found)


def _next(parts):
    part = parts.pop(0)
    if part == "{":
        return _group(parts)
    if part in "_^":
        tag = "sub" if part == "_" else "sup"
        return f"<{tag}>{_next(parts) if parts else ''}</{tag}>"
    if part[0] != "\\":
        return "" if part == "}" else "−" if part == "-" else escape(part)
    name = part[1:].strip() or " "
    if name in BOLD:
        return f"<b>{_next(parts)}</b>"
    if name in ABOVE:
        return LAST.sub(rf"\g<1>{ABOVE[name]}\g<2>", _next(parts))
    if name in ("frac", "tfrac", "binom"):
        above, below = (_bracketed(_next(parts)) for _ in range(2))
        return f"{above}/{below}" if name != "binom" else f"binomial({above}, {below})"
    if name in ("begin", "end"):
        _next(parts)
        return ""
    if name in PLAIN:
        return ""
    return SIGNS.get(name, escape(name))


def _group(parts):
    found = []
    while parts and parts[0] != "}":
        found.append(_next(parts))
    if parts:
        parts.pop(0)
    return "".join(found)


def _bracketed(text):
    return text if len(re.sub("<[^>]*>", "", text)) == 1 else f"({text})"


def number(x):
    """A number as it is read: signs that are minus signs, powers of ten."""
    digits, _, power = f"{x:.4g}".partition("e")
    digits = digits.replace("-", "−")
    return f"{digits} · 10<sup>{int(power)}</sup>".replace("-", "−") if power else digits
