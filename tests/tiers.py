"""Which tests run when: the one place that says so.

    make check      core    operators, layers, family, ranks, and each launch of the kernels in the
                            interpreters: under 90 s on 2 cores
    make test       rest    besides those, all that have found a mistake made on purpose: under 10
                            minutes
    make test-all   book    besides those, figures, prose and records, proofs, exercises, browser,
                            package, edits of the code, kernels compiled ahead of time

A name below stands for all tests whose address begins with it, and the longest name decides. Tests
without a name are in the middle. Modules of which no test is wanted are not even imported.
"""

CORE, REST, BOOK = "core", "rest", "book"

KERNELS = "tests/kernels/"
TIERS = {
    CORE: (
        "tests/test_backward.py",
        "tests/test_convolution.py",
        "tests/test_decoding.py",
        "tests/test_distributed.py",
        "tests/test_drop_in.py",
        "tests/test_exchange_cost.py",
        "tests/test_family.py",
        "tests/test_family.py::test_a_published_rule_is_the_general_rule[numpy-mild",
        "tests/test_fences.py",
        "tests/test_gate_parameters.py",
        "tests/test_house.py",
        "tests/test_integration_transformers.py::test_hooks_of_accelerate",
        "tests/test_integration_transformers.py::test_logits_of_a_whole_pass",
        "tests/test_integration_transformers.py::test_only_ours_is_called[Qwen3NextForCausalLM]",
        "tests/test_layers.py",
        "tests/test_modular.py",
        "tests/test_ops.py",
        "tests/test_parity.py",
        "tests/test_reference.py",
        "tests/test_response.py",
        "tests/test_tiers.py",
        "tests/test_types.py",
        "tests/test_validation.py",
        "tests/test_compiled.py::test_no_result_of_the_operator_lies_in_an_argument",
        "tests/test_compiled.py::test_one_graph_for_any_length[False-chunk]",
        "tests/test_compiled.py::test_transforms_inside_of_compiled_code[jvp]",
        KERNELS + "test_activations.py",
        KERNELS + "test_backward.py::test_any_length_and_chunk_size",
        KERNELS + "test_backward.py::test_packed_sequences",
        KERNELS + "test_backward.py::test_resets_and_strong_decays[16]",
        KERNELS + "test_backward.py::test_tokens_that_write_nothing",
        KERNELS + "test_backward.py::test_pieces_take_no_more_waves_than_the_batch",
        KERNELS + "test_causal_conv.py::test_a_state_that_reaches_into_a_second_tile",
        KERNELS + "test_causal_conv.py::test_any_length_with_less",
        KERNELS + "test_causal_conv.py::test_gradients_with_less",
        KERNELS + "test_causal_conv.py::test_update_moves_inputs_and_keeps_every_bit",
        KERNELS + "test_compile.py::test_one_graph_gives_the_same[True-True-False]",
        KERNELS + "test_exact.py::test_decoding_from_a_pool",
        KERNELS + "test_exact.py::test_token_by_token",
        KERNELS + "test_exact_conv.py",
        KERNELS + "test_first.py::test_any_length",
        KERNELS + "test_first.py::test_float16",
        KERNELS + "test_forward.py::test_a_call_is_not_taken_for_one_whose_tensors_lie_otherwise",
        KERNELS + "test_forward.py::test_a_head_of_a_packed_sequence_does_not_see_its_neighbours",
        KERNELS + "test_forward.py::test_any_length_and_chunk_size[1-",
        KERNELS + "test_forward.py::test_any_length_and_chunk_size[17-",
        KERNELS + "test_forward.py::test_shares_of_a_sequence_are_the_sequence[None]",
        KERNELS + "test_forward.py::test_strong_decays_leave_the_weak_ones_exact",
        KERNELS + "test_forward.py::test_resets_and_strong_decays",
        KERNELS + "test_gradient_groups.py",
        KERNELS + "test_hopper.py::test_gradients[256-64-64]",
        KERNELS + "test_hopper.py::test_segments_of_a_long_sequence[64-None]",
        KERNELS + "test_hopper.py::test_what_a_training_call_returns",
        KERNELS + "test_hopper.py::test_whole_and_short_chunks",
        KERNELS + "test_launch.py",
        KERNELS + "test_recurrent.py::test_the_tiles_of_a_warp",
        KERNELS + "test_recurrent.py::test_a_gate_hardly_open_still_decays",
        KERNELS + "test_recurrent.py::test_any_head_dimension[12-7",
        KERNELS + "test_recurrent.py::test_any_strides",
        KERNELS + "test_recurrent.py::test_decays_of_channels[12-7",
        KERNELS + "test_recurrent.py::test_fused_recurrent_with_activations_inside",
        KERNELS + "test_shards.py::test_it_is_that_of_pytorch[contiguous-dtype0]",
        KERNELS + "test_shards.py::test_what_may_grow_is_in_the_bound",
        KERNELS + "test_stages.py",
        KERNELS + "test_whole_chunks.py",
    ),
    REST: (  # dear tests of cheap modules
        "tests/test_decoding.py::test_a_pool_of_16_bits_drifts",
        "tests/test_decoding.py::test_one_graph_decodes_in_place",
        "tests/test_distributed.py::test_ranks_give_what_one_process_gives[4]",
        "tests/test_distributed.py::test_ranks_give_what_one_process_gives[8]",
        "tests/test_exchange_cost.py::test_eight_processes_send_what_the_model_says_and_when",
        "tests/test_exchange_cost.py::test_zigzag_on_eight_processes",
        "tests/test_family.py::test_a_published_rule_is_the_general_rule",
        "tests/test_layers.py::test_gradients_of_everything",
        "tests/test_layers.py::test_one_graph_with_and_without_a_cache",
        "tests/test_ops.py::test_every_switch_of_pytorch_for_float32_products_may_be_set",
        "tests/test_ops.py::test_traced_with_sizes_that_are_symbols",
        KERNELS + "test_activations.py::test_what_is_kept_may_come_back",
    ),
    BOOK: (
        "tests/book/",
        "tests/exercises/",
        "tests/printed/",
        "tests/test_ahead_of_time.py",
        "tests/test_algorithm_boxes.py",
        "tests/test_answers.py",
        "tests/test_browser.py",
        "tests/test_code_mutants.py",
        "tests/test_code_on_pages.py",
        "tests/test_crosswalk.py",
        "tests/test_errata_figures.py",
        "tests/test_examples.py",
        "tests/test_exercises.py",
        "tests/test_experiments.py",
        "tests/test_figures_ch",
        "tests/test_formal.py",
        "tests/test_mutants_on_easy_data.py",
        "tests/test_notation.py",
        "tests/test_package.py",
        "tests/test_proofs.py",
        "tests/test_proofs_without.py",
        "tests/test_publishing.py",
        "tests/test_traced.py",
        KERNELS + "test_aot.py",
        KERNELS + "test_bench.py",
        KERNELS + "test_device_record.py",
        KERNELS + "test_exact_record.py",
        KERNELS + "test_launch.py::test_both_ways_hand_over_the_same",
        KERNELS + "test_sanitize.py",
        KERNELS + "test_sanitizer_limits.py",
    ),
}
OF = {name: tier for tier, names in TIERS.items() for name in names}


def tier(test):
    """The tier of the test at this address, `tests/FILE.py::NAME[VALUES]`."""
    names = [name for name in OF if test.startswith(name)]
    return OF[max(names, key=len)] if names else REST


def may_have(wanted, path):
    """Whether the module at this path has tests of the tier `wanted`, as far as its name tells."""
    return tier(path) == wanted or any(name.startswith(path) for name in OF if OF[name] == wanted)


def unwanted(expression, path):
    """Whether pytest's `-m expression` leaves nothing of the test module at this path."""
    terms = expression.split(" and ")
    if CORE in terms:
        return not may_have(CORE, path)
    return f"not {BOOK}" in terms and not (may_have(CORE, path) or may_have(REST, path))
