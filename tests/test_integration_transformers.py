"""gdn_ref inside models of transformers: same logits, same tokens, in and out without a trace.

The models are small and random. Expected results come from transformers' plain PyTorch operators:
where flash-linear-attention is installed, transformers calls that, even on a CPU, where it fails.
"""

import copy
import functools
import importlib.util
import inspect
import io
import subprocess
import sys
from pathlib import Path
from types import MethodType

import pytest
import torch
from tolerances import KERNEL_TF32, relative_error

from gdn_ref.integrations import transformers as integration
from gdn_ref.integrations.transformers import remove_gdn_ref, use_gdn_ref

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

LOGITS = 1e-4  # largest difference, float32
BFLOAT16 = 2e-2  # relative; the same rounding, at other places
NAMES = list(integration.OPERATORS)

GRID = {
    "linear_num_key_heads": 2, "linear_num_value_heads": 4,
    "linear_key_head_dim": 16, "linear_value_head_dim": 8,
}  # fmt: skip
SIZE = {
    "vocab_size": 61, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "pad_token_id": 0, "eos_token_id": 1,
    "initializer_range": 0.2, **GRID,
}  # fmt: skip
TEXT = {**SIZE, "head_dim": 16}
EXPERTS = {
    "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16,
    "shared_expert_intermediate_size": 16,
}  # fmt: skip
VISION = {
    "depth": 1, "hidden_size": 16, "intermediate_size": 16, "num_heads": 2,
    "out_hidden_size": 32, "num_position_embeddings": 16,
}  # fmt: skip
SPARSE = {  # Qwen4-Exp's attention looks at chosen tokens, and its layers at n-grams; another gate
    "indexer_n_heads": 2, "indexer_kv_heads": 1, "indexer_head_dim": 16, "indexer_budget": 16,
    "indexer_compress_ratio": 4, "hc_count": 2, "hc_lowrank": 8, "ple_layer_ids": [1],
    "ngram_vocab_size_base": 50, "heads_per_ngram": 2, "make_ngram_vocab_size_divisible_by": 4,
    "split_ngram_parts": 1, "output_gate_type": "sigmoid",
}  # fmt: skip
IMAGE_TOKENS = dict(
    zip(
        ("image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id"),
        range(57, 61),
        strict=True,
    )
)
MODELS = {  # class -> (folder, configuration class, its arguments)
    "Qwen3NextForCausalLM": ("qwen3_next", "Qwen3NextConfig", {**TEXT, **EXPERTS}),
    "Qwen3_5ForCausalLM": ("qwen3_5", "Qwen3_5TextConfig", TEXT),
    "Qwen3_5ForConditionalGeneration": (
        "qwen3_5", "Qwen3_5Config", {"text_config": TEXT, "vision_config": VISION, **IMAGE_TOKENS},
    ),
    "Qwen3_5MoeForCausalLM": ("qwen3_5_moe", "Qwen3_5MoeTextConfig", {**TEXT, **EXPERTS}),
    "Qwen3_5MoeForConditionalGeneration": (
        "qwen3_5_moe", "Qwen3_5MoeConfig",
        {"text_config": {**TEXT, **EXPERTS}, "vision_config": VISION, **IMAGE_TOKENS},
    ),
    "Qwen4ExpForCausalLM": ("qwen4_exp", "Qwen4ExpTextConfig", {**TEXT, **EXPERTS, **SPARSE}),
    "OlmoHybridForCausalLM": ("olmo_hybrid", "OlmoHybridConfig", SIZE),
}  # fmt: skip
EVERY_MODEL = pytest.mark.parametrize("name", MODELS)


def modeling(name):
    folder = MODELS[name][0]
    return importlib.import_module(f"transformers.models.{folder}.modeling_{folder}")


def build(name="Qwen3NextForCausalLM", seed=0):
    """A small random model whose layers remember: slow decays, so that chunks matter."""
    torch.manual_seed(seed)
    module, (folder, config, arguments) = modeling(name), MODELS[name]
    configuration = importlib.import_module(f"transformers.models.{folder}.configuration_{folder}")
    model = getattr(module, name)(getattr(configuration, config)(**arguments)).eval()
    for layer in linear_layers(model):
        with torch.no_grad():
            layer.A_log.uniform_(-5, -2)
            layer.dt_bias.uniform_(-1, 0)
    return model


def linear_layers(model):
    return [x for x in model.modules() if hasattr(x, "A_log")]


