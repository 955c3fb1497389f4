"""False forms of displays that the build does not refuse yet; `test_falsified.py` holds that.

They were designed with the data in view, and each is false elsewhere, as the line beside it says.
What refuses one turns its test red; it then belongs in `coinciding.py`. What hides them: a
letter has few values, and a polynomial meets a quotient at all of them.
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
    ("eq-scan-intensity", "(1+1/r)", r"\bigl(1+\tfrac{r^2-6r+11}{6}\bigr)", "r = 4: 3/6 for 1/4"),
    (
        "eq-exchange-bytes",
        r"\frac{R-1}{R}\,2b",
        r"\frac{R^3-14R^2+71R-34}{120}\,2b",
        "R = 8: 5/4 for 7/8",
    ),
]
