"""The shapes everyone is judged on, and inputs for them.

`PADDED` and `PACKED` are the 27 cases of the H100 write-up (kingsleykimm/h100_gdn_cuda, itself
after flash-linear-attention's tests); `MODELS` are the linear-attention layers of the Qwen3.5
family; `TRAINING` are batches as they occur in training.
"""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Shape:
    """One case: `B` rows of `T` tokens, or one row packed by `lengths`."""

    T: int
    H: int
    HV: int
    K: int
    V: int
    B: int = 1
    lengths: tuple[int, ...] = ()
    gate_divisor: float = 1.0
    zero_gates: float = 0.0

    def __str__(self):
        heads = f"H{self.H}" if self.H == self.HV else f"H{self.H}/{self.HV}"
        dims = f"D{self.K}" if self.K == self.V else f"D{self.K}x{self.V}"
        if self.zero_gates:
            dims += f", {self.zero_gates:.0%} zero gates"
        if not self.lengths:
            return f"B{self.B} T{self.T} {heads} {dims}"
        if len(set(self.lengths)) == 1:
            packed = f"{len(self.lengths)}x{self.lengths[0]}"
        elif len(self.lengths) > 8:
            kinds = "/".join(map(str, dict.fromkeys(self.lengths)))
            packed = f"{len(self.lengths)} of {kinds}"
        else:
            packed = "+".join(map(str, self.lengths))
        return f"packed {packed} {heads} {dims}"


def padded(B, T, H, D, gate_divisor=1.0, zero_gates=0.0):
    return Shape(T, H, H, D, D, B, (), gate_divisor, zero_gates)


def packed(H, D, lengths, zero_gates=0.0, HV=None):
    return Shape(sum(lengths), H, HV or H, D, D, 1, tuple(lengths), 1.0, zero_gates)


PADDED = [
    padded(1, 63, 1, 64),
    padded(2, 500, 3, 60),
    padded(2, 1000, 3, 64, zero_gates=0.5),
    padded(3, 1024, 4, 100, gate_divisor=0.1),
    padded(4, 1024, 4, 128),
    padded(2, 1500, 4, 128, gate_divisor=10),
    padded(4, 2048, 8, 64),
    padded(8, 512, 8, 64),
    padded(16, 512, 8, 64),
    padded(32, 256, 8, 64),
    padded(64, 128, 8, 64),
    padded(8, 512, 8, 128),
    padded(16, 256, 8, 128),
    padded(32, 128, 8, 128),
    padded(64, 64, 8, 128),
]
PACKED = [
    packed(4, 60, [15]),
    packed(4, 64, [256, 244, 500]),
    packed(4, 64, [256, 244, 500], zero_gates=0.5),
    packed(4, 100, [15, 85, 200, 900, 800]),
    packed(4, 60, [8192]),
    packed(4, 64, [512] * 8),
    packed(4, 64, [512] * 16),
    packed(4, 64, [256] * 32),
    packed(4, 64, [128] * 64),
    packed(4, 128, [128] * 32),
    packed(4, 128, [16, 192] * 32),
    packed(4, 64, [8, 64] * 64, zero_gates=0.5),
]
MODELS = [
    shape
    for H, HV in [(2, 8), (4, 16), (8, 32), (16, 32), (16, 48), (16, 64)]
    for shape in [
        Shape(2048, H, HV, 128, 128),
        Shape(8192, H, HV, 128, 128),
        Shape(32768, H, HV, 128, 128),
        Shape(8192, H, HV, 128, 128, 4),
        Shape(1024, H, HV, 128, 128, 8),
        packed(H, 128, [24576, 8192], HV=HV),
        packed(H, 128, [1024, 7168], HV=HV),
    ]
]  # fmt: skip
TRAINING = [
    Shape(4096, 16, 32, 128, 128, 4),
    Shape(2048, 8, 8, 128, 128, 16),
    Shape(32768, 16, 32, 128, 128, 1),
    Shape(4096, 8, 8, 64, 64, 8),
    Shape(2048, 6, 6, 256, 256, 8),
]


def inputs(shape, data="hard", seed=0, device="cuda"):
    """`q, k, v, g, beta, initial_state, cu_seqlens` for a shape, in the layout of `gdn_ref.ops`.

    Float32 tensors whose `q`, `k`, `v` hold bfloat16 values, so that one oracle serves every
    dtype. Keys and queries have unit norm (to bfloat16). `data`:

    "listed" is what the lists above are run with elsewhere: unrelated keys, gates
    `logsigmoid(U) / gate_divisor` (a share of them 0), write strengths around .62.
    "hard" makes errors show: keys of cosine .5, decays about .95, write strengths over (0, 2).
    """
    random = torch.Generator(device).manual_seed(seed)

    def uniform(*size):
        return torch.rand(*size, generator=random, device=device)

    def normal(*size):
        return torch.randn(*size, generator=random, device=device)

    unit = torch.nn.functional.normalize
    B, T, H, HV, K, V = shape.B, shape.T, shape.H, shape.HV, shape.K, shape.V
    N = len(shape.lengths) or B
    q, k = unit(normal(B, T, H, K), dim=-1), unit(normal(B, T, H, K), dim=-1)
    v = normal(B, T, HV, V)
    if data == "hard":
        k = unit(k + unit(normal(B, 1, H, K), dim=-1), dim=-1)
        g = torch.log(0.9 + 0.1 * uniform(B, T, HV))
        beta = 2 * uniform(B, T, HV)
    else:
        g = torch.nn.functional.logsigmoid(uniform(B, T, HV)) / shape.gate_divisor
        g = g * (uniform(B, T, HV) >= shape.zero_gates)
        beta = torch.sigmoid(uniform(B, T, HV))
    q, k, v = (x.bfloat16().float() for x in (q, k, v))
    cu_seqlens = None
    if shape.lengths:
        ends = torch.tensor([0, *shape.lengths]).cumsum(0)
        cu_seqlens = ends.to(device)
    return q, k, v, g, beta, normal(N, HV, K, V), cu_seqlens
