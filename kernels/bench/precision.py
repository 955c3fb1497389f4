"""Errors of chunk kernels against the cosine of the keys, the write strength and the decay.

    python kernels/bench/precision.py --json book/_data/bench/precision_h100.json

Needs a CUDA GPU. Every setting is one head: a mean cosine of the keys, a write strength and a
decay, each the same for all tokens, or "spread", from 0 to 2 and from 0.9 to 1. Inputs are rounded
to the dtype first, and the float64 token loop takes the rounded ones, so that the error is the
kernel's own. The key of cosine 1 has entries of 1/8, with signs: of length one in every format.
Relative Frobenius, over the outputs and over the last state of all sequences of a head.
"""

import argparse
from itertools import product
from pathlib import Path

import torch
from compare import write_record

import gdn_ref
from gdn_ref import gated_delta_rule

COSINES, BETAS, ALPHAS = (0.0, 0.5, 0.9, 1.0), (0.5, 1.0, 1.5, 1.9, 2.0), (1.0, 0.99, 0.9)
B, T, D = 4, 1024, 64
DTYPES = {  # name -> (dtype, torch.set_float32_matmul_precision)
    "float32": (torch.float32, "highest"),
    "tf32": (torch.float32, "high"),
    "float16": (torch.float16, "highest"),
    "bfloat16": (torch.bfloat16, "highest"),
}


def settings():
    alike = list(product(COSINES, BETAS, ALPHAS))
    return alike + [(cosine, "spread", "spread") for cosine in COSINES]


def tokens_of(values, low, high, random):
    """A number for each token and setting: its value, or one between these two."""
    spread = low + (high - low) * torch.rand((B, T, len(values)), generator=random)
    given = torch.tensor([x if x != "spread" else torch.nan for x in values])
    return torch.where(given.isnan(), spread, given)


def inputs(device="cuda"):
    """q, k, v, g, beta and the first state, a head for each setting."""
    random = torch.Generator().manual_seed(13)
    heads = settings()
    shape = (B, T, len(heads), D)
    q, own, v = (torch.randn(shape, generator=random) for _ in range(3))
    signs = torch.randint(0, 2, (B, 1, len(heads), D), generator=random) * 2.0 - 1
    unit = torch.nn.functional.normalize
    cosine, beta, alpha = zip(*heads, strict=True)
    c = torch.tensor(cosine)[:, None]
    k = torch.where(
        c == 1, signs / D**0.5, c**0.5 * signs / D**0.5 + (1 - c) ** 0.5 * unit(own, dim=-1)
    )
    k = torch.where(c == 1, k, unit(k, dim=-1))
    S = torch.randn((B, len(heads), D, D), generator=random)
    beta, g = tokens_of(beta, 0, 2, random), tokens_of(alpha, 0.9, 1, random).log()
    return [x.to(device) for x in (unit(q, dim=-1), k, v, g, beta, S)]


def truth(q, k, v, g, beta, S):
    """Outputs and last state of the token loop in float64, in the layout of `ops`."""
    x = (a.double().transpose(1, 2) for a in (q * q.shape[-1] ** -0.5, k, v, g, beta))
    o, S = gated_delta_rule.recurrent(*x, S.double().mT)
    return o.transpose(1, 2), S.mT


def chunks_of(size):
    def call(q, k, v, g, beta, S):
        return gdn_ref.chunk_gated_delta_rule(
            q, k, v, g, beta, initial_state=S, output_final_state=True, chunk_size=size,
            backend="triton",
        )  # fmt: skip

    return call


def by_token(q, k, v, g, beta, S):
    return gdn_ref.fused_recurrent_gated_delta_rule(
        q, k, v, g=g, beta=beta, initial_state=S, output_final_state=True, backend="triton"
    )


def fla(q, k, v, g, beta, S):
    from fla.ops.gated_delta_rule import chunk_gated_delta_rule

    return chunk_gated_delta_rule(q, k, v, g, beta, initial_state=S, output_final_state=True)


WAYS = {
    "gdn_ref": chunks_of(64),
    "gdn_ref, chunks of 16": chunks_of(16),
    "gdn_ref, token by token": by_token,
    "fla": fla,
}


def errors(found, expected):
    """Relative Frobenius error of each head, heads on the axis 2 of outputs and 1 of states."""
    (o, S), (right_o, right_S) = found, expected

    def of(x, y, axes):
        return ((x.double() - y).square().sum(axes) / y.square().sum(axes)).sqrt().tolist()

    return of(o, right_o, (0, 1, 3)), of(S, right_S, (0, 2, 3))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the record to this file")
    args = parser.parse_args(argv)
    given = inputs()
    rows = [
        dict(zip(("cosine", "beta", "alpha"), x, strict=True)) | {"errors": {}} for x in settings()
    ]
    for name, (dtype, precision) in DTYPES.items():
        torch.set_float32_matmul_precision(precision)
        low = [x.to(dtype) for x in given[:3]]
        exact = [x.double() for x in low]
        expected = truth(*exact, *given[3:])
        for way, call in WAYS.items():
            try:
                found = errors(call(*low, *given[3:]), expected)
            except Exception as error:
                print(name, way, f"{type(error).__name__}: {error}".splitlines()[0])
                continue
            for row, o, S in zip(rows, *found, strict=True):
                row["errors"].setdefault(name, {})[way] = {"o": o, "state": S}
            print(
                f"{name:9} {way:24}",
                *(f"{x:.1e}" for x in found[0][-3:] + found[1][-3:]),
                flush=True,
            )
    what = f"errors of the forward pass by cosine, strength and decay, {B} sequences of {T}, D={D}"
    write_record(args.json, what, {"rows": rows}, ("fla",))


if __name__ == "__main__":
    main()
