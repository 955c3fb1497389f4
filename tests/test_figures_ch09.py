"""The figures of chapter 9: drawn, right, and the widgets follow their sliders."""

import inspect

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from gdn_ref import delta_rule
from gdn_ref.figures import ch09
from gdn_ref.figures.ch09_measure import kept_for_backward, precision, rounded_inverse
from gdn_ref.proofs.ch09_cost import early, late, products
from gdn_ref.proofs.data import hard_inputs, relative_error

STATIC = {
    "chunk_flow": 1,
    "attention_matrices": 2,
    "schedule": 1,
    "work_and_wait": 2,
    "precision_against_cosine": 2,
}


def curves(axes):
    return {line.get_label(): line.get_ydata() for line in axes.lines}


@pytest.mark.parametrize("name", STATIC)
def test_each_figure_is_drawn(name):
    fig = getattr(ch09, name)()
    assert isinstance(fig, Figure)
    assert len(fig.axes) == STATIC[name]
    assert all(axes.has_data() or axes.patches for axes in fig.axes)


def test_the_small_chunk_begins_like_the_example_by_hand():
    chunk = ch09.small_chunk(angle=np.degrees(np.arctan2(0.8, 0.6)), beta=1.0)
    np.testing.assert_allclose(chunk["K"][1], [0.6, 0.8], atol=1e-12)
    np.testing.assert_allclose(chunk["R"][:2], [[1, 1], [0.4, 2.2]], atol=1e-12)
    np.testing.assert_allclose(chunk["E"][:2], [[1, 1], [-0.2, 1.6]], atol=1e-12)


@pytest.mark.parametrize(("angle", "beta"), [(53, 1.0), (90, 2.0), (0, 0.5)])
def test_the_small_chunk_is_the_token_loop(angle, beta):
    chunk = ch09.small_chunk(angle, beta)
    S, deltas = chunk["S"], []
    for q, k, v, row in zip(chunk["Q"], chunk["K"], chunk["V"], chunk["O"], strict=True):
        deltas.append(beta * (v - S @ k))
        o, S = delta_rule.step(S, q, k, v, np.asarray(beta))
        np.testing.assert_allclose(row, o, atol=1e-12)
    np.testing.assert_allclose(chunk["E"], deltas, atol=1e-12)
    np.testing.assert_allclose(chunk["next"], S, atol=1e-12)


def test_numbers_appear_with_the_step_that_computes_them():
    counts = [len(ch09.chunk_flow(step).axes[0].texts) for step in range(8)]
    titles = len(ch09.PLACES)
    assert counts[0] == titles + 3 * 2 * 3 + 4  # K, V, Q, S
    assert np.diff(counts).tolist() == [9, 6, 2, 2, 2, 4, 9 + 6]


def test_the_newest_write_counts_and_the_stale_ones_are_gone():
    linear, delta = ch09.letter_attention()
    asked = [n for n, letter in enumerate(ch09.LETTERS) if letter == "a"]
    for row in range(12):
        writers = [n for n in asked if n <= row]
        np.testing.assert_allclose(linear[row, writers], 1)
        assert delta[row, writers[-1]] > 0.75
        assert abs(delta[row, writers[:-1]]).max(initial=0) < 0.2
    np.testing.assert_allclose(delta[asked, asked], 1)
    for row in asked[1:]:  # asked right after a write, only that write answers
        np.testing.assert_allclose(delta[row, :row], 0, atol=1e-12)


@pytest.mark.parametrize("C", [1, 2, 5])
def test_flops_are_twice_the_counted_products(C):
    counted = [2 * products(form, C, 3, 4) / C for form in (late, early)]
    np.testing.assert_allclose(ch09.flops_per_token(C, 3, 4), counted, rtol=1e-12)


def test_the_curves_of_work_and_wait():
    work, wait = (curves(axes) for axes in ch09.work_and_wait().axes)
    at_64 = 5  # 2, 4, 8, 16, 32, 64
    assert wait["token loop"][0] == 12289
    assert wait["chunks, solved early"][at_64] == 193
    assert wait["chunks, solved late"][at_64] == 4224
    ratio = work["chunks, solved early"][at_64] / work["token loop"][0]
    assert ratio == pytest.approx(1.666, abs=1e-3)


def test_autograd_keeps_a_state_a_token_and_a_state_a_chunk():
    d = 32
    loop = kept_for_backward(delta_rule.recurrent, T=128, d=d)
    chunks = kept_for_backward(delta_rule.chunkwise, T=128, d=d, chunk_size=32)
    assert d * d < loop < d * d + 10 * d
    assert chunks < d * d / 32 + 4 * 32 + 10 * d


def test_shared_storage_is_counted_once():
    def twice(q, k, v, beta):
        return q * k + k * q, None

    assert kept_for_backward(twice, T=16, d=8) == 2 * 8


def test_only_the_inverse_is_rounded():
    q, k, v, _, beta, S = (x.astype(np.float32) for x in hard_inputs(T=32, cosine=0.0))
    rounded = rounded_inverse(S, q, k, v, beta)
    exact = delta_rule.chunk(S, q, k, v, beta)
    for got, right in zip(rounded, exact, strict=True):
        assert 1e-4 < relative_error(got, right) < 3e-2
    one = rounded_inverse(S, q[:1], k[:1], v[:1], beta[:1])  # the inverse is 1: nothing to round
    assert relative_error(one[0], delta_rule.chunk(S, q[:1], k[:1], v[:1], beta[:1])[0]) < 1e-6


def test_precision_is_lost_where_beta_is_two_and_keys_are_alike():
    mild, hard = precision(0.0, 1.0), precision(0.999, 2.0)
    assert max(mild[:2]) < 1e-6
    assert mild[2] < 5e-3
    assert hard[0] < 5e-6
    assert hard[1] > 5 * hard[0]
    assert hard[2] > 0.5
    assert torch.get_default_dtype() == torch.float32


def test_every_slider_of_the_widget_changes_its_picture():
    picture, *sliders = ch09.chunk_flow_widget().children
    assert picture.value.startswith("<svg")
    assert len(sliders) == len(inspect.signature(ch09.chunk_flow).parameters)
    for slider in sliders:
        before = picture.value
        slider.value = slider.max
        assert picture.value != before, slider.description


def test_a_step_frames_what_it_uses():
    def dashed(step):
        patches = ch09.chunk_flow(step).axes[0].patches
        return sum(patch.get_linestyle() == "--" for patch in patches)

    assert [dashed(step) for step in range(8)] == [0, 1, 3, 2, 2, 2, 3, 4]
