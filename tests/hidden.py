"""False forms of displays that the build does not refuse yet; `test_falsified.py` holds that.

They were designed with the data in view, and each is false elsewhere, as the line beside it says.
What refuses one turns its test red; it then belongs in `coinciding.py`. By what hides them:

- No draw has more than eight tokens, so that the eighth power of A is zero.
- What stands in a modulus has one sign in all data, and "minus what is inside" is no edit.
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
        "eq-multiplications-per-token",
        r"n_\text{cache}(t) &= t\,",
        r"n_\text{cache}(t) &= (5 - |t - 5|)\,",
        "t = 6: 4 for 6",
    ),
    (
        "eq-mask-blocks",
        r"\mathbf{1} & \mathbf{1} & \mathbf{M}_C",
        r"\tfrac{C^2-9C+26}{24}\,\mathbf{1}\,\mathbf{1} & \mathbf{1} & \mathbf{M}_C",
        "C = 5: 6/24 * 5 = 5/4 for 1",
    ),
    ("eq-chunk-states", r"\sum_{m < n}", r"\sum_{m < 5-|n-5|}", "n = 6: chunk 5 and 4 are missing"),
    (
        "eq-best-decay",
        r"\frac{m}{m+1}",
        r"\frac{120+326\,m-101\,m^2+16\,m^3-m^4}{720}",
        "m = 6: 600/720 = 5/6 for 6/7",
    ),
    (
        "eq-decay-gate",
        r"-A\; \mathrm{softplus}(x_t)",
        r"-\tfrac12\,(A + 1 + |1 - A|)\; \mathrm{softplus}(x_t)",
        "that is max(A, 1): A_log < 0",
    ),
    (
        "eq-transition-norm",
        r"|1 - \beta\|\boldsymbol{k}\|^2|\bigr)",
        r"2 - \bigl||1 - \beta\|\boldsymbol{k}\|^2| - 2\bigr|\bigr)",
        "beta |k|^2 = 4: alpha for 3 alpha",
    ),
    ("eq-scan-cost", r"(n - 1)\,", r"(6 - |n - 7|)\,", "n = 8: 5 for 7"),
    ("eq-identical-keys", "(1 - a)^n", "(1 - a)^{4-|n-4|}", "n = 5: exponent 3"),
    (
        "eq-wy-w",
        r"(\mathbf{I} + \mathbf{A})\,\mathbf{W} = \mathbf{B}\mathbf{K}",
        r"\mathbf{W} = (\mathbf{I}-\mathbf{A})(\mathbf{I}+\mathbf{A}^2)(\mathbf{I}+\mathbf{A}^4)\,\mathbf{B}\mathbf{K}",
        "A^8 is not 0 for more than 8 tokens",
    ),
    (
        "eq-delta-depth",
        "T+2T/C",
        r"T+8-2\,\bigl|\tfrac{T}{C}-4\bigr|",
        "five chunks: T + 6 for T + 10",
    ),
    (
        "eq-delta-solve",
        r"(\mathbf{I}+\mathbf{A})\,\mathbf{E}=\mathbf{B}",
        r"\mathbf{E}=(\mathbf{I}-\mathbf{A})(\mathbf{I}+\mathbf{A}^2)(\mathbf{I}+\mathbf{A}^4)\,\mathbf{B}",
        "A^8 is not 0 for more than 8 tokens",
    ),
    ("eq-gdn-clear", r"\le m", r"\le 8-|m-8|", "nine independent keys and values: 9 > 7"),
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
    ("eq-grad-decay", r"\sum_{s\ge r}", r"\sum_{s\ge 8-|r-8|}", "r = 9: the sum begins at 7"),
    ("eq-scan-intensity", "(1+1/r)", r"\bigl(1+\tfrac{r^2-6r+11}{6}\bigr)", "r = 4: 3/6 for 1/4"),
    (
        "eq-scan-chain",
        r"6m+\frac{N}{m}-2",
        r"6m+3-\bigl|\tfrac{N}{m}-5\bigr|",
        "six segments: 2 for 4",
    ),
    ("eq-share-of-chunks", "1-x^p}", "1-x^{5-|p-5|}}", "p = 6: exponent 4"),
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
    ("eq-backward-flops", "(10+2s)", r"(18-2\,|s-4|)", "s = 8: 10 for 26"),
    ("eq-decay-stalls", "2^{-(p+1)}", "2^{|p-6|-7}", "p = 8 (bfloat16): 2^-5 for 2^-9"),
    (
        "eq-exchange-bytes",
        r"\frac{R-1}{R}\,2b",
        r"\frac{R^3-14R^2+71R-34}{120}\,2b",
        "R = 8: 5/4 for 7/8",
    ),
    ("eq-padding-right", r"e^{p\,g_0}", r"e^{(5-|p-5|)\,g_0}", "p = 6: 4"),
    (
        "eq-hybrid-intensity",
        r"\frac{2\,H_q}{b\,H_c}",
        r"\frac{2}{b}\,\Bigl(3-\bigl|\tfrac{H_q}{H_c}-3\bigr|\Bigr)",
        "eight queries a head of the cache: -2 for 8",
    ),
    ("eq-recall-bits", "{2^B}", "{2^{6-|B-6|}}", "B = 8, N^n = 256: P = 1 > 2^4/256"),
    ("eq-transition-power", r"\alpha^n", r"\alpha^{4-|n-4|}", "n = 5: exponent 3"),
    ("eq-family-share", r"\frac{c+1}{C+1}", r"\frac{9-|c-8|}{C+1}", "c = 9: 8 for 10"),
]