def prompts():
    """Three left-padded prompts over two chunks, and their mask."""
    ids = torch.randint(2, 57, (3, 70), generator=torch.Generator().manual_seed(1))
    mask = torch.ones_like(ids)
    mask[0, :9], mask[1, :66] = 0, 0
    return torch.where(mask == 1, ids, 0), mask


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    """transformers computes with its own PyTorch functions, whatever else is installed."""
    for name in MODELS:
        for operator in NAMES:
            function = inspect.unwrap(getattr(modeling(name), operator))
            monkeypatch.setattr(modeling(name), operator, function)


@pytest.fixture
def broken(monkeypatch):
    """transformers' operators fail, as flash-linear-attention does for CPU tensors."""

    def fail(query, key, value, g, beta, **kwargs):
        raise AssertionError("transformers' own operator was called")

    for name in MODELS:
        for operator in NAMES:
            monkeypatch.setattr(modeling(name), operator, fail)


def generated(model, **options):
    ids, mask = prompts()
    out = model.generate(
        ids, attention_mask=mask, max_new_tokens=8, min_new_tokens=8, do_sample=False,
        return_dict_in_generate=True, output_logits=True, **options,
    )  # fmt: skip
    return out.sequences, torch.stack(out.logits)


@torch.no_grad()
def logits(model):
    ids, mask = prompts()
    return model(ids, attention_mask=mask, use_cache=False).logits[mask == 1]


def largest(actual, expected):
    assert actual.shape == expected.shape and actual.isfinite().all()
    return (actual - expected).abs().max().item()


@EVERY_MODEL
@pytest.mark.parametrize(
    "options",
    [{"use_cache": True}, {"use_cache": False}, {"num_beams": 3}],
    ids=["cache", "no cache", "beams"],
)
def test_generation(name, options):
    model = build(name)
    tokens, expected = generated(model, **options)
    with use_gdn_ref(model):
        ours, actual = generated(model, **options)
    assert torch.equal(ours, tokens)
    assert largest(actual, expected) < LOGITS
    assert expected.std() > 0.1  # a model that answers the same to everything proves nothing


@EVERY_MODEL
def test_logits_of_a_whole_pass(name):
    model = build(name)
    expected = logits(model)
    with use_gdn_ref(model):
        assert largest(logits(model), expected) < LOGITS


@pytest.fixture
def operators(monkeypatch):
    """`operators(wrap)` lets the swap use `wrap(function)` in place of each of our functions."""

    def use(wrap):
        wrapped = {name: functools.wraps(f)(wrap(f)) for name, f in integration.OPERATORS.items()}
        monkeypatch.setattr(integration, "OPERATORS", wrapped)

    integration.swapped_class.cache_clear()
    yield use
    integration.swapped_class.cache_clear()


@EVERY_MODEL
@pytest.mark.parametrize("wrong", ["g", "beta", "query", "initial_state"])
def test_a_wrong_operator_shows(name, wrong, operators):
    """These models and prompts are such that the tests above can fail."""
    model = build(name)
    _, expected = generated(model)

    def spoil(function):
        def spoilt(query, key, value, **options):
            if wrong == "query":
                query = 0.9 * query.roll(1, dims=-1)
            elif options[wrong] is not None:
                options[wrong] = 0.9 * options[wrong]
            return function(query, key, value, **options)

        return spoilt

    operators(spoil)
    with use_gdn_ref(model):
        _, actual = generated(model)
    assert (actual - expected).abs().max() > 10 * LOGITS


@EVERY_MODEL
def test_only_ours_is_called(name, broken, operators):
    """Prefill by the chunk form, steps by the recurrent one; as with fla installed on a CPU."""
    calls = []

    def count(function):
        def counted(*tensors, **options):
            calls.append(function.__name__)
            return function(*tensors, **options)

        return counted

    operators(count)
    model = build(name)
    with use_gdn_ref(model):
        generated(model)
    layers = len(linear_layers(model))
    prefill, step = "chunk_gated_delta_rule", "fused_recurrent_gated_delta_rule"
    assert layers == 3 and calls == layers * [prefill] + 7 * layers * [step]
    with pytest.raises(AssertionError, match="own operator"):
        logits(model)


