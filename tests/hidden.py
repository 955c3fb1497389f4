"""False forms of displays that the build does not refuse yet; `test_falsified.py` holds that.

They were designed with the data in view, and each is false elsewhere, as the line beside it says.
What refuses one turns its test red; it then belongs in `coinciding.py`. By what hides them:

- No draw has more than eight tokens, so that the eighth power of A is zero.
"""
# ruff: noqa: E501 (a row is an equation)

HIDDEN = [  # label, what stands there, what is put there, why it is false
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
]
