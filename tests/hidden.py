"""False forms of displays that the build does not refuse yet; `test_falsified.py` holds that.

They were designed with the data in view, and each is false elsewhere, as the line beside it says.
What refuses one turns its test red; it then belongs in `coinciding.py`. By what hides them:

- No draw has more than eight tokens, so that the eighth power of A is zero.
- A letter has few values, and a polynomial meets a quotient at all of them.
- No vector is zero, there are two ranks at least, no two keys are the same.
- A letter has one sign, a constant nine digits, a premise one value within its bounds.
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
        "eq-best-decay",
        r"\frac{m}{m+1}",
        r"\frac{120+326\,m-101\,m^2+16\,m^3-m^4}{720}",
        "m = 6: 600/720 = 5/6 for 6/7",
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
    (
        "eq-transition-cases",
        r"\beta = 2:",
        r"2 \le \beta < \tfrac{17}{8}:",
        "beta = 33/16: P^2 is not I",
    ),
    (
        "eq-equal-cosine-gain",
        r"a^2\alpha^2",
        r"a\,(a^2)^{\frac12}\alpha^2",
        "a < 0, three keys of cosine -1/2",
    ),
    ("eq-rounding-size", r"\sqrt{8\ln2}", "179077/76047", "irrational"),
    ("eq-zigzag-steps", r"\lceil\log_2R\rceil+1", r"\lfloor\log_2(R-1)\rfloor+2", "R = 1"),
    (
        "eq-qk-norm",
        r"\frac{\boldsymbol k'}{\sqrt{\|\boldsymbol k'\|^2+10^{-6}}}",
        r"\frac{\|\boldsymbol k'\|\,\boldsymbol k'}{\sqrt{\|\boldsymbol k'\|^4+10^{-6}\|\boldsymbol k'\|^2}}",
        "k' = 0",
    ),
    (
        "eq-recall-floor",
        r"\frac1n\sum_{j}x_j",
        r"\Bigl(\frac1n\sum_{j}x_j^{\frac12}\Bigr)^2",
        "keys e_1, e_1, e_2: 4/9 for 1/2",
    ),
    (
        "eq-doubled-sigmoid",
        r"\frac{1-\exp(-b)}{1+\exp(-b)}",
        r"\frac{1-\exp(-(b^2)^{\frac12})}{1+\exp(-(b^2)^{\frac12})}",
        "b < 0",
    ),
    (
        "eq-tracking-life",
        r"n=\frac{\ln2}{-\ln\rho}",
        r"n=\frac{25469}{-36744\,\ln\rho}",
        "irrational",
    ),
]