@EVERY_MODEL
def test_a_prompt_in_pieces(name):
    """A second piece of several tokens starts from the cache's state."""
    model = build(name)
    ids, _ = prompts()

    @torch.no_grad()
    def run():
        first = model(ids[:, :40], use_cache=True)
        second = model(ids[:, 40:], past_key_values=first.past_key_values, use_cache=True)
        states = [
            layer.recurrent_states[0]
            for layer in second.past_key_values.layers
            if getattr(layer, "recurrent_states", None)
        ]
        return second.logits, torch.stack(states)

    expected, states = run()
    with use_gdn_ref(model):
        actual, ours = run()
    assert largest(actual, expected) < LOGITS
    assert ours.dtype == torch.float32 and ours.shape[2:] == (4, 16, 8)  # [.., HV, K, V]
    assert relative_error(ours, states) < 1e-5


@EVERY_MODEL
def test_gradients(name):
    ids, mask = prompts()
    model = build(name).train()

    def gradients():
        model.zero_grad()
        model(ids, attention_mask=mask, labels=ids, use_cache=False).loss.backward()
        return {k: p.grad.clone() for k, p in model.named_parameters() if p.grad is not None}

    expected = gradients()
    with use_gdn_ref(model):
        actual = gradients()
    assert actual.keys() == expected.keys()
    for key, gradient in expected.items():
        assert relative_error(actual[key], gradient) < 1e-4, key


@EVERY_MODEL
def test_bfloat16(name):
    model = build(name).bfloat16()
    expected = logits(model)
    with use_gdn_ref(model):
        actual = logits(model)
    assert actual.dtype == torch.bfloat16
    assert relative_error(actual.float(), expected.float()) < BFLOAT16


def test_packed_sequences_do_not_see_each_other():
    """With a convolution that looks at one token only, packed equals separate."""
    layer = linear_layers(build())[0]
    hidden = torch.randn(1, 90, 32)
    with torch.no_grad():
        layer.conv1d.weight[..., :-1] = 0
        with use_gdn_ref(layer):
            packed = layer(hidden, cu_seq_lens_q=torch.tensor([0, 37, 90]), max_length_q=53)
            separate = torch.cat([layer(hidden[:, :37]), layer(hidden[:, 37:])], dim=1)
    assert relative_error(packed, separate) < 1e-6


@EVERY_MODEL
def test_in_and_out_again(name):
    """The first objects are back, weights never move, another model does not notice."""
    model, other = build(name), build(name)
    layers = linear_layers(model)
    classes, attributes = [type(x) for x in layers], [set(vars(x)) for x in layers]
    forward = layers[0].forward.__func__
    weights = model.state_dict()
    swap = use_gdn_ref(model)
    assert swap.model is model and not any(type(x) in classes for x in layers)
    assert all(isinstance(x, c) for x, c in zip(layers, classes, strict=True))
    assert [type(x) for x in linear_layers(other)] == classes  # the model beside it
    assert model.state_dict().keys() == weights.keys()
    for key, weight in model.state_dict().items():
        assert weight.data_ptr() == weights[key].data_ptr(), key
    for _ in range(2):  # a second removal does nothing
        swap.remove()
        assert [type(x) for x in layers] == classes
    assert [set(vars(x)) for x in layers] == attributes
    assert layers[0].forward.__func__ is forward


def test_an_error_inside_with_removes_too():
    model = build()
    before = type(linear_layers(model)[0])
    with pytest.raises(KeyError), use_gdn_ref(model) as same:
        assert same is model
        raise KeyError
    assert type(linear_layers(model)[0]) is before


def saved_and_loaded(model):
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@EVERY_MODEL
@pytest.mark.parametrize("copied", [copy.deepcopy, saved_and_loaded])
def test_a_copy_keeps_the_swap(name, copied):
    if copied is saved_and_loaded and transformers.utils.is_kernels_available():
        pytest.skip("transformers' models do not pickle where `kernels` is installed")
    model = build(name)
    expected = logits(model)
    swap = use_gdn_ref(model, backend="reference")
    twin = copied(model)
    swap.remove()
    before, after = linear_layers(model)[0], linear_layers(twin)[0]
    assert after.theirs is type(before) and after.backend == "reference"
    assert after.A_log is not before.A_log
    assert largest(logits(twin), expected) < LOGITS
    remove_gdn_ref(twin)
    assert type(after) is type(before)
    assert torch.equal(logits(twin), expected)


def test_save_pretrained_writes_an_ordinary_model(tmp_path):
    model = build()
    with use_gdn_ref(model):
        model.save_pretrained(tmp_path)
    loaded = type(model).from_pretrained(tmp_path)
    assert torch.equal(logits(loaded), logits(model))
    assert "gdn_ref" not in (tmp_path / "config.json").read_text()


