"""The weights of a transformer from safetensors: found by the names of its architecture, joined and checked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from ..errors import InputError
from ..tensor.weights import read_arrays
from .config import Config
from .gptq import Gptq
from .packing import Quantized, as_f32

IGNORED = ("rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias")  # buffers of old checkpoints
SHOWN = 8  # names in a message
Matrix: TypeAlias = np.ndarray | Quantized


@dataclass(frozen=True)
class LayerWeights:
    """One layer: matrices (rows, inner), with those that read the same vector joined; vectors are f32, or None.

    `qkv` has the rows of queries, keys and values; `up` is the hidden layer's, with gate and up in turns if it is
    gated.
    """

    norm: np.ndarray
    norm_bias: np.ndarray | None
    qkv: Matrix
    qkv_bias: np.ndarray | None
    query_norm: np.ndarray | None
    key_norm: np.ndarray | None
    out: Matrix
    out_bias: np.ndarray | None
    mlp_norm: np.ndarray
    mlp_norm_bias: np.ndarray | None
    up: Matrix
    up_bias: np.ndarray | None
    down: Matrix
    down_bias: np.ndarray | None


@dataclass(frozen=True)
class Weights:
    """All weights of a transformer. `layer(i)` reads those of a layer when it is called."""

    embedding: np.ndarray
    positions: np.ndarray | None
    layer: Callable[[int], LayerWeights]
    norm: np.ndarray
    norm_bias: np.ndarray | None
    head: Matrix  # of the logits


def read_weights(folder: Path, config: Config) -> Weights:
    """The weights in a folder. Raises `InputError` for files that are no weights, and if names or shapes do not fit."""
    arrays, source = _arrays(folder)
    return Checkpoint(arrays, config, source).weights()


class Checkpoint:
    """Arrays by the names that an architecture gives them; matrices may be quantized by GPTQ."""

    def __init__(self, arrays: Mapping[str, np.ndarray], config: Config, source: str):
        prefix = {"llama": "model.", "gpt2": "transformer."}[config.naming]
        self._arrays = {
            name.removeprefix(prefix): array for name, array in arrays.items() if not name.endswith(IGNORED)
        }
        self._config, self._source = config, source
        self._gptq = Gptq.of(config.quantization, source)

    def weights(self) -> Weights:
        """What the arrays hold. Raises `InputError` for missing, unexpected and misshapen ones, naming them."""
        self._require_fitting()
        config = self._config
        embedding, positions, norm, head = (
            ("embed_tokens.weight", "", "norm.weight", "lm_head.weight")
            if config.naming == "llama"
            else ("wte.weight", "wpe.weight", "ln_f.weight", "lm_head.weight")
        )
        return Weights(
            self._arrays[embedding],
            self._arrays[positions] if positions else None,
            self._llama_layer if config.naming == "llama" else self._gpt2_layer,
            self._vector(norm),
            None if config.norm == "rms" else self._vector("ln_f.bias"),
            self._arrays[head] if head in self._arrays and not config.tied else self._arrays[embedding],
        )

    def _llama_layer(self, number: int) -> LayerWeights:
        config, start = self._config, f"layers.{number}."
        heads = [f"{start}self_attn.{name}_proj" for name in "qkv"]
        halves = [f"{start}mlp.gate_proj", f"{start}mlp.up_proj"]
        out, down = f"{start}self_attn.o_proj", f"{start}mlp.down_proj"
        return LayerWeights(
            norm=self._vector(f"{start}input_layernorm.weight"),
            norm_bias=None,
            qkv=_concatenated([self._matrix(name) for name in heads], np.concatenate),
            qkv_bias=np.concatenate([self._vector(f"{n}.bias") for n in heads]) if config.qkv_bias else None,
            query_norm=self._vector(f"{start}self_attn.q_norm.weight") if config.head_norm else None,
            key_norm=self._vector(f"{start}self_attn.k_norm.weight") if config.head_norm else None,
            out=self._matrix(out),
            out_bias=self._vector(f"{out}.bias") if config.out_bias else None,
            mlp_norm=self._vector(f"{start}post_attention_layernorm.weight"),
            mlp_norm_bias=None,
            up=_concatenated([self._matrix(name) for name in halves], _in_turns),
            up_bias=_in_turns([self._vector(f"{n}.bias") for n in halves]) if config.mlp_bias else None,
            down=self._matrix(down),
            down_bias=self._vector(f"{down}.bias") if config.mlp_bias else None,
        )

    def _gpt2_layer(self, number: int) -> LayerWeights:
        start = f"h.{number}."
        return LayerWeights(
            norm=self._vector(f"{start}ln_1.weight"),
            norm_bias=self._vector(f"{start}ln_1.bias"),
            qkv=self._arrays[f"{start}attn.c_attn.weight"].T,
            qkv_bias=self._vector(f"{start}attn.c_attn.bias"),
            query_norm=None,
            key_norm=None,
            out=self._arrays[f"{start}attn.c_proj.weight"].T,
            out_bias=self._vector(f"{start}attn.c_proj.bias"),
            mlp_norm=self._vector(f"{start}ln_2.weight"),
            mlp_norm_bias=self._vector(f"{start}ln_2.bias"),
            up=self._arrays[f"{start}mlp.c_fc.weight"].T,
            up_bias=self._vector(f"{start}mlp.c_fc.bias"),
            down=self._arrays[f"{start}mlp.c_proj.weight"].T,
            down_bias=self._vector(f"{start}mlp.c_proj.bias"),
        )

    def _vector(self, name: str) -> np.ndarray:
        return as_f32(self._arrays[name])

    def _matrix(self, name: str) -> Matrix:
        weight = f"{name}.weight"
        return self._arrays[weight] if self._gptq is None else self._gptq.matrix(self._arrays, name)

    def _require_fitting(self) -> None:
        expected = dict(_expected(self._config))
        if self._gptq is not None:
            expected = self._gptq.expected(expected)
        optional = {"lm_head.weight"} if self._config.tied else set()
        missing = [name for name in expected if name not in self._arrays and name not in optional]
        extra = [name for name in self._arrays if name not in expected]
        shaped = [
            f"{name}: expected shape {shape}, got {self._arrays[name].shape}"
            for name, shape in expected.items()
            if name in self._arrays and self._arrays[name].shape != shape
        ]
        problems = [f"missing: {_listed(missing)}"] if missing else []
        problems += [f"unexpected: {_listed(extra)}"] if extra else []
        problems += shaped[:SHOWN]
        if problems:
            raise InputError(
                "\n  ".join([f"{self._source}: weights do not fit {self._config.kind} of config.json", *problems])
            )


def _expected(config: Config) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names, without a prefix that all have, and shapes of the tensors of a checkpoint."""
    yield from (_llama_names if config.naming == "llama" else _gpt2_names)(config)
    yield "lm_head.weight", (config.vocabulary, config.width)


