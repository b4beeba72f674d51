"""Decoders from ONNX files against onnxruntime, whose cache grows with the text."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from vertigrad.cli import main
from vertigrad.errors import InputError, SceneError
from vertigrad.gpu import Gpu
from vertigrad.language import LanguageModel
from vertigrad.language.config import text_limits
from vertigrad.models.neural.language_model import LanguageModel as Writer
from vertigrad.models.neural.language_model import Params
from vertigrad.scene import load

VOCABULARY, WIDTH, HEADS, HEAD, LAYERS, POSITIONS = 96, 32, 2, 16, 2, 256
PAST = (1, HEADS, "past", HEAD)
SCENE = """version = 1
[models.writer]
type = "language_model"
file = "model.onnx"
prompt = "3, 14, 15"
temperature = 0.0
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


class Decoder:
    """A graph of such a network, node by node, with seeded weights.

    With `grouped` its attention is onnxruntime's own operator, which turns queries and keys by their positions.
    """

    def __init__(self, grouped: bool = False) -> None:
        self.grouped = grouped
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self._random = np.random.default_rng(1)

    def add(self, kind: str, *inputs: str, out: str = "", more: Sequence[str] = (), **attributes: Any) -> str:
        name = out or f"value{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name, *more], **attributes))
        return name

    def weight(self, *shape: int, gain: float = 0.35) -> str:
        return self.constant((self._random.normal(size=shape) * gain).astype(np.float32))

    def constant(self, array: Any) -> str:
        name = f"weight{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def heads(self, x: str) -> str:
        rows = self.add("Reshape", x, self.constant(np.array([1, -1, HEADS, HEAD])))
        return self.add("Transpose", rows, perm=[0, 2, 1, 3])

    def attention(self, number: int, x: str, mask: str) -> str:
        past, present = (
            [f"{name}.{number}.{part}" for part in ("key", "value")] for name in ("past_key_values", "present")
        )
        if self.grouped:
            qkv = (self.add("MatMul", x, self.weight(WIDTH, WIDTH)) for _ in range(3))
            sizes = {"num_heads": HEADS, "kv_num_heads": HEADS, "do_rotary": 1, "domain": "com.microsoft"}
            return self.add("GroupQueryAttention", *qkv, *past, *self.lengths, *self.tables, more=present, **sizes)
        q, k, v = (self.heads(self.add("MatMul", x, self.weight(WIDTH, WIDTH))) for _ in range(3))
        keys, values = (
            self.add("Concat", before, new, out=after, axis=2)
            for before, new, after in zip(past, (k, v), present, strict=True)
        )
        scores = self.add("MatMul", q, self.add("Transpose", keys, perm=[0, 1, 3, 2]))
        weights = self.add("Softmax", self.add("Add", scores, mask), axis=-1)
        mixed = self.add("Transpose", self.add("MatMul", weights, values), perm=[0, 2, 1, 3])
        return self.add("Reshape", mixed, self.constant(np.array([1, -1, WIDTH])))

    def layer(self, number: int, x: str, mask: str) -> str:
        attended = self.attention(number, x, mask)
        x = self.add("Add", x, self.add("MatMul", attended, self.weight(WIDTH, WIDTH)))
        hidden = self.add("Relu", self.add("MatMul", x, self.weight(WIDTH, 2 * WIDTH)))
        x = self.add("Add", x, self.add("MatMul", hidden, self.weight(2 * WIDTH, WIDTH)))
        return self.add("LayerNormalization", x, self.constant(np.ones(WIDTH, np.float32)))

    def model(self) -> onnx.ModelProto:
        tokens = self.add("Gather", self.weight(VOCABULARY, WIDTH, gain=1.0), "input_ids")
        x = self.add("Add", tokens, self.add("Gather", self.weight(POSITIONS, WIDTH, gain=1.0), "position_ids"))
        one, axis = self.constant(np.array([1])), self.constant(np.array(1))
        count = self.add("Sub", self.add("ReduceSum", "attention_mask", one, keepdims=0), one)
        total = self.add("Gather", self.add("Shape", "attention_mask"), axis, axis=0)
        self.lengths = [self.add("Cast", value, to=TensorProto.INT32) for value in (count, total)]
        turns = np.arange(POSITIONS)[:, None] / 10.0 ** (np.arange(HEAD // 2) / 2)
        self.tables = [self.constant(table.astype(np.float32)) for table in (np.cos(turns), np.sin(turns))]
        absent = self.add("Sub", self.constant(np.float32(1)), self.add("Cast", "attention_mask", to=TensorProto.FLOAT))
        bias = self.add("Mul", absent, self.constant(np.float32(-1e9)))
        mask = self.add("Unsqueeze", bias, self.constant(np.array([1, 2])))
        for number in range(LAYERS):
            x = self.layer(number, x, mask)
        self.add("MatMul", x, self.weight(WIDTH, VOCABULARY), out="logits")
        past = [f"{number}.{part}" for number in range(LAYERS) for part in ("key", "value")]
        sizes = {"input_ids": (1, "sequence"), "attention_mask": (1, "total"), "position_ids": (1, "sequence")}
        inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, s) for n, s in sizes.items()]
        inputs += [helper.make_tensor_value_info(f"past_key_values.{n}", TensorProto.FLOAT, PAST) for n in past]
        outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, (1, "sequence", VOCABULARY))]
        outputs += [
            helper.make_tensor_value_info(f"present.{n}", TensorProto.FLOAT, (1, HEADS, "total", HEAD)) for n in past
        ]
        graph = helper.make_graph(self.nodes, "decoder", inputs, outputs, self.weights)
        versions = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=versions, ir_version=8)