@pytest.mark.filterwarnings("ignore:Dynamo detected")
def test_compiled():
    model = build("Qwen3_5ForCausalLM")
    expected = logits(model)
    with use_gdn_ref(model):
        compiled = torch.compile(model, backend="eager")
        assert largest(logits(compiled), expected) < LOGITS
    torch.compiler.reset()


def hook(layer):
    """What accelerate does to a layer that it moves between devices."""
    layer._old_forward = layer.forward
    layer.forward = functools.update_wrapper(
        lambda *inputs, **options: layer._old_forward(*inputs, **options), layer._old_forward
    )


def unhook(layer):
    layer.forward = layer._old_forward
    del layer._old_forward


def test_hooks_of_accelerate(broken):
    """Added before or after the swap, taken off before or after its removal: ours is called."""
    model = build()
    (layer, *_) = layers = linear_layers(model)
    for x in layers:
        hook(x)
    swap = use_gdn_ref(model)
    logits(model)
    for x in layers:
        unhook(x)
    logits(model)
    swap.remove()
    assert layer.forward.__func__ is type(layer).forward
    with pytest.raises(AssertionError, match="own operator"):
        logits(model)
    swap = use_gdn_ref(model)
    for x in layers:
        hook(x)
    logits(model)
    swap.remove()
    with pytest.raises(AssertionError, match="own operator"):
        logits(model)


def test_the_decorator_of_forward_stays():
    """transformers fires the hook of the convolution itself, whose weight the layer reads."""
    layer = linear_layers(build())[0]
    seen = []

    class Hook:
        def pre_forward(self, module):
            seen.append(module)

        def post_forward(self, module, output):
            return output

    layer.conv1d._hf_hook = Hook()
    with use_gdn_ref(layer):
        layer(torch.randn(1, 5, 32))
    assert seen == [layer.conv1d]


def test_a_function_with_other_names():
    def decorated(function):
        return functools.wraps(function)(lambda *values, **named: [function(*values, **named)])

    @decorated
    def three(a, b=2, *, c=3):
        return NAMES, a, b, c

    copied = integration.with_names(three, {"NAMES": "other"})
    assert copied(1) == [("other", 1, 2, 3)] and three(1) == [(NAMES, 1, 2, 3)]
    three.__wrapped__ = test_generation
    with pytest.raises(RuntimeError, match="a decorator of .*three is unknown"):
        integration.with_names(three, {})


@pytest.mark.parametrize("backend", ["auto", "reference", "triton"])
def test_the_backend_is_passed_on(backend, operators):
    seen = set()

    def watch(function):
        def watched(*tensors, backend, **options):
            seen.add(backend)
            return function(*tensors, backend="reference", **options)

        return watched

    operators(watch)
    model = build()
    with use_gdn_ref(model, backend=backend):
        generated(model)
    assert seen == {backend}


@pytest.mark.gpu
@EVERY_MODEL
def test_on_a_gpu(name):
    """Triton's operators, beside transformers' plain ones on the same device."""
    ids, mask = (x.cuda() for x in prompts())

    @torch.no_grad()
    def run(model):
        first = model(ids[:, :-1], attention_mask=mask[:, :-1], use_cache=True)
        cache = first.past_key_values
        step = model(ids[:, -1:], attention_mask=mask, past_key_values=cache, use_cache=True)
        return torch.cat([first.logits, step.logits], dim=1)[mask == 1].float().cpu()

    model = build(name).cuda()
    expected = run(model)
    with use_gdn_ref(model, backend="triton"):
        assert relative_error(run(model), expected) < KERNEL_TF32

    model = build(name).to("cuda", torch.bfloat16)  # small random models make much of roundings
    exact = run(build(name).to("cuda", torch.bfloat16).float())
    theirs = relative_error(run(model), exact)
    with use_gdn_ref(model, backend="triton"):
        assert relative_error(run(model), exact) < 2 * theirs


# What is refused, and that a refusal changes nothing


def refused(model, error, match, **options):
    before = [type(x) for x in model.modules()]
    with pytest.raises(error, match=match):
        use_gdn_ref(model, **options)
    assert [type(x) for x in model.modules()] == before


def test_a_second_swap():
    model = build()
    with use_gdn_ref(model):
        refused(model, ValueError, "expected one without gdn_ref")
    with use_gdn_ref(model):
        pass


def test_every_such_layer_of_transformers_is_known():
    folder = Path(transformers.__file__).parent / "models"
    files = [path for path in folder.glob("*/modeling_*.py") if NAMES[0] in path.read_text("utf-8")]
    assert {path.parent.name for path in files} == set(integration.LAYERS)


