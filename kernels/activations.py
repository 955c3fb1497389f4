"""Unit queries and keys, gate and write strength: from what a layer has to what the rule takes.

    q / sqrt(|q|^2 + 1e-6), and k alike                                       eq-key-norm
    g = -exp(A_log) softplus(g + dt_bias)                                     eq-decay-gate
    beta = sigmoid(beta), or twice that

One launch forwards, one backwards. A program owns some rows of queries and keys, and the numbers
of the same tokens and heads. Everything is float32 inside, whatever it is in memory; what has no
pointer to go to is left out.

Reference: `gdn_ref.ops.unit_rows`, `gdn_ref.ops.log_decay`.
"""

from collections import namedtuple

import torch
import triton
import triton.language as tl

from .common.numbers import NORM_EPSILON, softplus
from .host.launch import cdiv, launcher, on_device, types
from .host.layout import stride_of_tokens, width_of_token
from .host.memory import contiguous, in_dtype, new

ROW_NUMBERS = 4096  # numbers in a program's rows of queries: 32 registers a thread


class Activations:
    """Both directions, for tensors that look like these.

    Parameters
    ----------
    q, k : [B, T, H, K]; any floating dtypes but float64, here and below, in any mixture
    g : [B, T, HV], raw if `A_log` is given, or None
    beta : [B, T, HV], raw if `sigmoid`
    A_log, dt_bias : [HV], or None
    dtype : of the queries and keys that come out
    norm : whether they are divided by their norms
    sigmoid, negative : whether beta becomes `sigmoid(beta)`, and whether twice that
    """

    def __init__(self, q, k, g, beta, A_log, dt_bias, dtype, norm, sigmoid, negative):
        self.H, K = q.shape[2:]
        HV = beta.shape[2]
        tensors = (q, k, g, beta, A_log, dt_bias)
        self.options = (dtype, norm, sigmoid, negative)
        self.acts_on = (norm, norm, A_log is not None, sigmoid)
        self.widths = ((self.H, K), (self.H, K), (HV,), (HV,))
        self.dtypes = (dtype, dtype, torch.float32, torch.float32)
        self.lie = strides = strides_of(tensors)
        self.apart = [i for i, stride in enumerate(strides) if stride is None]
        pairs = zip(tensors[:4], strides, strict=False)
        self.strides = tuple([width_of_token(x) if s is None else s for x, s in pairs])
        constants = {"H": self.H, "HV": HV, "K": K, "FACTOR": 2.0 if negative else 1.0}
        constants |= row_tiles(K, HV // self.H)
        self.rows = constants["ROWS"]
        case = ActivationsCase(**constants)
        what = (*types(*tensors), dtype, *self.acts_on)
        self.start, self.start_back = (
            launcher(kernel, case, what, num_warps=4)
            for kernel in (activate_kernel, activation_gradients_kernel)
        )

    def lying_as(self, *tensors):
        """The same for these tensors: copies that hooks of autograd have made may lie otherwise."""
        same = strides_of(tensors) == self.lie
        return self if same else Activations(*tensors, *self.options)

    def forward(self, q, k, g, beta, A_log, dt_bias):
        """`q, k, g, beta` for the rule; the numbers that were raw in float32."""
        dtype = self.dtypes[0]
        if not any(self.acts_on):
            return in_dtype(q, dtype), in_dtype(k, dtype), g, beta
        tensors = self.in_rows((q, k, g, beta, A_log, dt_bias))
        made = self.new(q, self.dtypes)
        with on_device(q):
            self.launch(self.start, tensors, made)
        given = (in_dtype(q, dtype), in_dtype(k, dtype), g, beta)
        return [x if y is None else y for x, y in zip(given, made, strict=True)]

    def backward(self, tensors, g, dq, dk, dg, dbeta):
        """Gradients of the six tensors, from those of what `forward` made; `g` is its own."""
        given = self.back(tensors, dq, dk, dg, dbeta)
        dA_log = None if tensors[4] is None else (dg * g).sum((0, 1))
        ddt_bias = None if tensors[5] is None else given[2].sum((0, 1))
        return *given, dA_log, ddt_bias

    def back(self, tensors, *given):
        """Gradients of the first four, by one launch; of what `forward` left alone, as given."""
        if not any(self.acts_on):
            return given
        dtypes = (tensors[0].dtype, tensors[1].dtype, *self.dtypes[2:])
        made = self.new(given[0], dtypes)
        with on_device(given[0]):
            self.launch(self.start_back, self.in_rows(tensors), given, made)
        return [x if y is None else y for x, y in zip(given, made, strict=True)]

    def in_rows(self, tensors):
        """The tensors with tokens evenly apart, each token's part in one piece."""
        if not self.apart:
            return tensors
        return [contiguous(x) if i in self.apart else x for i, x in enumerate(tensors)]

    def new(self, like, dtypes):
        """Room for what the kernels make, None for what they leave alone."""
        B, T = like.shape[:2]
        return [
            new(like, (B, T, *width), dtype) if acts else None
            for width, dtype, acts in zip(self.widths, dtypes, self.acts_on, strict=True)
        ]

    def launch(self, start, *groups):
        """One of the kernels on all tokens."""
        B, T = groups[0][0].shape[:2]
        rows = B * T * self.H
        if rows:
            tensors = [x for group in groups for x in group]
            start((cdiv(rows, self.rows), 1, 1), tensors, (rows, *self.strides))


def strides_of(tensors):
    """Elements from token to token; None for what has to be copied first, and 0 for None."""
    *tokens, A_log, dt_bias = tensors
    strides = [0 if x is None else stride_of_tokens(x) for x in tokens]
    strides += [0 if x is None else 1 if x.is_contiguous() else None for x in (A_log, dt_bias)]
    return strides


def row_tiles(K, group):
    """Rows of a program, and blocks that hold a row and the numbers beside its rows."""
    BK = 1 << (K - 1).bit_length()
    ROWS = ROW_NUMBERS // BK
    return {"BK": BK, "ROWS": ROWS, "NUMBERS": 1 << (ROWS * group - 1).bit_length()}


# what a launch gives: pointers to what is given and what is made; rows; strides from token to token
ActivateGiven = namedtuple(
    "ActivateGiven",
    "q_ptr k_ptr g_ptr beta_ptr A_log_ptr dt_bias_ptr "
    "unit_q_ptr unit_k_ptr log_decay_ptr strength_ptr rows q_stride k_stride g_stride beta_stride",
)
# the same with gradients of what was made, and of what was given
ActivationGradientsGiven = namedtuple(
    "ActivationGradientsGiven",
    "q_ptr k_ptr g_ptr beta_ptr A_log_ptr dt_bias_ptr "
    "dunit_q_ptr dunit_k_ptr dlog_decay_ptr dstrength_ptr dq_ptr dk_ptr dg_ptr dbeta_ptr "
    "rows q_stride k_stride g_stride beta_stride",
)
# what is known in advance: heads, their dimensions, what the sigmoid is multiplied with; blocks
ActivationsCase = namedtuple("ActivationsCase", "H HV K FACTOR BK ROWS NUMBERS")


@triton.jit
def rows_of(pid, rows, stride, case: tl.constexpr):
    """Where a program's rows lie, tokens `stride` apart; where they go; and which there are."""
    H: tl.constexpr = case.H
    K: tl.constexpr = case.K
    row = pid.to(tl.int64) * case.ROWS + tl.arange(0, case.ROWS)[:, None]
    dim = tl.arange(0, case.BK)[None, :]
    return row // H * stride + row % H * K + dim, row * K + dim, (row < rows) & (dim < K)


@triton.jit
def numbers_of(pid, rows, stride, case: tl.constexpr):
    """The same for its numbers, and their heads."""
    H: tl.constexpr = case.H
    HV: tl.constexpr = case.HV
    own: tl.constexpr = case.ROWS * (HV // H)
    i = tl.arange(0, case.NUMBERS)
    number = pid.to(tl.int64) * own + i
    valid = (i < own) & (number < rows * (HV // H))
    return number // HV * stride + number % HV, number, number % HV, valid


@triton.jit
def inverse_norm(x):
    """One over the norm of each row; finite for a row of zeros."""
    return tl.rsqrt(tl.sum(x * x, axis=1) + NORM_EPSILON)[:, None]


@triton.jit
def gate_input(g_ptr, A_log_ptr, dt_bias_ptr, at, head, valid):
    """`exp(A_log)`, and what the softplus is taken of."""
    rate = tl.exp(tl.load(A_log_ptr + head, mask=valid, other=0.0).to(tl.float32))
    x = tl.load(g_ptr + at, mask=valid, other=0.0).to(tl.float32)
    if dt_bias_ptr is not None:
        x += tl.load(dt_bias_ptr + head, mask=valid, other=0.0).to(tl.float32)
    return rate, x


@triton.jit
def activate_kernel(given: ActivateGiven, case: tl.constexpr):
    pid = tl.program_id(0)
    if given.unit_q_ptr is not None:
        at, to, valid = rows_of(pid, given.rows, given.q_stride, case)
        q = tl.load(given.q_ptr + at, mask=valid, other=0.0).to(tl.float32)
        tl.store(
            given.unit_q_ptr + to,
            (q * inverse_norm(q)).to(given.unit_q_ptr.dtype.element_ty),
            mask=valid,
        )
        at, to, valid = rows_of(pid, given.rows, given.k_stride, case)
        k = tl.load(given.k_ptr + at, mask=valid, other=0.0).to(tl.float32)
        tl.store(
            given.unit_k_ptr + to,
            (k * inverse_norm(k)).to(given.unit_k_ptr.dtype.element_ty),
            mask=valid,
        )
    if given.log_decay_ptr is not None:
        at, to, head, valid = numbers_of(pid, given.rows, given.g_stride, case)
        rate, x = gate_input(given.g_ptr, given.A_log_ptr, given.dt_bias_ptr, at, head, valid)
        tl.store(given.log_decay_ptr + to, -rate * softplus(x), mask=valid)
    if given.strength_ptr is not None:
        at, to, head, valid = numbers_of(pid, given.rows, given.beta_stride, case)
        beta = tl.load(given.beta_ptr + at, mask=valid, other=0.0).to(tl.float32)
        tl.store(given.strength_ptr + to, case.FACTOR * tl.sigmoid(beta), mask=valid)


@triton.jit
def row_gradient(x_ptr, dy_ptr, dx_ptr, at, to, valid):
    """With y = x / |x| and r = 1 / |x|: dx = r (dy - (y . dy) y)."""
    x = tl.load(x_ptr + at, mask=valid, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + to, mask=valid, other=0.0).to(tl.float32)
    r = inverse_norm(x)
    y = r * x
    dx = r * (dy - tl.sum(y * dy, axis=1)[:, None] * y)
    tl.store(dx_ptr + to, dx.to(dx_ptr.dtype.element_ty), mask=valid)


@triton.jit
def activation_gradients_kernel(given: ActivationGradientsGiven, case: tl.constexpr):
    pid = tl.program_id(0)
    if given.dq_ptr is not None:
        at, to, valid = rows_of(pid, given.rows, given.q_stride, case)
        row_gradient(given.q_ptr, given.dunit_q_ptr, given.dq_ptr, at, to, valid)
        at, to, valid = rows_of(pid, given.rows, given.k_stride, case)
        row_gradient(given.k_ptr, given.dunit_k_ptr, given.dk_ptr, at, to, valid)
    if given.dg_ptr is not None:  # eq-gate-gradient
        at, to, head, valid = numbers_of(pid, given.rows, given.g_stride, case)
        rate, x = gate_input(given.g_ptr, given.A_log_ptr, given.dt_bias_ptr, at, head, valid)
        dg = tl.load(given.dlog_decay_ptr + to, mask=valid, other=0.0)
        tl.store(given.dg_ptr + to, -rate * tl.sigmoid(x) * dg, mask=valid)
    if given.dbeta_ptr is not None:
        at, to, head, valid = numbers_of(pid, given.rows, given.beta_stride, case)
        s = tl.sigmoid(tl.load(given.beta_ptr + at, mask=valid, other=0.0).to(tl.float32))
        dbeta = tl.load(given.dstrength_ptr + to, mask=valid, other=0.0)
        tl.store(given.dbeta_ptr + to, case.FACTOR * s * (1 - s) * dbeta, mask=valid)
