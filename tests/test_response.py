"""How far into a piece the state before it is felt: the bound, and what is left out beyond it."""

import math
from unittest.mock import patch

import pytest
import torch
from tolerances import FORMS, relative_error
from torch.utils._python_dispatch import TorchDispatchMode

import gdn_ref
from gdn_ref import distributed
from gdn_ref.distributed import CPContext, felt, local, response, rule

F64 = {"dtype": torch.float64}
OPTIONS = {
    "scale": None, "chunk_size": 16, "backend": "reference", "use_qk_l2norm_in_kernel": True,
    "use_gate_in_kernel": False, "use_beta_sigmoid_in_kernel": False, "allow_neg_eigval": False,
}  # fmt: skip
T, H, HV, K, V = 300, 2, 4, 6, 5


@pytest.fixture(autouse=True, params=[40, 1024])
def small_blocks(request, monkeypatch):
    """Of bounds, and of runs: up to eight a span, the last one not whole, or one."""
    monkeypatch.setattr(response, "block_length", lambda n: min(n, request.param))
    monkeypatch.setattr(felt, "BLOCK", 64)


def tokens(decays, most=1.0, size=1.0):
    """Decays by value head, strengths up to `most`, keys of this size."""
    torch.manual_seed(0)
    q, k = size * torch.randn(2, 1, T, H, K, **F64)
    v, beta = torch.randn(1, T, HV, V, **F64), most * torch.rand(1, T, HV, **F64)
    return q, k, v, torch.tensor(decays, **F64).expand(1, T, HV).contiguous(), beta


def responded(tokens, **options):
    """Of the second of two ranks, to which a state comes: its `Response`, and its piece."""
    cp = CPContext.alone(torch.tensor([0, 2 * T]), 1, 2)
    options, dtype = {**OPTIONS, **options}, torch.float64
    bounds = felt.Bounds(options, tokens, {}, cp, dtype)
    return response.respond(options, tokens, bounds, dtype), cp


def carried(tokens, **options):
    """F_t q_t and the last F, token by token: the rule without values, from the identity."""
    q, k, v, g, beta = tokens
    one = torch.eye(K, **F64).expand(1, HV, K, K)
    return gdn_ref.fused_recurrent_gated_delta_rule(
        q, k, v.new_zeros(1, T, HV, K), g=g, beta=beta, initial_state=one,
        output_final_state=True, state_v_first=True, **options,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("decays", "counts"),
    [
        ((-0.5, -0.3, -2.0, -math.inf), [[128, 128, 64, 64]]),  # to exp(-37.4), eps / 4
        ((-0.01, -3.0, -3.0, -0.2), [[300, 64, 64, 192]]),
        ((0.0, 0.0, 0.0, 0.0), [[300] * 4]),
    ],
)
def test_a_head_is_answered_for_as_long_as_it_feels_the_state(decays, counts):
    given = tokens(decays)
    found, _ = responded(given)
    assert found.tokens == counts
    O, F = carried(given, use_qk_l2norm_in_kernel=True)
    forgotten = torch.tensor(counts[0]) < T
    assert not found.F[forgotten].any()
    assert relative_error(found.F[~forgotten], F[0, ~forgotten]) <= FORMS or forgotten.all()
    left = O.clone()
    read = torch.zeros(T * HV, K, **F64)
    read = read.index_add_(0, found.at.flatten(), found.O_F.flatten(0, 1)).view(T, HV, K)
    for h, n in enumerate(counts[0]):
        assert relative_error(read[:n, h], O[0, :n, h]) <= FORMS
        left[0, :n, h] = 0
    assert left.norm() <= torch.finfo(torch.float64).eps * O.norm()  # what nobody answers for


