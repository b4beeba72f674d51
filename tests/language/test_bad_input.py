"""Files and values that cannot be used: what is wrong, where, and what to do."""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from vertigrad.errors import InputError, RequirementError
from vertigrad.gpu import Gpu
from vertigrad.language import Config, LanguageModel, Sampling, Tokenizer
from vertigrad.language.checkpoint import read_weights
from vertigrad.language.packing import Quantized, quantize

Edited = Callable[..., Path]


def read(folder: Path) -> Any:
    """The weights of all layers."""
    config = Config.read(folder / "config.json")
    weights = read_weights(folder, config)
    return [weights.layer(number) for number in range(config.layers)]


def change(folder: Path, edit: Callable[[dict[str, np.ndarray]], object]) -> None:
    arrays = load_file(folder / "model.safetensors")
    edit(arrays)
    save_file(arrays, folder / "model.safetensors")


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model_type": "mamba"}, "model_type: 'mamba' is not supported; llama"),
        ({"hidden_size": None}, "hidden_size is missing"),
        ({"hidden_size": -64}, "hidden_size: expected a positive integer, got -64"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers: expected 4,096 at most, got 1,000,000,000"),
        ({"vocab_size": 10**12}, "vocab_size: expected 2,147,483,647 at most"),
        ({"num_key_value_heads": 3}, "num_key_value_heads: 3 does not divide the 4 attention heads"),
        ({"hidden_act": "selu"}, "hidden_act: 'selu' is not supported"),
        ({"rope_parameters": {"rope_type": "yarn"}}, "rope_scaling: 'yarn' is not supported"),
        ({"rope_parameters": {"rope_type": "linear"}}, "rope_scaling: KeyError"),
        ({"rms_norm_eps": "small"}, "rms_norm_eps: expected a positive number, got 'small'"),
        ({"head_dim": 12}, "head_dim: heads of 12; expected a multiple of 8"),
        ({"intermediate_size": 97}, "inner 97 is not a multiple of 32"),
    ],
)
def test_a_configuration_that_cannot_be_used(values: dict[str, Any], message: str, edited: Edited) -> None:
    with pytest.raises(InputError, match=r"config\.json") as caught:
        Config.read(edited(**values) / "config.json")
    assert message in str(caught.value)


def test_a_configuration_that_is_not_json(tmp_path: Path) -> None:
    for text in ("{", "[" * 100_000):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(InputError, match="not JSON"):
            Config.read(tmp_path / "config.json")


def test_two_tensors_of_the_same_bytes(edited: Edited) -> None:
    path = edited() / "model.safetensors"
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    one, other = ("model.layers.0.mlp.gate_proj.weight", "model.layers.0.mlp.up_proj.weight")
    header[one]["data_offsets"] = header[other]["data_offsets"]
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])
    with pytest.raises(InputError, match="have bytes in common"):
        read(path.parent)


def test_missing_unexpected_and_misshapen_weights_are_named(edited: Edited) -> None:
    folder = edited()

    def edit(arrays: dict[str, np.ndarray]) -> None:
        del arrays["model.layers.1.self_attn.o_proj.weight"]
        arrays["model.layers.2.self_attn.o_proj.weight"] = np.zeros((64, 64), np.float16)
        arrays["model.norm.weight"] = np.zeros(32, np.float16)

    change(folder, edit)
    with pytest.raises(InputError) as caught:
        read(folder)
    message = str(caught.value)
    assert "missing: layers.1.self_attn.o_proj.weight" in message
    assert "unexpected: layers.2.self_attn.o_proj.weight" in message
    assert "norm.weight: expected shape (64,), got (32,)" in message


def test_a_folder_without_weights_or_configuration(edited: Edited, tmp_path: Path) -> None:
    folder = edited()
    (folder / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"no \.safetensors file; expected model\.safetensors beside config\.json"):
        read(folder)
    (folder / "config.json").unlink()
    with pytest.raises(InputError, match=r"there is no config\.json; a language model is a folder"):
        LanguageModel(folder)
    with pytest.raises(InputError, match="there is no such file or folder"):
        LanguageModel(tmp_path / "absent")


def test_an_index_of_shards_names_files_of_its_own_folder(edited: Edited) -> None:
    folder = edited()
    index = folder / "model.safetensors.index.json"
    index.write_text('{"weight_map": {"model.norm.weight": "../model.safetensors"}}')
    with pytest.raises(InputError, match=r"'\.\./model\.safetensors' is not a file beside it"):
        read(folder)
    index.write_text('{"weight_map": {"model.norm.weight": "model.safetensors"}}')
    assert len(read(folder)) == 2


def test_a_context_that_is_too_long(edited: Edited, steady: Gpu) -> None:
    with pytest.raises(InputError, match="a context of 5000 tokens: this model has 1 to 288"):
        LanguageModel(edited(), context=5000)
    with LanguageModel(edited(), context=16) as model:
        with pytest.raises(InputError, match="the prompt has 17 tokens; the context has room for 16"):
            list(model.generate_tokens([1] * 17))
        with pytest.raises(InputError, match="tokens are integers from 0 to 319"):
            list(model.generate_tokens([1, 320]))
        with pytest.raises(InputError, match="the prompt has no tokens"):
            list(model.generate_tokens([]))
        assert len(list(model.generate_tokens([1] * 16))) == 0


