"""Language models against `transformers`, in f32, with the same seeded weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vertigrad.cli import main
from vertigrad.gpu import Gpu
from vertigrad.language import LanguageModel, Sampling
from vertigrad.language.packing import as_f32, quantize
from vertigrad.language.sampling import choose
from vertigrad.ops import paths

Saved = Callable[..., tuple[Any, Path]]
COUNT = 200


def reference_logits(model: Any, tokens: Sequence[int]) -> np.ndarray:
    """Logits after each of `tokens`."""
    import torch

    with torch.no_grad():
        return model(torch.tensor(list(tokens))[None]).logits[0].numpy()


def most_probable(model: Any, prompt: Sequence[int], tokens: Sequence[int]) -> list[int]:
    """What the reference takes after the prompt, and after each of `tokens` but the last."""
    return reference_logits(model, [*prompt, *tokens])[len(prompt) - 1 : -1].argmax(-1).tolist()


@pytest.mark.turns(3)
@pytest.mark.parametrize("kind", ["llama", "mistral", "qwen2 bfloat16", "qwen3", "gpt2"])
def test_the_first_200_tokens_are_those_of_transformers(kind: str, saved: Saved, steady: Gpu) -> None:
    reference, folder = saved(*kind.split())
    prompt = np.random.default_rng(0).integers(0, 320, 70).tolist()  # more than a chunk of the prompt
    with LanguageModel(folder, cache="f32", chunk=64) as model:
        found = list(model.generate_tokens(prompt, COUNT))
    assert len(found) == COUNT and len(set(found)) > 20
    assert found == most_probable(reference, prompt, found)


@pytest.mark.turns(3)
@pytest.mark.parametrize("subgroups", [False, True])
def test_weights_of_4_bits_give_the_tokens_of_their_values(subgroups: bool, saved: Saved, steady: Gpu) -> None:
    """The last logits have less than a fifth of the error that vectors in f16 have."""
    import copy

    import torch

    reference = copy.deepcopy(saved("llama")[0])
    with torch.no_grad():
        for name, weight in reference.named_parameters():
            if weight.ndim == 2 and "embed" not in name:
                weight.copy_(torch.from_numpy(quantize(weight.numpy()).values()))
    if subgroups and not paths.subgroup_size():
        pytest.skip("this adapter has no subgroups of one size")
    prompt = np.arange(5, 75).tolist()
    with (
        paths.forced(subgroups),
        LanguageModel(saved("llama")[1], weights="int4", cache="f32", chunk=64) as model,
    ):
        found = list(model.generate_tokens(prompt, COUNT))
        logits = model.decoder.logits.numpy()[:320]
    assert found == most_probable(reference, prompt, found)
    expected = reference_logits(reference, [*prompt, *found])[-1]
    for module in reference.modules():
        if isinstance(module, torch.nn.Linear):
            module.register_forward_pre_hook(lambda _, given: (given[0].half().float(),))
    less_exact = reference_logits(reference, [*prompt, *found])[-1]
    assert np.linalg.norm(logits - expected) < 0.2 * np.linalg.norm(less_exact - expected)


def test_a_cache_of_f16_is_close(saved: Saved, steady: Gpu) -> None:
    reference, folder = saved("llama")
    prompt = np.random.default_rng(1).integers(0, 320, 200).tolist()  # more than a tile of keys
    with LanguageModel(folder) as model:
        model.generator.start(prompt)
        found = model.decoder.logits.numpy()[:320]
    expected = reference_logits(reference, prompt)[-1]
    assert np.linalg.norm(found - expected) < 3e-3 * np.linalg.norm(expected)


@pytest.mark.turns(3)
@pytest.mark.parametrize("sampling", [Sampling(0.9, 40, 0.8, 7), Sampling(1.5, 0, 0.5, 1), Sampling(1.0, 3, 1.0, 2)])
def test_sampled_tokens_are_those_of_the_reference(sampling: Sampling, saved: Saved, steady: Gpu) -> None:
    reference, folder = saved("llama")
    with LanguageModel(folder, cache="f32") as model:
        found = list(model.generate_tokens([5, 6, 7], 40, sampling))
        again = list(model.generate_tokens([5, 6, 7], 40, sampling))
    logits = reference_logits(reference, [5, 6, 7, *found])[2:-1]
    assert found == again
    assert found == [choose(row, 2 + number, sampling) for number, row in enumerate(logits)]


def test_text_comes_in_pieces_and_ends_with_the_context(saved: Saved, steady: Gpu) -> None:
    _, folder = saved("llama")
    with LanguageModel(folder, cache="f32", context=48) as model:
        prompt = model.tokenizer.encode("The wheel turns")
        pieces = list(model.generate("The wheel turns"))
        tokens = list(model.generate_tokens(prompt))
        assert len(pieces) == len(tokens) == 48 - len(prompt)
        whole = model.tokenizer.decode([*prompt, *tokens])
    text = "The wheel turns" + "".join(pieces)
    assert whole.startswith(text) and len(text) > len("The wheel turns")


def test_generation_ends_at_an_end_token(saved: Saved, steady: Gpu) -> None:
    _, folder = saved("llama")
    with LanguageModel(folder, cache="f32") as model:
        tokens = list(model.generate_tokens([5, 6, 7], 30))
        end = tokens[9]
        found = list(model.generator.generate([5, 6, 7], 30, ends=(end,), batch=4))
    assert found == tokens[: tokens.index(end)]


def test_quantized_weights_are_near() -> None:
    weights = np.random.default_rng(0).normal(size=(8, 128)).astype(np.float16)
    found = quantize(as_f32(weights)).values()
    step = (weights.astype(np.float32).max() - weights.astype(np.float32).min()) / 15
    assert np.abs(found - weights).max() < 0.6 * step


def test_the_command_line_prints_text_and_tokens(saved: Saved, steady: Gpu, capsys: pytest.CaptureFixture[str]) -> None:
    _, folder = saved("llama")
    with LanguageModel(folder) as model:
        tokens = list(model.generate_tokens(model.tokenizer.encode("The mill"), 12))
        text = "".join(model.generate("The mill", 12))
        numbers = list(model.generate_tokens([5, 6], 3))
    assert main(["generate", str(folder), "--prompt", "The mill", "-n", "12"]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"The mill{text}\n"
    assert f"{len(tokens)} tokens, the first after" in printed.err
    assert main(["generate", str(folder / "config.json"), "--tokens", "5,6", "-n", "3"]) == 0
    assert capsys.readouterr().out == ",".join(map(str, numbers)) + "\n"