@pytest.mark.parametrize(
    ("most", "size", "options"),
    [
        (1.0, 1.0, {"use_qk_l2norm_in_kernel": True}),
        (2.0, 1.0, {"use_qk_l2norm_in_kernel": True}),
        (3.0, 1.0, {"use_qk_l2norm_in_kernel": True}),  # a factor may be -2
        (1.0, 2.0, {"use_qk_l2norm_in_kernel": False}),  # keys of length 5
    ],
)
def test_nothing_is_left_out_that_grows_again(most, size, options):
    """The decays alone end it after 150 tokens; what may grow is in the bound."""
    given = tokens((-0.25,) * HV, most, size)
    found, _ = responded(given, **options)
    _, F = carried(given, **options)
    felt = torch.tensor(found.tokens[0]) == T
    assert felt.all() == (most > 2 or size > 1)
    error = (found.F - F).norm() / F.norm() if felt.all() else F.norm()
    assert error <= 1e-12


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_outputs_of_16_bits_feel_a_state_for_less_long(dtype):
    """exp(-6.2) is 1/4 of bfloat16's rounding, exp(-17.3) of float32's."""
    q, k, v, g, beta = tokens((-0.05, -0.05, -0.1, -0.1))
    given = [x.to(dtype) for x in (q, k, v)] + [g.float(), beta.float()]
    bounds = felt.Bounds(OPTIONS, given, {}, responded((q, k, v, g, beta))[1], torch.float32)
    eps = [torch.finfo(x).eps / 4 for x in (torch.float32, dtype)]
    assert bounds.answered(*eps) == (
        [[300, 300, 192, 192]] if dtype == torch.float32 else [[300, 300, 64, 64]]
    )


def test_the_gradient_of_the_state_is_the_product_with_what_is_read_of_it():
    given = tokens((-0.01, -3.0, -3.0, -0.2))
    found, _ = responded(given)
    do = torch.randn(1, T, HV, V, **F64)
    O, _ = carried(given, use_qk_l2norm_in_kernel=True)
    assert (
        relative_error(found.product(do, torch.float64), torch.einsum("thv,thk->hvk", do[0], O[0]))
        <= FORMS
    )


LENGTH_OF_BLOCKS = response.block_length


@pytest.mark.parametrize(
    ("longest", "length"),
    [(1, 1), (1024, 1024), (1025, 576), (10_001, 2560), (2**17, 10_944), (2**26, 2**18)],
)
def test_blocks_are_whole_chunks_and_neither_many_nor_too_long(longest, length):
    """Some sqrt(longest) / 32 of them, since their maps are joined one after the other. The kernels
    of a span have a row of programs for each block, of at least 8 tokens: an axis of the grid that
    holds 65,535 of them."""
    assert LENGTH_OF_BLOCKS(longest) == length
    assert length / 8 < 2**16


def test_a_number_that_is_none_is_felt():
    q, k, v, g, beta = tokens((-3.0,) * HV)
    g[0, 100, 0] = math.nan
    found, _ = responded((q, k, v, g, beta))
    assert found.tokens == [[300, 64, 64, 64]]


class Calls(TorchDispatchMode):
    """How often PyTorch is called, views included: what the host takes time for."""

    count = 0

    def __torch_dispatch__(self, call, types, given=(), named=None):
        self.count += 1
        return call(*given, **(named or {}))


@pytest.mark.parametrize("heads", [1, 16])
def test_few_calls_between_the_exchanges_however_many_heads(heads):
    """From the state that has come to the end of the forward pass, and from the start of the
    backward pass to what is sent back: meanwhile the devices of both ranks wait for this host."""
    torch.manual_seed(0)
    cp = CPContext.alone(torch.tensor([0, 2 * T]), 1, 2)
    q, k, v = torch.randn(3, 1, T, heads, K, **F64)
    given = [q, k, v, -torch.rand(1, T, heads, **F64), torch.rand(1, T, heads, **F64)]
    for x in given:
        x.requires_grad_()
    calls, exchanges = Calls(), []

    def incoming(cp, maps, like, reverse=False):
        exchanges.append(calls.count)
        return {} if reverse else {0: torch.zeros_like(like)}

    with patch.object(rule, "incoming", incoming), calls:
        o, _ = distributed.chunk_gated_delta_rule(
            *given, cp_context=cp, use_qk_l2norm_in_kernel=True, output_final_state=True
        )
        ended = calls.count
        torch.autograd.grad(o, given, torch.ones_like(o))
    after, before = ended - exchanges[0], exchanges[1] - ended
    assert after <= 20 and before <= 20, (after, before)


