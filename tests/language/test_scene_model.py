"""The model type `language_model` in scenes, and its text over the viewport."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vertigrad.errors import InputError, SceneError
from vertigrad.gpu import Gpu, gpu
from vertigrad.language import LanguageModel as Loaded
from vertigrad.language import Sampling
from vertigrad.models.neural.language_model import LanguageModel, Params
from vertigrad.scene import load

Saved = Callable[..., tuple[Any, Path]]
Make = Callable[..., LanguageModel]
PROMPT = "The wheel turns"
SCENE = """
version = 1
title = "A text"

[models.writer]
type = "language_model"
file = "config.json"
prompt = "The wheel turns"
context = 64

[models.bars]
type = "bars"
inputs = { values = "writer.top" }

[layers.bars]
type = "surface"
position = "bars.position"
normal = "bars.normal"
index = "bars.triangles"
"""


@pytest.fixture
def make(saved: Saved, steady: Gpu) -> Iterator[Make]:
    created: list[LanguageModel] = []

    def make_model(kind: str = "llama", **values: Any) -> LanguageModel:
        folder = saved(kind)[1]
        params = Params(file=folder / "config.json", **({"prompt": PROMPT, "context": 64} | values))
        created.append(LanguageModel("writer", params, {}, 3))
        return created[-1]

    yield make_model
    for model in created:
        model.close()


def finished_text(model: LanguageModel) -> str:
    gpu().wait_idle()
    gpu().poll()
    return model.written_text().continuation


@pytest.mark.parametrize("values", [{}, {"weights": "int4", "kind": "qwen3"}])
def test_logits_are_those_of_the_reference(values: dict[str, Any], make: Make) -> None:
    model = make(**values)
    model.step(1.0)
    (found,) = model.compare_with_reference()
    assert found.holds, found


def test_tokens_come_at_their_rate_and_are_those_of_the_sampler(make: Make, saved: Saved) -> None:
    sampling = Sampling(0.8, 0, 1.0, 3)
    model = make(rate=10.0)
    for _ in range(10):
        model.step(0.1)
    with Loaded(saved("llama")[1], context=64) as loaded:
        text = "".join(loaded.generate(PROMPT, 10, temperature=0.8, seed=3))
        assert len(list(loaded.generate_tokens(loaded.tokenizer.encode(PROMPT), 10, sampling))) == 10
    assert finished_text(model) == text
    assert not model.written_text().ended


def test_outputs_describe_the_last_token(make: Make) -> None:
    model = make()
    model.step(1.0)
    outputs = {name: tensor.numpy() for name, tensor in model.outputs().items()}
    length = int(model.scalar_state()["length"])
    exponentials = np.exp(outputs["logits"].astype(float) - outputs["logits"].max())
    np.testing.assert_allclose(outputs["probabilities"], exponentials / exponentials.sum(), rtol=1e-4, atol=1e-9)
    np.testing.assert_array_equal(outputs["top"], np.sort(outputs["probabilities"])[::-1][:16])
    np.testing.assert_array_equal(outputs["probabilities"][outputs["top_tokens"]], outputs["top"])
    assert outputs["attention"].shape == (8, 64)
    np.testing.assert_allclose(outputs["attention"].sum(1), 1.0, rtol=1e-5)
    assert (outputs["attention"][:, length:] == 0).all() and (outputs["attention"][:, : length - 1] > 0).all()


def test_a_restored_state_continues_with_the_same_text(make: Make) -> None:
    model = make()
    model.step(0.5)
    copies = {name: tensor.clone() for name, tensor in model.state().items()}
    scalars = model.scalar_state()
    model.step(1.0)
    text = finished_text(model)
    for name, tensor in model.state().items():
        tensor[...] = copies[name]
        copies[name].close()
    model.load_scalar_state(scalars)
    model.step(1.0)
    assert finished_text(model) == text


def test_another_prompt_begins_anew_and_the_text_ends_with_the_context(make: Make) -> None:
    model = make()
    model.step(0.5)
    model._params = model._params.model_copy(update={"prompt": "A ball"})
    model.step(100.0)
    assert finished_text(model)
    assert model.written_text().prompt == "A ball" and model.written_text().ended
    assert model.scalar_state()["length"] == 64


def test_prompts_that_cannot_be_used(make: Make, saved: Saved, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the prompt has 200 tokens; the context has room for 64"):
        make(prompt="\x00" * 200)
    for file in saved("llama")[1].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "tokenizer.json").unlink()
    params = Params(file=tmp_path / "config.json", prompt=PROMPT)
    with pytest.raises(InputError, match=r"has no tokenizer\.json, so the prompt must be tokens such as 1, 20, 300"):
        LanguageModel("writer", params, {}, 0)
    with_tokens = LanguageModel("writer", Params(file=tmp_path / "config.json", prompt="1, 20", context=32), {}, 0)
    with_tokens.step(0.25)
    assert finished_text(with_tokens).count(",") == 2
    with_tokens.close()


def test_a_scene_is_checked_without_a_gpu(saved: Saved, tmp_path: Path) -> None:
    for file in saved("llama")[1].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "scene.toml").write_text(SCENE, encoding="utf-8")
    assert load(tmp_path / "scene.toml").models["writer"].params.context == 64
    table = json.loads((tmp_path / "config.json").read_text()) | {"model_type": "mamba"}
    (tmp_path / "config.json").write_text(json.dumps(table))
    with pytest.raises(SceneError, match="model_type: 'mamba' is not supported"):
        load(tmp_path / "scene.toml")