def _llama_names(config: Config) -> Iterator[tuple[str, tuple[int, ...]]]:
    width, keys = config.width, config.kv_heads * config.head
    yield "embed_tokens.weight", (config.vocabulary, width)
    yield "norm.weight", (width,)
    for layer in range(config.layers):
        start = f"layers.{layer}."
        yield f"{start}input_layernorm.weight", (width,)
        yield f"{start}post_attention_layernorm.weight", (width,)
        for name, rows in (("q", config.heads * config.head), ("k", keys), ("v", keys)):
            yield f"{start}self_attn.{name}_proj.weight", (rows, width)
            if config.qkv_bias:
                yield f"{start}self_attn.{name}_proj.bias", (rows,)
            if config.head_norm and name in "qk":
                yield f"{start}self_attn.{name}_norm.weight", (config.head,)
        yield f"{start}self_attn.o_proj.weight", (width, config.heads * config.head)
        if config.out_bias:
            yield f"{start}self_attn.o_proj.bias", (width,)
        for name, shape in (
            ("gate", (config.inner, width)),
            ("up", (config.inner, width)),
            ("down", (width, config.inner)),
        ):
            yield f"{start}mlp.{name}_proj.weight", shape
            if config.mlp_bias:
                yield f"{start}mlp.{name}_proj.bias", shape[:1]


def _gpt2_names(config: Config) -> Iterator[tuple[str, tuple[int, ...]]]:
    width = config.width
    yield "wte.weight", (config.vocabulary, width)
    yield "wpe.weight", (config.context, width)
    for name in ("ln_f.weight", "ln_f.bias"):
        yield name, (width,)
    for layer in range(config.layers):
        start = f"h.{layer}."
        for norm in ("ln_1", "ln_2"):
            yield f"{start}{norm}.weight", (width,)
            yield f"{start}{norm}.bias", (width,)
        for name, shape in (
            ("attn.c_attn", (width, 3 * width)),
            ("attn.c_proj", (width, width)),
            ("mlp.c_fc", (width, config.inner)),
            ("mlp.c_proj", (config.inner, width)),
        ):
            yield f"{start}{name}.weight", shape
            yield f"{start}{name}.bias", shape[1:]


def _arrays(folder: Path) -> tuple[dict[str, np.ndarray], str]:
    """All arrays of a folder's checkpoint, mapped, and what to call it in messages."""
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        files = sorted({folder / name for name in _shards(index)})
        return {name: array for file in files for name, array in read_arrays(file, bf16=True).items()}, str(index)
    files = sorted(folder.glob("*.safetensors"))
    if len(files) > 1 and folder / "model.safetensors" in files:
        files = [folder / "model.safetensors"]
    if len(files) != 1:
        what = "no .safetensors file" if not files else f"{len(files)} .safetensors files without {index.name}"
        raise InputError(f"{folder}: {what}; expected model.safetensors beside config.json")
    return read_arrays(files[0], bf16=True), str(files[0])


def _shards(index: Path) -> list[str]:
    """Names of the files that an index lists. Raises `InputError` for an index that is none, or leads elsewhere."""
    try:
        names = list(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    except OSError as error:
        raise InputError(f"{index}: cannot be read ({error.strerror or error})") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{index}: not an index of safetensors files ({error})") from error
    for name in names:
        if not isinstance(name, str) or Path(name).name != name:
            raise InputError(f"{index}: {name!r} is not a file beside it")
    return names


def _concatenated(parts: Sequence[Matrix], join: Callable[[Sequence[np.ndarray]], np.ndarray]) -> Matrix:
    if isinstance(parts[0], Quantized):
        return Quantized(*(join([part[field] for part in parts]) for field in range(3)))  # type: ignore[arg-type, index]
    return join(_of_one_type(parts))  # type: ignore[arg-type]


def _of_one_type(parts: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
    return parts if len({part.dtype for part in parts}) == 1 else [as_f32(part) for part in parts]


def _in_turns(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Rows of both in turns."""
    return np.stack(parts, axis=1).reshape(-1, *parts[0].shape[1:])


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
