"""Chapter 16: the gradients of a chunk, transposed, and the maps that they go through."""

from sympy import MatrixSymbol, symbols

from .. import affine, backward
from .data import hard_inputs, relative_error
from .page import ALL, on_page
from .registry import verifies
from .symbols import Diagonal, d_k, d_v

C = symbols("C", integer=True, positive=True)
Q, K, dO, dE, Z = (
    MatrixSymbol(name, C, width)
    for name, width in zip(("Q", "K", "dO", "dE", "Z"), (d_k, d_k, d_v, d_v, d_v), strict=True)
)
T, P, N = (MatrixSymbol(name, C, C) for name in "TPN")
B, D, TO_END = (Diagonal(name, C, C) for name in ("beta", "gamma", "to_end"))
dS_next = MatrixSymbol("dS_next", d_v, d_k)
gamma_C = symbols("gamma_C")
PAGE = ALL | {
    "gamma": r"\mathbf{D}_\gamma", "to_end": r"\mathbf{D}_\rightarrow", "gamma_C": r"\gamma_C",
    "T": r"\mathbf{L}", "P": r"\mathbf{P}", "N": r"\mathbf{N}", "Z": r"\mathbf{Z}",
    "beta": r"\mathbf{B}", "dE": r"\mathrm{d}\mathbf{E}", "dO": r"\mathrm{d}\mathbf{O}",
    "dS_next": r"\mathrm{d}\mathbf{S}'",
}  # fmt: skip


@verifies(
    "eq-inverse-without-beta",
    method="algebra",
    covers="every C and d_v",
    mutants={
        "beta on the left": {"UT": B * T},
        "the inverse not transposed": {"Z": T * dE},
        "the forward's matrix taken for Z": {"Z": (T * B).T * dE},
    },
)
def one_inverse_gives_z_and_dv(UT=T * B, Z=T.T * dE):
    """What the UT transform would give is diag(beta) Z: dV, in which Z is hidden."""
    on_page("eq-inverse-without-beta", UT.T * dE, B * Z, None, letters=PAGE)
    return UT.T * dE - B * Z


@verifies(
    "eq-transposed-gradients",
    method="algebra",
    covers="every C, d_k and d_v",
    part="the first two lines",
    mutants={
        "scores transposed": {"scores": P.T},
        "the inverse transposed": {"right": T.T},
        "no decay on what K reads": {"read": dS_next * K.T},
    },
)
def z_on_its_side(scores=P, right=T, read=dS_next * K.T * TO_END):
    """Z, transposed, against the kernel's row of products; P stands for the decayed scores."""
    on_page("eq-transposed-gradients", dO.T * scores + read, letters=PAGE)
    on_page("eq-transposed-gradients", (dO.T * scores + read) * right, of=1, letters=PAGE)
    return (T.T * (P.T * dO + TO_END * K * dS_next.T)).T - (dO.T * scores + read) * right


@verifies(
    "eq-transposed-gradients",
    method="algebra",
    covers="every C, d_k and d_v",
    part="the last line",
    mutants={
        "beta left out": {"written": Z.T * D},
        "dO not decayed": {"asked": dO.T},
    },
)
def state_on_its_side(written=Z.T * D * B, asked=dO.T * D):
    """The state's gradient, with its fresh factors on the left."""
    right = gamma_C * dS_next + (D * dO).T * Q - (B * D * Z).T * K
    on_page(
        "eq-transposed-gradients", gamma_C * dS_next + asked * Q - written * K, of=2, letters=PAGE
    )
    return right - (gamma_C * dS_next + asked * Q - written * K)


@verifies(
    "eq-reverse-map",
    method="float64",
    covers="three chunks of 16 tokens, d_k = 12, d_v = 7",
    mutants={
        "the map not transposed": {"turn": lambda F: F},
        "the chunks in their forward order": {"order": lambda maps: maps},
    },
)
def gradients_go_through_the_same_maps(turn=lambda F: F.T, order=lambda maps: maps[::-1]):
    """What the last state's gradient becomes, against the chunks' own maps, transposed."""
    q, k, v, g, beta, S_0 = hard_inputs(T=48)
    _, _, dO, _, _, dS = hard_inputs(T=48, seed=1)
    parts = [slice(n, n + 16) for n in range(0, 48, 16)]
    maps = [affine.chunk_map(k[p], v[p], g[p], beta[p])[0] for p in parts]
    with_dS, without = (
        backward.gradients(q, k, v, g, beta, S_0, dO, x, 16)[-1] for x in (dS, 0 * dS)
    )
    carried = dS
    for F in order(maps):
        carried = carried @ turn(F)
    back = lambda at: at(r"\mathrm{d}\mathbf{S}'") @ turn(at(r"\mathbf{F}"))
    on_page("eq-reverse-map", back)
    return relative_error(with_dS - without, carried)


@verifies(
    "eq-symmetric-keys",
    method="algebra",
    covers="every C and d_k",
    mutants={"N once": {"both": N}, "N twice": {"both": 2 * N}, "one sign": {"both": N - N.T}},
)
def one_product_for_both_roles(both=N + N.T):
    """What keys get as readers and as addresses, in one product."""
    on_page("eq-symmetric-keys", both * K, letters=PAGE)
    return N * K + N.T * K - both * K
