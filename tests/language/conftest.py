"""Small models with seeded random weights, as `transformers` makes and saves them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

VOCABULARY = 320
TEXT = [
    "The wheel turns the mill, and the mill grinds the corn.",
    "A cloth falls over a ball; the ball rolls over the grass.",
    "Every number in this text was counted by hand: 1, 2, 3.",
]


def sizes(kind: str) -> dict[str, Any]:
    """Of a model's configuration."""
    if kind == "gpt2":
        return {"vocab_size": VOCABULARY, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 288}
    sizes = {
        **{"vocab_size": VOCABULARY, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4},
        **{"num_key_value_heads": 2, "intermediate_size": 96, "max_position_embeddings": 288},
    }
    more: dict[str, dict[str, Any]] = {
        "llama": {"rms_norm_eps": 1e-5, "rope_parameters": LLAMA3},
        "qwen3": {"head_dim": 32, "tie_word_embeddings": True},
        "mistral": {"sliding_window": 48, "head_dim": 16},
    }
    return sizes | more.get(kind, {})


LLAMA3 = {
    **{"rope_type": "llama3", "rope_theta": 10000.0, "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    "original_max_position_embeddings": 64,
}


def random_model(kind: str, dtype: str = "float16") -> Any:
    """A model of `transformers` in f32, whose weights are such of `dtype`."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(1)
    config = AutoConfig.for_model(kind, **sizes(kind), bos_token_id=0, eos_token_id=None)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").float().eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            gain = weight.ndim == 1 and name.endswith("weight")
            values = torch.randn(weight.shape) * (0.2 if weight.ndim > 1 else 0.3) + gain
            weight.copy_(values.to(getattr(torch, dtype)).float())
    return model


def save(model: Any, folder: Path, dtype: str = "float16") -> Path:
    """The model's files, with a tokenizer trained on a few lines."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    halves = copy.deepcopy(model).to(getattr(torch, dtype))  # a copy: its rotation is rounded as well
    halves.save_pretrained(folder)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # type: ignore[assignment]
    tokenizer.decoder = decoders.ByteLevel()  # type: ignore[assignment]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(TEXT, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[Any, Path]]:
    """A function that returns the model of a kind and its folder; each is created once."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    found: dict[tuple[str, str], tuple[Any, Path]] = {}

    def saved(kind: str, dtype: str = "float16") -> tuple[Any, Path]:
        if (kind, dtype) not in found:
            model = random_model(kind, dtype)
            found[kind, dtype] = model, save(model, tmp_path_factory.mktemp(kind), dtype)
        return found[kind, dtype]

    return saved


@pytest.fixture
def edited(saved: Callable[..., tuple[Any, Path]], tmp_path: Path) -> Callable[..., Path]:
    """A function that copies the files of a small Llama, with other values in its config.json."""
    _, folder = saved("llama")

    def edited(**values: Any) -> Path:
        for file in folder.iterdir():
            (tmp_path / file.name).write_bytes(file.read_bytes())
        table = json.loads((folder / "config.json").read_text()) | values
        (tmp_path / "config.json").write_text(json.dumps(table))
        return tmp_path

    return edited