def test_absent_and_damaged_tokenizers(edited: Edited, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = edited()
    assert (
        Tokenizer(folder / "tokenizer.json", 320).decode(Tokenizer(folder / "tokenizer.json", 320).encode("ab")) == "ab"
    )
    with pytest.raises(InputError, match="is not among the 3 of the model; the file belongs to another model"):
        Tokenizer(folder / "tokenizer.json", 3).encode("the mill")
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match=r"tokenizer\.json: not a tokenizer"):
        Tokenizer(folder / "tokenizer.json", 320)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(InputError, match="a prompt of text needs it, tokens as numbers do not"):
        Tokenizer(folder / "tokenizer.json", 320)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(RequirementError, match=r"pip install vertigrad\[language\]"):
        Tokenizer(folder / "tokenizer.json", 320)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"temperature": -0.1}, "temperature -0.1: expected 0 to 100"),
        ({"temperature": float("nan")}, "temperature nan"),
        ({"top_k": -1}, "top_k -1: expected the number of tokens"),
        ({"top_p": 0.0}, "top_p 0.0: expected a fraction above 0"),
    ],
)
def test_values_for_sampling_outside_of_their_range(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Sampling(**values)


# 4 bits by GPTQ ---------------------------------------------------------------------------------------------------

GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 32}


def gptq_arrays(found: Quantized) -> dict[str, np.ndarray]:
    """A matrix as GPTQ stores it; zeros are integers in steps, as `quantize` makes them for these weights."""
    q, shifts = found.q.astype(np.uint32).T, np.arange(0, 32, 4, dtype=np.uint32)
    zeros = np.rint(-found.second.astype(np.float32) / found.first.astype(np.float32)).astype(np.uint32).T - 1
    return {
        "qweight": (q.reshape(-1, 8, q.shape[1]) << shifts[:, None]).sum(1, dtype=np.uint32).view(np.int32),
        "qzeros": (zeros.reshape(zeros.shape[0], -1, 8) << shifts).sum(2, dtype=np.uint32).view(np.int32),
        "scales": np.ascontiguousarray(found.first.T),
        "g_idx": (np.arange(q.shape[0]) // found.group).astype(np.int32),
    }


@pytest.fixture
def gptq(edited: Edited) -> Path:
    """A small Llama whose layers are quantized, by steps of 1/16 with a zero at 8."""
    folder, random = edited(quantization_config=GPTQ), np.random.default_rng(0)

    def edit(arrays: dict[str, np.ndarray]) -> None:
        for name in [n for n in arrays if "_proj" in n]:
            rows, inner = arrays.pop(name).shape
            q = random.integers(0, 16, (rows, inner)).astype(np.uint8)
            steps = np.full((rows, inner // 32), 1 / 16, np.float16)
            for part, array in gptq_arrays(Quantized(q, steps, -8 * steps)).items():
                arrays[f"{name.removesuffix('.weight')}.{part}"] = np.ascontiguousarray(array)

    change(folder, edit)
    return folder


def test_matrices_of_gptq_have_their_values(gptq: Path) -> None:
    found = read(gptq)[1].down.values()
    words = load_file(gptq / "model.safetensors")["model.layers.1.mlp.down_proj.qweight"].view(np.uint32)
    assert found.shape == (64, 96)
    assert found[3, 9] == ((int(words[1, 3]) >> 4 & 15) - 8) / 16


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("scales", np.inf, "scales: not finite, or too large for f16"),
        ("g_idx", 7, "g_idx: inputs in another order"),
    ],
)
def test_wrong_scales_and_orders(part: str, value: float, message: str, gptq: Path) -> None:
    name = f"model.layers.1.self_attn.o_proj.{part}"
    change(gptq, lambda arrays: arrays[name].__setitem__(0, value))
    with pytest.raises(InputError, match=message):
        read(gptq)


def test_scales_of_another_group_size(gptq: Path) -> None:
    def edit(arrays: dict[str, np.ndarray]) -> None:
        arrays["model.layers.0.mlp.up_proj.scales"] = np.ones((4, 96), np.float16)

    change(gptq, edit)
    with pytest.raises(InputError, match=r"up_proj.scales: expected shape \(2, 96\), got \(4, 96\)"):
        read(gptq)


@pytest.mark.parametrize("values", [{"quant_method": "awq"}, {"bits": 8}])
def test_other_ways_to_quantize(values: dict[str, Any], edited: Edited) -> None:
    with pytest.raises(InputError, match="gptq with 4 bits is supported"):
        read(edited(quantization_config=GPTQ | values))


def test_groups_of_other_sizes(edited: Edited) -> None:
    with pytest.raises(InputError, match="group_size -1; expected a multiple of 32"):
        read(edited(quantization_config=GPTQ | {"group_size": -1}))


def test_weights_that_cannot_be_quantized() -> None:
    with pytest.raises(InputError, match="not finite, or beyond 65504"):
        quantize(np.full((4, 64), np.inf, np.float32))
