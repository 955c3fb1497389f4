"""One-line edits to the code, each of which must turn a test red.

Every edit is made in a copy of the project, and the test named beside it runs there. The list is
the promise that the suite can fail; the first test shows that it does not fail for nothing.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

REFERENCE = "tests/test_reference.py"
OPS = "tests/test_ops.py"
STAGES = "tests/kernels/test_stages.py"
FORWARD = "tests/kernels/test_forward.py"
BACKWARD = "tests/kernels/test_backward.py"
GROUPS = "tests/kernels/test_gradient_groups.py"
HOPPER = "tests/kernels/test_hopper.py"
DECODING = "tests/test_decoding.py"
RECURRENT = "tests/kernels/test_recurrent.py"
ACTIVATIONS = "tests/kernels/test_activations.py"
LAYERS = "tests/test_layers.py"
FAMILY = "tests/test_family.py"
RANKS = "tests/test_distributed.py"
EXCHANGES = "tests/test_exchange_cost.py"
COMPILED = "tests/test_compiled.py"
CONVOLUTION = "tests/kernels/test_causal_conv.py"

EDITS = [  # what it does, file, line as it stands, line as it becomes, the test that notices
    ("Gamma loses its diagonal", "gdn_ref/chunking.py",
     "axis=-2)))", "axis=-2)), k=-1)",
     REFERENCE, "test_every_form_is_the_recurrence[numpy-scalar_decay]"),
    ("a decay counts one token twice", "gdn_ref/chunking.py",
     "xp.tril(rows, k=-1)", "xp.tril(rows)",
     REFERENCE, "test_every_form_is_the_recurrence[numpy-scalar_decay]"),
    ("the chunk reads an undecayed state", "gdn_ref/gated_delta_rule.py",
     "(v - gamma[..., None] * (k @ transpose(S)))", "(v - (k @ transpose(S)))",
     REFERENCE, "test_every_form_is_the_recurrence[numpy-gated_delta_rule]"),
    ("the step reads before it decays", "gdn_ref/gated_delta_rule.py",
     "delta = beta[..., None] * (v - matvec(S, k))",
     "delta = beta[..., None] * (v - matvec(S, k) / alpha[..., None])",
     REFERENCE, "test_every_form_is_the_recurrence[numpy-gated_delta_rule]"),
    ("writes do not decay to the chunk's end", "gdn_ref/gated_delta_rule.py",
     "transpose(delta) @ (to_end[..., None] * k)", "transpose(delta) @ k",
     REFERENCE, "test_every_form_is_the_recurrence[numpy-gated_delta_rule]"),
    ("a token interacts with itself", "gdn_ref/wy.py",
     "k=-1)", "k=0)",
     REFERENCE, "test_every_form_is_the_recurrence[numpy-delta_rule]"),
    ("maps compose in the wrong order", "gdn_ref/affine.py",
     "F1 @ F2,", "F2 @ F1,",
     REFERENCE, "test_a_scan_of_chunk_maps_is_the_recurrence[numpy-decays]"),
    ("the output forgets the scale", "gdn_ref/reference.py",
     "tensors[0] * scale", "tensors[0]",
     OPS, "test_equals_the_loop[1-1-1-chunk]"),
    ("a single token writes where its query points", "gdn_ref/reference.py",
     "S.addcmul(k.mT, delta)", "S.addcmul(q.mT, delta)",
     OPS, "test_equals_the_loop[2-6-1-recurrent]"),
    ("tokens are cut one by one", "gdn_ref/chunking.py",
     'if hasattr(x, "unbind"):', "if False:",
     OPS, "test_the_work_of_both_passes_is_linear_in_the_tokens[chunk-False]"),
    ("a packed sequence starts from its neighbour's state", "gdn_ref/reference.py",
     "S.split(1)", "S.roll(1, 0).split(1)",
     OPS, "test_packed_sequences[three-True-True-dtype0-chunk]"),
    ("kernel: a chunk is given to the sequence before", "kernels/common/tokens.py",
     "// C + middle <= slot", "// C + middle < slot",
     STAGES, "test_every_chunk_of_every_packed_sequence_has_one_slot[0]"),
    ("kernel: pairs of blocks join with the wrong sign", "kernels/forward/transform.py",
     "T21 = -tl.dot(", "T21 = tl.dot(",
     STAGES, "test_the_transform_is_the_solve[True-None-32]"),
    ("kernel: a row of the inverse misses the row above", "kernels/forward/transform.py",
     "for s in range(1, n)", "for s in range(2, n)",
     STAGES, "test_the_transform_is_the_solve[True-None-16]"),
    ("kernel: the write strength lies on the wrong token", "kernels/forward/transform.py",
     "UT *= beta[None, :]", "UT *= beta[:, None]",
     STAGES, "test_the_transform_is_the_solve[True-None-16]"),
    ("kernel: Gamma loses its diagonal", "kernels/forward/scan.py",
     "tl.where(i <= r, stretch", "tl.where(i < r, stretch",
     STAGES, "test_the_scan_is_one_chunk_of_the_reference[16-16-12-7-True-True]"),
    ("kernel: the state does not decay", "kernels/forward/scan.py",
     "S = S * tl.exp2(c_C.to(tl.float32))", "S = S * 1.0",
     STAGES, "test_the_scan_is_one_chunk_of_the_reference[16-16-12-7-True-True]"),
    ("kernel: value heads read the wrong key head", "kernels/forward/scan.py",
     "h = hv // (HV // H)", "h = hv % H",
     FORWARD, "test_any_length_and_chunk_size[1-16]"),
    ("kernel: writes do not decay to the chunk's end", "kernels/forward/scan.py",
     "(to_end * delta)", "delta",
     STAGES, "test_the_scan_is_one_chunk_of_the_reference[16-16-12-7-True-True]"),
    ("kernel: a short chunk reads its neighbour's write strengths", "kernels/forward/scan.py",
     "mask=token < left", "mask=token < C",
     FORWARD, "test_a_head_of_a_packed_sequence_does_not_see_its_neighbours[True]"),
    ("kernel: decays to the chunk's end are differences of rounded sums", "kernels/forward/scan.py",
     "tl.exp2((c_C - c).to(tl.float32))", "tl.exp2(c_C.to(tl.float32) - c.to(tl.float32))",
     FORWARD, "test_strong_decays_leave_the_weak_ones_exact[32]"),
    ("kernel: silent chunks leave the state as it was", "kernels/forward/scan.py",
     "for j in tl.range(0, silent,", "for j in tl.range(0, 0,",
     FORWARD, "test_shares_of_a_sequence_are_the_sequence[None]"),
    ("kernel: a program without chunks writes the last state", "kernels/forward/scan.py",
     "mask=S_valid & last", "mask=S_valid",
     FORWARD, "test_shares_of_a_sequence_are_the_sequence[lengths1]"),
    ("kernel: a share ends where it begins", "kernels/forward/shares.py",
     "tl.minimum(end * C, tokens)", "tl.minimum(begin * C, tokens)",
     FORWARD, "test_shares_of_a_sequence_are_the_sequence[None]"),
    ("kernel: a share ends where the one before does", "kernels/forward/shares.py",
     "share_of_chunks(chunks, p + 1, SHARES)", "share_of_chunks(chunks, p, SHARES)",
     STAGES, "test_each_chunk_has_outputs_from_one_program[2]"),
    ("kernel: a reset leaves something of a large state", "kernels/common/numbers.py",
     "RESET = tl.constexpr(-160.0)", "RESET = tl.constexpr(-120.0)",
     FORWARD, "test_resets_and_strong_decays"),
    ("offsets that have changed are not looked at", "gdn_ref/ops.py",
     "    if cu_seqlens is not None:", "    if False:",
     FORWARD, "test_offsets_are_read_again_when_they_change[chunk_gated_delta_rule]"),
    ("backward: offsets are read as if they lay side by side", "kernels/backward/launches.py",
     "map(contiguous, (q, k, v, g, beta, cu_seqlens, do))", "(q, k, v, g, beta, cu_seqlens, do)",
     BACKWARD, "test_any_length_and_chunk_size[33-64]"),
    ("backward: states that are kept forget how strongly was written", "kernels/backward/states.py",
     "residual = beta * (", "residual = (",
     BACKWARD, "test_any_length_and_chunk_size[33-16]"),
    ("backward: dS does not decay to the token it reaches", "kernels/backward/state_gradients.py",
     "dE = to_end * tl.dot(", "dE = tl.dot(",
     BACKWARD, "test_any_length_and_chunk_size[16-16]"),
    ("backward: the solve is not transposed", "kernels/backward/state_gradients.py",
     "tl.dot(dE.to(dtype), T_inv.to(dtype)", "tl.dot(dE.to(dtype), tl.trans(T_inv.to(dtype))",
     BACKWARD, "test_any_length_and_chunk_size[16-16]"),
    ("backward: reading from the state forgets beta", "kernels/backward/state_gradients.py",
     "(-gamma * beta * Z)", "(-gamma * Z)",
     BACKWARD, "test_any_length_and_chunk_size[1-16]"),
    ("backward: a chunk that is not whole is left out", "kernels/backward/state_gradients.py",
     "if end - at < C:", "if end - at < 0:",
     BACKWARD, "test_any_length_and_chunk_size[1-16]"),
    ("backward: a token that is missing sees those before it",
     "kernels/backward/state_gradients.py",
     "(i <= r) & (r < left)", "i <= r",
     BACKWARD, "test_resets_and_strong_decays[16]"),
    ("backward: at the border of small betas Z is left as it is",
     "kernels/common/numbers.py",
     "return tl.where(beta >= LEAST, 1.0, beta)", "return tl.where(beta > LEAST, 1.0, beta)",
     BACKWARD, "test_tokens_that_write_nothing"),
    ("backward: a short chunk feels its neighbour's keys", "kernels/backward/chunk_gradients.py",
     "k = load_tile(given.k_ptr + head, H * K, left,",
     "k = load_tile(given.k_ptr + head, H * K, C,",
     BACKWARD, "test_a_head_of_a_packed_sequence_does_not_feel_its_neighbours"),
    ("backward: X loses its diagonal", "kernels/backward/chunk_gradients.py",
     "(i <= r) & (r < left)", "(i < r) & (r < left)",
     BACKWARD, "test_any_length_and_chunk_size[1-16]"),
    ("backward: N gets a diagonal", "kernels/backward/chunk_gradients.py",
     "Y = tl.where(i < r, Gamma", "Y = tl.where(i <= r, Gamma",
     BACKWARD, "test_any_length_and_chunk_size[1-16]"),
    ("backward: N has the wrong sign", "kernels/backward/chunk_gradients.py",
     "Y = -rest(beta) * Y", "Y = rest(beta) * Y",
     BACKWARD, "test_any_length_and_chunk_size[16-16]"),
    ("backward: keys are read without the decay after them", "kernels/backward/chunk_gradients.py",
     "(to_end * E)", "E",
     BACKWARD, "test_any_length_and_chunk_size[16-16]"),
    ("backward: beta's gradient forgets the keys before", "kernels/backward/chunk_gradients.py",
     "dbeta - row_sums(Y * overlap)", "dbeta",
     BACKWARD, "test_any_length_and_chunk_size[16-16]"),
    ("backward: what crosses a decay begins at its token", "kernels/backward/chunk_gradients.py",
     "tl.where(i < r, to_here", "tl.where(i <= r, to_here",
     BACKWARD, "test_any_length_and_chunk_size[1-16]"),
    ("backward: the old state does not decay to the next", "kernels/backward/chunk_gradients.py",
     "old *= tl.exp2(c_C.to(tl.float32))", "old *= 1.0",
     BACKWARD, "test_any_length_and_chunk_size[1-16]"),
    ("backward: a head's decay answers for the heads before", "kernels/backward/chunk_gradients.py",
     "q_reads = -row_sums(q.to(tl.float32) * dq)", "q_reads = tl.zeros((C,), tl.float32)",
     BACKWARD, "test_any_length_and_chunk_size[1-16]"),
    ("backward, Hopper: a token crosses itself", "kernels/backward/hopper/chunk_gradients/pairs.py",
     "i[None, :] < t[:, None], leaves", "i[None, :] <= t[:, None], leaves",
     GROUPS, "test_crossings_are_the_sums_over_rectangles[16]"),
    ("backward, Hopper: what arrives is not taken off",
     "kernels/backward/hopper/chunk_gradients/pairs.py",
     "b - gl.sum(J, axis=1)", "b",
     GROUPS, "test_crossings_are_the_sums_over_rectangles[16]"),
    ("backward: what a batch has beyond whole pieces is left out", "kernels/backward/launches.py",
     "zip(lengths, pieces(tensors, lengths), strict=True)",
     "zip(lengths[: whole.N // lengths[0]], pieces(tensors, lengths))",
     BACKWARD, "test_in_pieces_all_gradients_keep_their_bits[short_last_chunk]"),
    ("a launch looks where its first tensor lies, and no other", "kernels/host/launch.py",
     "% 16 == 0 for a in addresses]", "% 16 == 0 for a in addresses[:1]]",
     "tests/kernels/test_launch.py", "test_each_alignment_is_compiled_for"),
    ("a launch takes multiples of 8 bytes for those of 16", "kernels/host/launch.py",
     "% 16 == 0 for a in addresses]", "% 8 == 0 for a in addresses]",
     "tests/kernels/test_launch.py", "test_each_alignment_is_compiled_for"),
    ("a launch takes all numbers for short ones", "kernels/host/launch.py",
     "max(numbers, default=0) >= 2**31", "False",
     "tests/kernels/test_launch.py", "test_wide_numbers_are_compiled_for"),
    ("backward: what one call needs is taken for what all need",
     "kernels/backward/launches.py",
     "gradients = self.known[kind]", "gradients = next(iter(self.known.values()))",
     BACKWARD, "test_gradients_do_not_depend_on_the_look_of_the_call_before[plain]"),
    ("backward: the last piece has no waves", "kernels/backward/pieces.py",
     " + waves(N % n) <=", " <=",
     BACKWARD, "test_pieces_take_no_more_waves_than_the_batch"),
    ("Hopper: a token decays over the whole chunk", "kernels/forward/hopper/chain.py",
     "gl.exp2(c_C - c)", "gl.exp2(c_C)",
     HOPPER, "test_whole_and_short_chunks[192-64-64]"),
    ("Hopper: a chunk has the weights of the one before", "kernels/forward/hopper/chain.py",
     "last = (j + TURN - 1) * C", "last = j * C",
     HOPPER, "test_whole_and_short_chunks[192-64-64]"),
    ("Hopper: fewer bytes are announced than come", "kernels/forward/hopper/chain.py",
     "BYTES + 2 * C * BK * PARTS, pred", "BYTES, pred",
     HOPPER, "test_whole_and_short_chunks[192-64-64]"),
    ("Hopper: a place is filled before it is free", "kernels/forward/hopper/chain.py",
     "((j // STAGES) & 1) ^ 1)\n    if source.q", "(j // STAGES) & 1)\n    if source.q",
     HOPPER, "test_whole_and_short_chunks[330-64-64]"),
    ("Hopper: delta is taken while it is under way", "kernels/forward/hopper/scan.py",
     "delta = warpgroup_mma_wait(PARTS, deps=[delta])",
     "delta = warpgroup_mma_wait(PARTS + 1, deps=[delta])",
     HOPPER, "test_whole_and_short_chunks[192-64-64]"),
    ("Hopper: scores are stored with no fence behind them", "kernels/forward/hopper/scan.py",
     "store(product)\n        fence_async_shared()", "store(product)",
     HOPPER, "test_whole_and_short_chunks[64-64-64]"),
    ("Hopper: a short chunk keeps its neighbour's keys", "kernels/forward/hopper/scan.py",
     "if left < C:", "if left < 0:",
     HOPPER, "test_a_sequence_does_not_feel_its_neighbours[64]"),
    ("Hopper: outputs are put where others have not left", "kernels/forward/hopper/scan_256.py",
     "    tma.store_wait(0)\n    outputs.tile", "    outputs.tile",
     HOPPER, "test_whole_and_short_chunks[192-64-64]"),
    ("Hopper: a wide state meets keys before it is there", "kernels/forward/hopper/scan_256.py",
     "    hand_over(S, S_tiles)\n    mbarrier", "    mbarrier",
     HOPPER, "test_whole_and_short_chunks[192-256-64]"),
    ("Hopper: a map forgets the state it maps", "kernels/forward/hopper/segments.py",
     "gl.where(row == dim_k, 1.0, 0.0)", "gl.where(row == dim_k, 0.0, 0.0)",
     HOPPER, "test_segments_of_a_long_sequence[64-None]"),
    ("Hopper: rows of the inverse add up", "kernels/forward/transform_mma.py",
     "row -= gl.expand_dims", "row += gl.expand_dims",
     HOPPER, "test_whole_and_short_chunks[40-64-64]"),
    ("Hopper: a block of the inverse misses one between", "kernels/forward/transform_mma.py",
     "gl.static_range(e + 1, a)", "gl.static_range(e + 2, a)",
     HOPPER, "test_whole_and_short_chunks[64-64-64]"),
    ("Hopper: in training decays are taken for strengths", "kernels/forward/transform_mma.py",
     "gl.store(given.strength_ptr + first + t, beta,",
     "gl.store(given.strength_ptr + first + t, c,",
     HOPPER, "test_what_a_training_call_returns"),
    ("backward, Hopper: all chunks keep the first one's state", "kernels/backward/hopper/states.py",
     "row = kept.row + j * kept.step", "row = kept.row",
     HOPPER, "test_gradients[256-64-64]"),
    ("backward, Hopper: chunks come in the wrong order",
     "kernels/backward/hopper/state_gradients.py",
     "first = (chunks - 1 - j) * C", "first = j * C",
     HOPPER, "test_gradients[256-64-64]"),
    ("backward, Hopper: a state leaves before its fence",
     "kernels/forward/hopper/chain.py",
     "    fence_async_shared()\n    tma.async_copy_shared_to_global(leaving",
     "    tma.async_copy_shared_to_global(leaving",
     HOPPER, "test_gradients[256-64-64]"),
    ("backward, Hopper: E is read where v still stands",
     "kernels/backward/hopper/chunk_gradients/groups.py",
     "wait(signal, DELTA, n)", "wait(signal, FULL, n)",
     HOPPER, "test_gradients[256-64-64]"),
    ("backward, Hopper: dq leaves where q is still read",
     "kernels/backward/hopper/chunk_gradients/groups.py",
     "wait(signal, PAIR_READ, pair)\n    tile", "tile",
     HOPPER, "test_gradients[256-64-64]"),
    ("backward, Hopper: X and N are put where others are still read",
     "kernels/backward/hopper/chunk_gradients/pairs.py",
     "wait_free(signal, SCORES_FREE, head)", "wait_free(signal, SCORES_FREE, 0)",
     HOPPER, "test_gradients[256-64-64]"),
    ("a sequence without tokens has its state rounded", "gdn_ref/decoding.py",
     "cu_seqlens.diff() > 0)", "cu_seqlens.diff() >= 0)",
     DECODING, "test_a_sequence_without_tokens_keeps_its_slot_to_the_bit"),
    ("a float64 pool goes to Triton", "gdn_ref/decoding.py",
     "torch.float64 in (common, pool.dtype)", "torch.float64 == common",
     DECODING, "test_float64_on_a_gpu_goes_to_the_reference[pool]"),
    ("slots are not looked at", "gdn_ref/decoding.py",
     "    if slot_idx is not None:", "    if False:",
     DECODING, "test_refused_before_anything_is_written"),
    ("kernel: every sequence has the first one's slot", "kernels/decode/kernel.py",
     "tl.load(given.slot_idx_ptr + n)", "tl.load(given.slot_idx_ptr)",
     RECURRENT, "test_any_head_dimension[12-7-dtype0-False]"),
    ("kernel: a token is read twice", "kernels/decode/kernel.py",
     "t + 1, end,", "t, end,",
     RECURRENT, "test_any_head_dimension[12-7-dtype0-False]"),
    ("kernel: key channels decay as the key head's number says", "kernels/decode/kernel.py",
     "given.gk_ptr + hv * case.K", "given.gk_ptr + h * case.K",
     RECURRENT, "test_decays_of_channels[12-7-dtype0-False]"),
    ("kernel: channels beyond the head's decay, too", "kernels/decode/kernel.py",
     "mask=(dim < D) & (t < end), other", "mask=t < end, other",
     RECURRENT, "test_decays_cut_from_one_row_per_token_are_not_copied[None]"),
    ("a gradient of the decays of channels is taken for zero", "gdn_ref/ops.py",
     "dt_bias, initial_state, gk, gv)\n    if", "dt_bias, initial_state)\n    if",
     RECURRENT, "test_no_gradient_with_decays_of_channels[gk]"),
    ("value channels do not decay", "gdn_ref/reference.py",
     "(-2, gk), (-1, gv)", "(-2, gk), (-1, None)",
     OPS, "test_decays_of_channels_equal_the_loop[2-6-9-True-gk-gv]"),
    ("kernel: the gate loses what 1 + exp(x) rounds away", "kernels/common/numbers.py",
     "tl.log(rounded) * (y / tl.where(kept == 0.0, 1.0, kept))", "tl.log(rounded)",
     RECURRENT, "test_a_gate_hardly_open_still_decays[-12.0]"),
    ("kernel: a unit vector may still grow", "kernels/activations.py",
     "dx = r * (dy - tl.sum(y * dy, axis=1)[:, None] * y)", "dx = r * dy",
     ACTIVATIONS, "test_any_head[1-1-2]"),
    ("kernel: a program's numbers begin where its rows do", "kernels/activations.py",
     "pid.to(tl.int64) * own + i", "pid.to(tl.int64) * ROWS + i",
     ACTIVATIONS, "test_any_head[2-6-256]"),
    ("one compiled kernel for all dtypes that come out", "kernels/activations.py",
     "what = (*types(*tensors), dtype,", "what = (*types(*tensors),",
     ACTIVATIONS, "test_calls_that_differ_are_compiled_apart"),
    ("compiled: a tangent is taken for zero", "gdn_ref/ops.py",
     "is_compiling() and not transformed():", "is_compiling():",
     COMPILED, "test_transforms_inside_of_compiled_code[jvp]"),
    ("compiled: the last state has no gradient", "gdn_ref/compiled_reference.py",
     "(do, dS), strict", "(do, None), strict",
     COMPILED, "test_one_graph_for_any_length[False-chunk]"),
    ("kernel: only tokens of the first tile read the state", "kernels/conv/forward.py",
     "first > -W:", "first >= 0:",
     CONVOLUTION, "test_a_state_that_reaches_into_a_second_tile[None-cpu-dtype0-1e-05]"),
    ("a bias from fla is lost", "gdn_ref/layer_weights.py",
     'if f"q_conv1d.{kind}" in weights:', 'if kind == "weight":',
     LAYERS, "test_a_bias_goes_to_fla_and_back"),
    ("kernel: a short chunk's outputs are those of a whole one", "kernels/forward/scan.py",
     "mask=(dim < V_left) & (r < left))", "mask=dim < V_left)",
     FORWARD, "test_any_length_and_chunk_size[1-16]"),
    ("kernel: a convolution's last tile is written to its end", "kernels/conv/forward.py",
     "mask=(t < left) & (d < D))\n\n    # the tile with", "mask=d < D)\n\n    # the tile with",
     CONVOLUTION, "test_any_length_with_less[silu-bias-1-cpu-dtype0-1e-05]"),
    ("backward: a short chunk has a decay's gradient for each of its places",
     "kernels/backward/chunk_gradients.py",
     "dg_ptr + number, dg, mask=t < left)", "dg_ptr + number, dg, mask=t < C)",
     BACKWARD, "test_any_length_and_chunk_size[1-16]"),
    ("packed sequences count as one when the form is chosen", "gdn_ref/layers.py",
     "<= DECODING_TOKENS * N", "<= DECODING_TOKENS",
     LAYERS, "test_few_tokens_a_sequence_go_one_by_one_after_a_cache"),
    ("a call is taken for another with other options", "gdn_ref/prepared.py",
     "prepare, options, *map(type, options),", "prepare,",
     OPS, "test_optional_arguments"),
    ("a call is taken for one whose tokens lie otherwise", "gdn_ref/prepared.py",
     "return tuple(rest)", "return tuple(rest[1:])",
     FORWARD, "test_a_call_is_not_taken_for_one_whose_tensors_lie_otherwise"
     "[chunk_gated_delta_rule-True]"),
    ("a call is taken for one whose tensors lie in one piece", "gdn_ref/prepared.py",
     "lies = None if x.is_contiguous() else strides(x)", "lies = None",
     FORWARD, "test_a_call_is_not_taken_for_one_whose_tensors_lie_otherwise"
     "[chunk_gated_delta_rule-False]"),
    ("a call of another length is not checked", "gdn_ref/prepared.py",
     "shape[0] == B and shape[1] == T, shape[2:]", "True, shape[2:]",
     OPS, "test_lengths_are_checked_at_every_call"),
    ("a call with states for other sequences is not checked", "gdn_ref/prepared.py",
     "shape[0] == N, shape[1:]", "True, shape[1:]",
     OPS, "test_lengths_are_checked_at_every_call"),
    ("family: the step reads a state that has decayed", "gdn_ref/family/general_rule.py",
     "read = matvec(S, a)", "read = matvec(D[..., None, :] * S, a)",
     FAMILY, "test_every_form_is_the_recurrence[numpy-mild]"),
    ("family: a chunk reads after its token's decay", "gdn_ref/family/general_rule.py",
     "wy.solve(reads(a, b, g), (before * a)", "wy.solve(reads(a, b, g), (gamma * a)",
     FAMILY, "test_every_form_is_the_recurrence[numpy-mild]"),
    ("family: what is erased does not decay to the chunk's end", "gdn_ref/family/general_rule.py",
     "transpose(R) @ (to_end * b)", "transpose(R) @ b",
     FAMILY, "test_every_form_is_the_recurrence[numpy-mild]"),
    ("family: the output keeps what its chunk erased", "gdn_ref/family/general_rule.py",
     " - scores(q, b, g) @ R", "",
     FAMILY, "test_every_form_is_the_recurrence[numpy-mild]"),
    ("family: a token reads what it writes", "gdn_ref/family/general_rule.py",
     "axis=-2), k=-1)", "axis=-2), k=0)",
     FAMILY, "test_every_form_is_the_recurrence[numpy-mild]"),
    ("family: a token's read decays with it", "gdn_ref/family/general_rule.py",
     "xp.roll(scores(xp.roll(a, -1, axis=-2), y, g), 1, axis=-2)", "scores(a, y, g)",
     FAMILY, "test_every_form_is_the_recurrence[numpy-mild]"),
    ("family: tokens do not decay to the border", "gdn_ref/family/general_rule.py",
     "seen = to_border(g[..., :m, :]) * y", "seen = y",
     FAMILY, "test_borders_may_lie_anywhere[mild-3]"),
    ("family: nothing decays from the border on", "gdn_ref/family/general_rule.py",
     "(from_start(g[..., m:, :]) * x[..., m:, :])", "x[..., m:, :]",
     FAMILY, "test_borders_may_lie_anywhere[mild-3]"),
    ("family: a token's own decay falls on what it wrote", "gdn_ref/family/general_rule.py",
     "later = one_later(xp.flip(g, axis=-2), first=0.0)", "later = xp.flip(g, axis=-2)",
     FAMILY, "test_every_form_is_the_recurrence[numpy-mild]"),
    ("family: the gradient of a state does not decay", "gdn_ref/family/backward.py",
     "Lambda * D[..., None, :]", "Lambda",
     FAMILY, "test_gradients_by_hand_are_those_of_autograd[16-mild]"),
    ("family: the gradient of a state forgets that it was read", "gdn_ref/family/backward.py",
     " + outer(dread, a)", "",
     FAMILY, "test_gradients_by_hand_are_those_of_autograd[16-mild]"),
    ("family: what reads is taken to read after its write", "gdn_ref/family/backward.py",
     "matvec(transpose(S), dread)", "matvec(transpose(S_next), dread)",
     FAMILY, "test_gradients_by_hand_are_those_of_autograd[16-mild]"),
    ("family: a decay's gradient is that of its exponential", "gdn_ref/family/backward.py",
     "dg = D * xp.sum", "dg = xp.sum",
     FAMILY, "test_gradients_by_hand_are_those_of_autograd[16-mild]"),
    ("family: two gates read before they decay", "gdn_ref/family/two_gates.py",
     "array_namespace(g).exp(g) * erase * k", "erase * k",
     FAMILY, "test_a_published_rule_is_the_general_rule[numpy-mild-kda]"),
    ("family: RWKV-7's two sides of the rank one change places", "gdn_ref/family/rwkv7.py",
     "v, kappa, a * kappa, log_w", "v, a * kappa, kappa, log_w",
     FAMILY, "test_a_published_rule_is_the_general_rule[numpy-mild-rwkv7]"),
    ("family: Comba erases as much as it writes", "gdn_ref/family/comba.py",
     "beta * v, beta * p, k", "beta * v, beta * k, k",
     FAMILY, "test_a_published_rule_is_the_general_rule[numpy-mild-comba]"),
    ("family: Mamba-2's input is not weighed by its step", "gdn_ref/family/mamba2.py",
     "dt[..., None] * x, zero", "x, zero",
     FAMILY, "test_a_published_rule_is_the_general_rule[numpy-mild-mamba2]"),
    ("family: a token of several steps decays at the last", "gdn_ref/family/delta_product.py",
     "g = at_step(0, n_h", "g = at_step(n_h - 1, n_h",
     FAMILY, "test_a_published_rule_is_the_general_rule[numpy-mild-delta_product]"),
    ("family: a decay that is too short broadcasts", "gdn_ref/family/general_rule.py",
     '"b": b, "g": g}', '"b": b}',
     FAMILY, "test_a_wrong_argument_is_named[-1-5-g-recurrent]"),
    ("ranks: maps join in the wrong order", "gdn_ref/distributed/tree.py",
     "torch.bmm(F, second[0])", "torch.bmm(second[0], F)",
     RANKS, "test_ranks_give_what_one_process_gives[3]"),
    ("ranks: what arrives in one work for all is not waited for", "gdn_ref/distributed/messages.py",
     "if each else []", "",
     RANKS, "test_what_arrives_is_waited_for[all]"),
    ("ranks: a state goes through the tree with an F", "gdn_ref/distributed/cost.py",
     "n < far)", "False)",
     EXCHANGES, "test_to_1024_ranks_and_sixteen_million_tokens"),
    ("ranks: a border within a rank is counted as a message", "gdn_ref/distributed/cost.py",
     "sum(p.rank != p.after.rank for p in chain[:-1])", "len(chain) - 1",
     EXCHANGES, "test_zigzag_on_eight_processes"),
    ("ranks: that one asks for a gradient and another does not goes unnoticed",
     "gdn_ref/distributed/convolution.py",
     "torch.is_grad_enabled() and x", "torch.is_grad_enabled() or x",
     RANKS, "test_wrong_or_different_arguments_raise_on_every_rank"),
    ("ranks: the maps of blocks join in the wrong order", "gdn_ref/distributed/response.py",
     "torch.bmm(F[before], F)", "torch.bmm(F, F[before])",
     RANKS, "test_ranks_give_what_one_process_gives[3]"),
    ("ranks: a block past the end of its piece takes steps", "gdn_ref/distributed/response.py",
     "x.masked_fill(past, 0) for x in (g, beta)", "x for x in (g, beta)",
     RANKS, "test_ranks_give_what_one_process_gives[3]"),
    ("compiled: without tokens the outputs are the values themselves",
     "gdn_ref/compiled_reference.py",
     "o.clone() if o.numel() == 0 else o", "o",
     COMPILED, "test_no_result_of_the_operator_lies_in_an_argument[64-0]"),
    ("sequences go all at once whatever is asked", "gdn_ref/ops.py",
     "reference.one_by_one if batch_invariant else reference.forward", "reference.forward",
     OPS, "test_batch_invariance_takes_one_sequence_at_a_time[chunk]"),
    ("a first state of 16 bits is taken for one that is ready", "kernels/rule.py",
     "torch.float32 if S is None else S.dtype)", "torch.float32)",
     OPS, "test_triton_promotes_mixed_dtypes[initial_state]"),
    ("kernel: queries are read where keys lie", "kernels/activations.py",
     "tensors = (q, k, g, beta, A_log, dt_bias)", "tensors = (k, q, g, beta, A_log, dt_bias)",
     ACTIVATIONS, "test_each_tensor_lies_in_its_own_way[0]"),
    ("a kernel is compiled without its options", "kernels/host/launch.py",
     "case, options or {}", "case, options and {}",
     "tests/kernels/test_launch.py", "test_the_case_and_options_go_to_the_compiler"),
    ("a kernel is compiled for one token, or for 32, alone", "kernels/host/launch.py",
     "*map(stand_in, numbers))", "*numbers)",
     "tests/kernels/test_launch.py", "test_one_compiled_kernel_does_for_all_numbers[32-3]"),
]  # fmt: skip


# Imports what takes long, and nothing of the project; then each line is a run of pytest in a fork.
RUNNER = """
import os, sys
import numpy, pytest, sympy, torch, triton
import array_api_compat.numpy, array_api_compat.torch, torch._dynamo, torch.testing
import triton.experimental.gluon.language.nvidia.hopper, triton.runtime.interpreter
import triton.backends.nvidia.driver
for line in sys.stdin:
    child = os.fork()
    if not child:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        os._exit(pytest.main(line.split()))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    copy = tmp_path_factory.mktemp("project")
    for name in ("gdn_ref", "kernels", "tests"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, copy / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


@pytest.fixture(scope="module")
def run(project):
    """`run(*tests)`: pytest on the copy, stopping at the first failure; its exit code."""
    environment = {**os.environ, "PYTHONPATH": str(project), "GDN_REQUIRE": ""}
    # two edits within a second may give files of one size: no compiled file must outlive them
    environment |= {"TRITON_INTERPRET": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", RUNNER],
        cwd=project, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:

        def run(*tests):
            print("-x -q -p no:cacheprovider", *tests, file=process.stdin, flush=True)
            return int(process.stdout.readline())

        yield run
        process.stdin.close()


@pytest.mark.interpreter
def test_the_code_as_it_stands_passes(run):
    assert run(*sorted({f"{file}::{test}" for *_, file, test in EDITS})) == pytest.ExitCode.OK


@pytest.mark.interpreter
@pytest.mark.parametrize("what, file, line, edited, tests, test", EDITS, ids=[e[0] for e in EDITS])
def test_an_edit_turns_a_test_red(project, run, what, file, line, edited, tests, test):
    source = (project / file).read_text()
    assert line in source, f"{file} no longer has the line: {line}"
    (project / file).write_text(source.replace(line, edited, 1))
    try:
        noticed = run(f"{tests}::{test}")
    finally:
        (project / file).write_text(source)
    assert noticed == pytest.ExitCode.TESTS_FAILED, f"nothing noticed: {what}"