def test_a_model_without_such_layers():
    refused(torch.nn.Linear(2, 2), ValueError, "expected Gated DeltaNet layers.*got Linear")
    subclass = type("Mine", (type(linear_layers(build())[0]),), {})
    layer = linear_layers(build())[0]
    layer.__class__ = subclass
    refused(layer, ValueError, "got Mine, which has none")


@pytest.mark.parametrize("call", [use_gdn_ref, remove_gdn_ref])
def test_no_model(call):
    with pytest.raises(TypeError, match="model: expected a torch.nn.Module, got str"):
        call("Qwen/Qwen3-Next-80B-A3B-Instruct")


@pytest.mark.parametrize(
    "backend, error", [("fla", ValueError), (None, TypeError)], ids=["unknown", "no string"]
)
def test_a_backend(backend, error):
    refused(build(), error, "backend", backend=backend)


@pytest.fixture
def unchecked():
    """No class is remembered from before the test, or after it."""
    integration.swapped_class.cache_clear()
    yield
    integration.swapped_class.cache_clear()


@pytest.mark.parametrize("version", ["5.16.4", "4.57.1"])
def test_an_old_version(version, unchecked, monkeypatch):
    model = build()
    monkeypatch.setattr(sys.modules["transformers"], "__version__", version)
    refused(model, RuntimeError, f"expected 5.17 or newer, got {version}")


def test_a_new_version(unchecked, monkeypatch):
    model = build()
    monkeypatch.setattr(sys.modules["transformers"], "__version__", "6.0.0.dev0")
    with use_gdn_ref(model):
        pass


def test_an_operator_with_a_new_argument(unchecked, monkeypatch):
    def newer(query, key, value, g, beta, normalise_values=False, **kwargs): ...

    monkeypatch.setattr(modeling("Qwen3NextForCausalLM"), NAMES[0], newer)
    refused(build(), RuntimeError, f"{NAMES[0]} without normalise_values")


def test_a_layer_that_calls_another_operator(unchecked, monkeypatch):
    model = build()
    monkeypatch.delattr(modeling("Qwen3NextForCausalLM"), NAMES[1])
    refused(model, RuntimeError, f"forward to call {NAMES[1]}, which it does not")


def test_a_layer_whose_forward_was_replaced():
    model = build()
    layer = linear_layers(model)[-1]
    layer.forward = MethodType(lambda self, hidden_states: hidden_states, layer)
    refused(model, ValueError, "whose `forward` was replaced")


# Our functions under transformers' names


def assign(monkeypatch, name):
    """Both functions as they are, where the layers look for transformers' operators."""
    for theirs, ours in integration.OPERATORS.items():
        monkeypatch.setattr(modeling(name), theirs, ours)


def called_with_everything(model):
    """Loss, logits and gradients of a call with all that a model may be called with."""
    ids, mask = prompts()
    options = {"output_hidden_states": True, "num_items_in_batch": torch.tensor(70)}
    if hasattr(model.config.get_text_config(), "num_experts"):
        options["output_router_logits"] = True
    model.zero_grad()
    out = model(ids, attention_mask=mask, labels=ids, use_cache=False, is_causal=True, **options)
    out.loss.backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    return out.loss.detach(), out.logits.detach()[mask == 1], gradients


@EVERY_MODEL
def test_assigned_functions_forward_and_backward(name, monkeypatch):
    model = build(name)
    loss, expected, gradients = called_with_everything(model)
    assign(monkeypatch, name)
    our_loss, found, ours = called_with_everything(model)
    assert relative_error(our_loss, loss) < 1e-5
    assert 0 < largest(found, expected) < LOGITS
    assert len(ours) == len(gradients) > 0
    for a, b in zip(ours, gradients, strict=True):
        assert relative_error(a, b) < 1e-3 or largest(a, b) < 1e-6


@EVERY_MODEL
def test_assigned_functions_decode_from_a_cache(name, monkeypatch):
    model, called = build(name), []
    tokens, expected = generated(model)
    for theirs, ours in integration.OPERATORS.items():

        def noted(*tensors, ours=ours, **options):
            called.append(ours)
            return ours(*tensors, **options)

        monkeypatch.setattr(modeling(name), theirs, noted)
    found_tokens, found = generated(model)
    assert torch.equal(found_tokens, tokens) and 0 < largest(found, expected) < LOGITS
    n = len(linear_layers(model))
    chunk, recurrent = integration.OPERATORS.values()
    assert (called.count(chunk), called.count(recurrent)) == (n, 7 * n)  # a prompt, then 7 tokens


