"""False forms of displays that the build does not refuse yet; `test_falsified.py` holds that.

They were designed with the data in view, and each is false elsewhere, as the line beside it says.
What refuses one turns its test red; it then belongs in `coinciding.py`. By what hides them:

- No draw has more than eight tokens, so that the eighth power of A is zero.
- A letter has few values, and a polynomial meets a quotient at all of them.
"""
# ruff: noqa: E501 (a row is an equation)

HIDDEN = [  # label, what stands there, what is put there, why it is false
    (
        "eq-cache-crossover",
        r"\frac{b_S}{b}",
        r"\frac{b_S\,(b^2 - 14\,b + 56)}{64}",
        "b = 1 (8-bit cache): 43/64 for 1",
    ),
    (
        "eq-mask-blocks",
        r"\mathbf{1} & \mathbf{1} & \mathbf{M}_C",
        r"\tfrac{C^2-9C+26}{24}\,\mathbf{1}\,\mathbf{1} & \mathbf{1} & \mathbf{M}_C",
        "C = 5: 6/24 * 5 = 5/4 for 1",
    ),
    (
        "eq-wy-w",
        r"(\mathbf{I} + \mathbf{A})\,\mathbf{W} = \mathbf{B}\mathbf{K}",
        r"\mathbf{W} = (\mathbf{I}-\mathbf{A})(\mathbf{I}+\mathbf{A}^2)(\mathbf{I}+\mathbf{A}^4)\,\mathbf{B}\mathbf{K}",
        "A^8 is not 0 for more than 8 tokens",
    ),
    (
        "eq-delta-solve",
        r"(\mathbf{I}+\mathbf{A})\,\mathbf{E}=\mathbf{B}",
        r"\mathbf{E}=(\mathbf{I}-\mathbf{A})(\mathbf{I}+\mathbf{A}^2)(\mathbf{I}+\mathbf{A}^4)\,\mathbf{B}",
        "A^8 is not 0 for more than 8 tokens",
    ),
    (
        "eq-gdn-ut-transform",
        r"(\mathbf{I}+\tilde{\mathbf{A}})^{-1}\mathbf{B}",
        r"(\mathbf{I}-\tilde{\mathbf{A}})(\mathbf{I}+\tilde{\mathbf{A}}^2)(\mathbf{I}+\tilde{\mathbf{A}}^4)\mathbf{B}",
        "more than 8 tokens",
    ),
    (
        "eq-gdn-w-gated",
        r"(\mathbf{I}+\tilde{\mathbf{A}})^{-1}\mathbf{B}\,\mathbf{D}_\gamma",
        r"(\mathbf{I}-\tilde{\mathbf{A}})(\mathbf{I}+\tilde{\mathbf{A}}^2)(\mathbf{I}+\tilde{\mathbf{A}}^4)\mathbf{B}\,\mathbf{D}_\gamma",
        "more than 8 tokens",
    ),
    ("eq-scan-intensity", "(1+1/r)", r"\bigl(1+\tfrac{r^2-6r+11}{6}\bigr)", "r = 4: 3/6 for 1/4"),
    (
        "eq-transposed-delta",
        r"\tilde{\mathbf{T}}^\top",
        r"\mathbf{B}\,\bigl((\mathbf{I}-\tilde{\mathbf{A}})(\mathbf{I}+\tilde{\mathbf{A}}^2)(\mathbf{I}+\tilde{\mathbf{A}}^4)\bigr)^\top",
        "more than 8 tokens",
    ),
    (
        "eq-transposed-gradients",
        r"\mathrm{d}\mathbf{E}^\top\,\mathbf{L}",
        r"\mathrm{d}\mathbf{E}^\top\,(\mathbf{I}-\tilde{\mathbf{A}})(\mathbf{I}+\tilde{\mathbf{A}}^2)(\mathbf{I}+\tilde{\mathbf{A}}^4)",
        "more than 8 tokens",
    ),
    (
        "eq-exchange-bytes",
        r"\frac{R-1}{R}\,2b",
        r"\frac{R^3-14R^2+71R-34}{120}\,2b",
        "R = 8: 5/4 for 7/8",
    ),
]
