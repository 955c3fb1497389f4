"""The one table of tolerances: relative Frobenius errors, over the whole array."""

import numpy as np

FORMS = 1e-12  # two forms of one rule, float64, any array library
KERNEL_FLOAT32 = 1e-5  # Triton with float32 accuracy, against float64
KERNEL_TF32 = 3e-3  # one tf32 product a dot; operands from registers are cut, not rounded
KERNEL_FLOAT16 = 2e-3
KERNEL_BFLOAT16 = 4e-3
GRADIENT_FLOAT32 = 1e-5  # Triton's gradients with float32 accuracy, against float64
GRADIENT_TF32 = 6e-3
GRADIENT_FLOAT16 = 2e-3
GRADIENT_BFLOAT16 = 1e-2
GRADIENT_BFLOAT16_NUMBERS = 2e-2  # of g and beta, which add up what the vectors' gradients lose


def relative_error(actual, expected):
    """`||actual - expected|| / ||expected||`; the plain norm where `expected` is zero."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, f"shape {actual.shape}, expected {expected.shape}"
    size = np.linalg.norm(expected)
    return float(np.linalg.norm(actual - expected) / (size if size > 0 else 1.0))


def assert_close(actual, expected, tolerance=FORMS):
    """Fail unless the shapes agree and the relative error is at most `tolerance` (NaN fails)."""
    error = relative_error(actual, expected)
    assert error <= tolerance, f"relative error {error:.1e}, tolerance {tolerance:.0e}"
