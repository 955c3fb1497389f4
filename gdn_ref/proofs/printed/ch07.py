"""Chapter 7: products of transitions as sums, as they are printed."""

from . import ch07_worlds as w
from .check import printed
from .rule import ungated, ungated_from_zero

LOOP = "the token loop"
PRODUCTS = "products of the factors, token by token"

printed("eq-delta-products", w.short, against=PRODUCTS, defines=True)
printed("eq-delta-unrolled eq-wy-state", ungated_from_zero, against=LOOP)
printed("eq-affine-compose", w.two_maps, against="one map after the other, on unit states")
printed(
    "eq-scan-cost", w.counted_scan, against="gdn_ref.affine.compose, counted", arithmetic="counted"
)
printed(
    "eq-wy-product",
    ungated_from_zero,
    against=PRODUCTS,
    equal={
        r"last term left out of \sum_{i = 1}^{r}\boldsymbol{w}_{i}\boldsymbol{k}_{i}^{\top}; "
        r"\mathbf{P}^{r - 1} for \mathbf{P}^{r}": "the equation one token before"
    },
)
printed("eq-wy-sum eq-wy-transpose", ungated_from_zero, against=PRODUCTS)
printed("eq-wy-matrix", ungated, against=PRODUCTS)
printed(
    "eq-wy-rank",
    w.ranks,
    against=PRODUCTS,
    equal={
        r"\mathbf{P}^{r} transposed": "a transpose has the same rank; y is kept by each factor, "
        "in any order",
        r"\mathbf{P}^{r - 1} for \mathbf{P}^{r}": "y is orthogonal to fewer keys, too",
    },
)
printed("eq-wy-cost", w.counted_vectors, against="the recursion, counted", arithmetic="counted")
printed("eq-wy-merge", w.two_runs, against="both runs together")