def continued(path: Path, prompt: Sequence[int], count: int) -> list[int]:
    """Most probable tokens, by onnxruntime."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [f"{number}.{part}" for number in range(LAYERS) for part in ("key", "value")]
    past = {f"past_key_values.{name}": np.zeros((1, HEADS, 0, HEAD), np.float32) for name in names}
    tokens, new = list(prompt), list(prompt)
    while len(tokens) < len(prompt) + count:
        positions = np.arange(len(tokens) - len(new), len(tokens))
        feeds = {"input_ids": np.array([new]), "attention_mask": np.ones((1, len(tokens)), np.int64)}
        if len(new) > 1:  # the graph has no mask of what comes later: token by token
            feeds["attention_mask"] = feeds["attention_mask"][:, : positions[0] + 1]
            feeds["input_ids"], positions, rest = np.array([new[:1]]), positions[:1], new[1:]
        else:
            rest = []
        logits, *present = session.run(None, {**feeds, "position_ids": positions[None], **past})
        past = {f"past_key_values.{name}": array for name, array in zip(names, present, strict=True)}
        new = rest or [int(np.argmax(logits[0, -1]))]
        tokens += [] if rest else new
    return tokens[len(prompt) :]


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("decoder") / "model.onnx"
    onnx.save(Decoder().model(), path)
    return path


@pytest.mark.turns(3)
@pytest.mark.parametrize("grouped", [False, True])
def test_the_first_200_tokens_are_those_of_onnxruntime(grouped: bool, tmp_path: Path, steady: Gpu) -> None:
    decoder = tmp_path / "model.onnx"
    onnx.save(Decoder(grouped).model(), decoder)
    prompt = [3, 14, 15, 92, 65, 35]
    with LanguageModel(decoder, context=210) as model:
        found = list(model.generate_tokens(prompt, 200))
        again = list(model.generate_tokens(prompt, 20))
    assert len(set(found)) > 10
    assert found == continued(decoder, prompt, 200)
    assert again == found[:20]


def test_the_command_line_takes_onnx_files(decoder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", str(decoder), "--tokens", "3,14", "-n", "2", "--context", "8"]) == 0
    assert capsys.readouterr().out.strip() == ",".join(map(str, continued(decoder, [3, 14], 2)))


def test_networks_that_are_no_decoders_with_a_cache(decoder: Path, tmp_path: Path) -> None:
    model = onnx.load(decoder)
    model.graph.input[1].name = "mask"
    for node in model.graph.node:
        node.input[:] = ["mask" if name == "attention_mask" else name for name in node.input]
    onnx.save(model, tmp_path / "other.onnx")
    with pytest.raises(InputError, match="not a decoder with a cache of keys and values: it has no attention_mask"):
        LanguageModel(tmp_path / "other.onnx")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "plain", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "a.onnx")
    with pytest.raises(InputError, match="it takes no past_key_values"):
        LanguageModel(tmp_path / "a.onnx")


def test_weights_of_onnx_files_stay_as_they_are(decoder: Path) -> None:
    with pytest.raises(InputError, match="weights of an ONNX file are used as they are"):
        LanguageModel(decoder, weights="int4")


def test_positions_that_the_model_has_not(tmp_path: Path) -> None:
    onnx.save(Decoder(grouped=True).model(), tmp_path / "model.onnx")
    with pytest.raises(InputError, match=r"GroupQueryAttention .*tables of angles have 256 positions, of 300 tokens"):
        LanguageModel(tmp_path / "model.onnx", context=300)
    (tmp_path / "genai_config.json").write_text('{"model": {"context_length": 256, "eos_token_id": [3, 4]}}')
    assert text_limits(tmp_path) == (None, (3, 4), 256)
    with pytest.raises(InputError, match="a context of 300 tokens: the model has 256 positions"):
        LanguageModel(tmp_path / "model.onnx", context=300)
    (tmp_path / "genai_config.json").write_text('{"model": {"context_length": "long"}}')
    with pytest.raises(InputError, match="context_length: expected a positive integer, got 'long'"):
        LanguageModel(tmp_path / "model.onnx")


def test_it_writes_in_a_scene(decoder: Path, steady: Gpu) -> None:
    params = Params(file=decoder, prompt="3, 14, 15", temperature=0.0, rate=10.0, context=64)
    with closing(Writer("writer", params, {}, 0)) as model:
        assert set(model.outputs()) == {"logits", "probabilities", "top", "top_tokens", "tokens"}
        model.step(1.0)
        copies = {name: tensor.clone() for name, tensor in model.state().items()}
        scalars = model.scalar_state()
        (found,) = model.compare_with_reference()
        assert found.holds, found
        model.step(1.0)
        steady.wait_idle()
        steady.poll()
        text = model.written_text().continuation
        assert [int(token) for token in text.split(",")[1:]] == continued(decoder, [3, 14, 15], 20)
        for name, tensor in model.state().items():
            tensor[...] = copies[name]
            copies[name].close()
        model.load_scalar_state(scalars)
        model.step(1.0)
        steady.wait_idle()
        steady.poll()
        assert model.written_text().continuation == text
        model.step(100.0)
        steady.wait_idle()
        steady.poll()
        assert model.written_text().ended and model.scalar_state()["length"] == 64


def test_scenes_with_them_are_checked_without_a_gpu(decoder: Path, tmp_path: Path) -> None:
    onnx.save(Decoder().model(), tmp_path / "model.onnx")
    text = (
        'version = 1\n[models.writer]\ntype = "language_model"\nfile = "model.onnx"\nprompt = "3, 14"\ncontext = 64\n'
    )
    (tmp_path / "scene.toml").write_text(text)
    specs = load(tmp_path / "scene.toml").models["writer"].outputs
    assert specs["logits"].shape == (VOCABULARY,) and specs["tokens"].shape == (64,) and "attention" not in specs
    (tmp_path / "model.onnx").write_bytes(b"no network")
    with pytest.raises(SceneError, match=r"model\.onnx"):
        load(tmp_path / "scene.toml")