@pytest.mark.parametrize("heads", [1, 16])
@pytest.mark.parametrize("decay", [-5.0, -0.2, 0.0])
def test_few_calls_for_what_is_felt_however_many_heads(decay, heads):
    """The run of the rule apart: 40 calls, of which 11 for the bounds.

    Eight blocks join in three rounds. What may pass the end of a piece takes seven calls more.
    """
    torch.manual_seed(0)
    cp = CPContext.alone(torch.tensor([0, 2 * T]), 1, 2)
    q, k = torch.randn(2, 1, T, heads, K, **F64)
    v, beta = torch.randn(1, T, 2 * heads, V, **F64), torch.rand(1, T, 2 * heads, **F64)
    given = q, k, v, torch.full((1, T, 2 * heads), decay, **F64), beta
    o, S = torch.zeros_like(v), torch.zeros(1, 2 * heads, V, K, **F64)
    respond, correct, apart = Calls(), Calls(), Calls()

    def run(*arguments):
        with apart:
            return local.run(*arguments)

    with patch.object(response, "run", run), respond:
        bounds = felt.Bounds(OPTIONS, given, {}, cp, torch.float64)
        found = response.respond(OPTIONS, given, bounds, torch.float64)
    with correct:
        found.correct(o, S)
    ends = 7 if found.tokens == [[T] * 2 * heads] else 0
    assert respond.count - apart.count <= 40 + ends, respond.count - apart.count
    assert correct.count <= 8, correct.count


@pytest.mark.parametrize("gradient", [True, False])
def test_only_for_a_backward_pass_anything_is_kept(gradient):
    """Tensors that ask for a gradient do so under `no_grad`, too: the kernels of a forward pass
    alone are faster, and a function of autograd does not see which of them are wanted."""
    given = [x.requires_grad_() for x in tokens((-0.3,) * HV)]
    cp = CPContext.alone(torch.tensor([0, T]), 0, 1)
    with patch.object(rule, "run", wraps=rule.run) as run, torch.set_grad_enabled(gradient):
        distributed.chunk_gated_delta_rule(*given, cp_context=cp, use_qk_l2norm_in_kernel=True)
    *_, keep = run.call_args.args
    assert keep == gradient


def test_the_device_begins_before_the_ranks_compare_their_arguments():
    """But not with arguments that this rank itself refuses."""
    given, happened = tokens((-0.3,) * HV), []
    cp = CPContext.alone(torch.tensor([0, T]), 0, 1)

    def noting(name):
        function = getattr(rule, name)
        return lambda *given: happened.append(name) or function(*given)

    with patch.multiple(rule, **{name: noting(name) for name in ("run", "tell", "incoming")}):
        distributed.chunk_gated_delta_rule(*given, cp_context=cp)
        assert happened == ["run", "tell", "incoming"]
        with pytest.raises(ValueError, match="chunk_size"):
            distributed.chunk_gated_delta_rule(*given, cp_context=cp, chunk_size=-1)
        assert happened[3:] == ["tell"]


def test_a_call_that_looks_like_one_before_is_not_checked_again_but_any_other_is():
    given = tokens((-0.3,) * HV)
    cp, other = (CPContext.alone(torch.tensor(ends), 0, 1) for ends in ([0, T], [0, 9, T]))
    state = torch.zeros(1, HV, K, V, **F64)

    def call(*given, cp_context=cp, **options):
        return distributed.chunk_gated_delta_rule(*given, cp_context=cp_context, **options)

    call(*given, initial_state=state)
    with patch.object(rule.validation, "check_tensors") as checks:
        call(*(x + 0 for x in given), initial_state=state)
        assert not checks.called
    with pytest.raises(ValueError, match="initial_state"):
        call(*given, initial_state=state, cp_context=other)
    with pytest.raises(ValueError, match="initial_state"):
        call(*given, initial_state=state.expand(2, -1, -1, -1))
    with pytest.raises(ValueError, match=f"T = {T}"):
        call(*(x[:, 1:] for x in given), initial_state=state)
    with pytest.raises(TypeError, match="use_qk_l2norm_in_kernel"):
        call(*given, initial_state=state, use_qk_l2norm_in_kernel=0)