@torch.no_grad()
def test_assigned_functions_obey_the_offsets_of_packed_sequences(monkeypatch):
    """As in `test_packed_sequences_do_not_see_each_other`, with all that goes with offsets."""
    assign(monkeypatch, "Qwen3NextForCausalLM")
    x = torch.randn(1, 70, 32)
    layer = linear_layers(build())[0]
    offsets = torch.tensor([0, 30, 70], dtype=torch.int32)
    same = {"cu_seq_lens_k": offsets, "max_length_q": 40, "max_length_k": 40}
    same["seq_idx"] = torch.repeat_interleave(torch.tensor([[0, 1]]), torch.tensor([30, 40]), 1)
    y = layer(x, cu_seq_lens_q=offsets, **same)
    other = layer(torch.cat([-x[:, :20], x[:, 20:]], 1), cu_seq_lens_q=offsets, **same)
    assert torch.equal(y[:, 33:], other[:, 33:])  # 3 tokens are the convolution's
    assert not torch.equal(layer(x)[:, 33:], y[:, 33:])
    with pytest.raises(TypeError, match="^seq_idx: expected cu_seqlens with it"):
        layer(x, seq_idx=same["seq_idx"])


def test_a_swap_prints_what_it_did():
    model = build()
    swap = use_gdn_ref(model, backend="reference")
    names = [name for name, x in model.named_modules() if hasattr(x, "A_log")]
    assert repr(swap).splitlines() == [
        "Swap(Qwen3NextForCausalLM, backend='reference')",
        f"  3 Qwen3NextGatedDeltaNet, {names[0]} to {names[-1]}",
        "  torch_chunk_gated_delta_rule -> gdn_ref.chunk_gated_delta_rule",
        "  torch_recurrent_gated_delta_rule -> gdn_ref.fused_recurrent_gated_delta_rule",
    ]
    swap.remove()
    removed = "removed, its layers call transformers' own operators"
    assert repr(swap) == f"Swap(Qwen3NextForCausalLM): {removed}"
    layer = linear_layers(model)[0]
    assert "1 Qwen3NextGatedDeltaNet, the model itself\n" in repr(use_gdn_ref(layer))


# With flash-linear-attention, and the example


def fresh(code, folder, fla):
    """What `code` prints in a process of its own, as users have it: with fla or without."""
    path = [str(folder), *sys.path]
    hidden = "" if fla else "sys.modules['fla'] = None"
    code = f"import sys\nsys.path[:] = {path!r}\n{hidden}\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def skip_unless_fla_fails():
    if importlib.util.find_spec("fla") is None:
        pytest.skip("flash-linear-attention is not installed")
    if torch.cuda.is_available():
        pytest.skip("flash-linear-attention may run CPU tensors' work on this machine's GPU")


@pytest.mark.peers
def test_a_cpu_model_with_fla_installed():
    """transformers' own path fails there, ours does not."""
    skip_unless_fla_fails()
    code = """
import torch
import test_integration_transformers as t
model, ids = t.build(), t.prompts()[0]
def works():
    try:
        with torch.no_grad():
            return model(ids).logits.isfinite().all().item()
    except Exception:
        return False
own = works()
with t.use_gdn_ref(model):
    print(own, works())
"""
    assert fresh(code, Path(__file__).parent, fla=True).split() == ["False", "True"]


EXAMPLE = "import swap_into_qwen3_next as example\nexample.main()"
EXAMPLES = Path(__file__).parents[1] / "examples"


def test_the_example():
    assert "same tokens: True" in fresh(EXAMPLE, EXAMPLES, fla=False)


@pytest.mark.peers
def test_the_example_with_fla_installed():
    skip_unless_fla_fails()
    assert "transformers' own operators fail here" in fresh(EXAMPLE, EXAMPLES, fla=True)


def test_the_example_with_a_model_on_this_disk(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(EXAMPLES)
    import swap_into_qwen3_next as example
    from tokenizers import Tokenizer, models

    model = example.tiny_model()
    model.save_pretrained(tmp_path)
    words = {word: i for i, word in enumerate(example.PROMPT)}
    tokenizer = Tokenizer(models.BPE(vocab=words, merges=[]))
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(tmp_path)
    monkeypatch.setattr(sys, "argv", ["example", str(tmp_path), "--new-tokens", "4"])
    example.main()
    assert "same tokens: True" in capsys.readouterr().out
