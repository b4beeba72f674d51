"""`Config`: the sizes and kinds of a transformer, from the config.json that comes with its weights."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from ..errors import InputError

MOST_LAYERS = 1 << 12
ARCHITECTURES = {  # model_type of config.json -> how its tensors are named and joined
    "llama": "llama",
    "mistral": "llama",
    "qwen2": "llama",
    "qwen3": "llama",
    "gpt2": "gpt2",
}
_ACTIVATIONS = {
    "silu": "silu",
    "swish": "silu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}


@dataclass(frozen=True)
class Config:
    """Sizes of a causal transformer.

    `width` is the length of a token's vector, `head` that of a head, `inner` that of the hidden layer; `frequencies`
    are those of the rotation by position (head / 2), None for learned positions. `window` keys at most are attended,
    0 for all.
    """

    kind: str  # model_type
    naming: Literal["llama", "gpt2"]
    layers: int
    width: int
    heads: int
    kv_heads: int
    head: int
    inner: int
    vocabulary: int
    context: int
    epsilon: float
    activation: str
    tied: bool = False
    qkv_bias: bool = False
    out_bias: bool = False
    mlp_bias: bool = False
    head_norm: bool = False
    window: int = 0
    frequencies: tuple[float, ...] | None = None
    end: tuple[int, ...] = ()  # tokens that end a text
    begin: int | None = None
    quantization: Mapping[str, Any] | None = None

    @property
    def gated(self) -> bool:
        """Whether the hidden layer is activation(gate) · up."""
        return self.naming == "llama"

    @property
    def norm(self) -> str:
        """The kind of norm: "rms" or "layer"."""
        return "rms" if self.naming == "llama" else "layer"

    @property
    def qkv(self) -> int:
        """Elements of the queries, keys and values of a token."""
        return (self.heads + 2 * self.kv_heads) * self.head

    @staticmethod
    def read(path: Path) -> Config:
        """From the file config.json. Raises `InputError`, naming what is missing, wrong or not known."""
        return _Reader(str(path), _table(path)).config()


class TextLimits(NamedTuple):
    """The token that begins a text, those that end one, and how many positions there are; None where not known."""

    begin: int | None = None
    end: tuple[int, ...] = ()
    context: int | None = None


def text_limits(folder: Path) -> TextLimits:
    """Those of a model in ONNX, by the config.json of any kind beside it, or else the genai_config.json."""
    for name, key in (("config.json", None), ("genai_config.json", "model")):
        if (folder / name).is_file():
            table = _table(folder / name)
            found = table if key is None else table.get(key)
            if not isinstance(found, dict):
                raise InputError(f"{folder / name}: {key}: expected an object, got {found!r}")
            return _Reader(str(folder / name), found).text_limits()
    return TextLimits()


def _table(path: Path) -> dict[str, Any]:
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error})") from error
    if not isinstance(table, dict):
        raise InputError(f"{path}: expected a JSON object")
    return table


class _Reader:
    """Values of the table, checked."""

    def __init__(self, source: str, table: Mapping[str, Any]):
        self._source, self._table = source, table

    def config(self) -> Config:
        kind = self._table.get("model_type")
        if kind not in ARCHITECTURES:
            raise self._wrong("model_type", f"{kind!r} is not supported; {', '.join(ARCHITECTURES)} are")
        found = self._gpt2() if kind == "gpt2" else self._llama(kind)
        config = Config(kind=kind, end=self.ends(), begin=self._optional("bos_token_id"), **found)
        self._check(config)
        return config

    def _llama(self, kind: str) -> dict[str, Any]:
        width, heads = self._size("hidden_size"), self._size("num_attention_heads")
        head = self._size("head_dim", width // heads)
        bias = bool(self._table.get("attention_bias", False))
        windowed = kind == "mistral" or self._table.get("use_sliding_window", False)
        if windowed and kind != "mistral" and self._table.get("sliding_window"):
            raise self._wrong("use_sliding_window", "windows in some of the layers are not supported")
        return {
            "naming": "llama",
            "layers": self._size("num_hidden_layers", most=MOST_LAYERS),
            "width": width,
            "heads": heads,
            "kv_heads": self._size("num_key_value_heads", heads),
            "head": head,
            "inner": self._size("intermediate_size"),
            "vocabulary": self._size("vocab_size"),
            "context": self._size("max_position_embeddings", 2048),
            "epsilon": self._number("rms_norm_eps", 1e-6),
            "activation": self._activation("hidden_act", "silu"),
            "tied": bool(self._table.get("tie_word_embeddings", False)),
            "qkv_bias": bias or kind == "qwen2",
            "out_bias": bias and kind != "qwen2",
            "mlp_bias": bool(self._table.get("mlp_bias", False)),
            "head_norm": kind == "qwen3",
            "window": self._table.get("sliding_window") or 0 if windowed else 0,
            "frequencies": self._frequencies(head),
            "quantization": self._table.get("quantization_config"),
        }

    def _gpt2(self) -> dict[str, Any]:
        width, heads = self._size("n_embd"), self._size("n_head")
        for name, usual in (("scale_attn_weights", True), ("scale_attn_by_inverse_layer_idx", False)):
            if self._table.get(name, usual) is not usual:
                raise self._wrong(name, f"only {json.dumps(usual)} is supported")
        return {
            "naming": "gpt2",
            "layers": self._size("n_layer", most=MOST_LAYERS),
            "width": width,
            "heads": heads,
            "kv_heads": heads,
            "head": width // heads,
            "inner": self._size("n_inner", 4 * width),
            "vocabulary": self._size("vocab_size"),
            "context": self._size("n_positions", 1024),
            "epsilon": self._number("layer_norm_epsilon", 1e-5),
            "activation": self._activation("activation_function", "gelu_new"),
            "tied": bool(self._table.get("tie_word_embeddings", True)),
            "qkv_bias": True,
            "out_bias": True,
            "mlp_bias": True,
        }

    def _frequencies(self, head: int) -> tuple[float, ...]:
        """Radians for each position (Su et al., "RoFormer", 2021), scaled for long contexts as the file says."""
        rope = self._table.get("rope_parameters") or self._table.get("rope_scaling") or {}
        if not isinstance(rope, Mapping):
            raise self._wrong("rope_scaling", f"expected an object, got {rope!r}")
        base = float(rope.get("rope_theta") or self._number("rope_theta", 10000.0))
        found = 1.0 / base ** (np.arange(0, head, 2, dtype=np.float64) / head)
        kind = rope.get("rope_type", rope.get("type", "default"))
        try:
            if kind == "linear":
                found = found / float(rope["factor"])
            elif kind == "llama3":
                found = _llama3(found, rope)
            elif kind != "default":
                raise self._wrong("rope_scaling", f"{kind!r} is not supported; default, linear and llama3 are")
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise self._wrong("rope_scaling", f"{error!r} in {dict(rope)}") from error
        return tuple(found.tolist())

    def _check(self, config: Config) -> None:
        if config.heads % config.kv_heads:
            raise self._wrong(
                "num_key_value_heads", f"{config.kv_heads} does not divide the {config.heads} attention heads"
            )
        if config.head % 8 or config.head > 256:
            raise self._wrong("head_dim", f"heads of {config.head}; expected a multiple of 8, 256 at most")
        for name, size in (("width", config.width), ("heads", config.heads * config.head), ("inner", config.inner)):
            if size % 32:
                raise InputError(f"{self._source}: {name} {size} is not a multiple of 32, which is not supported")

    def _size(self, name: str, default: int | None = None, most: int = (1 << 31) - 1) -> int:
        value = self._table.get(name)
        value = default if value is None else value
        if value is None:
            raise InputError(f"{self._source}: {name} is missing")
        if type(value) is not int or value <= 0:
            raise self._wrong(name, f"expected a positive integer, got {value!r}")
        if value > most:
            raise self._wrong(name, f"expected {most:,} at most, got {value:,}")
        return value

    def _number(self, name: str, default: float) -> float:
        value = self._table.get(name, default)
        if not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
            raise self._wrong(name, f"expected a positive number, got {value!r}")
        return float(value)

    def _activation(self, name: str, default: str) -> str:
        value = self._table.get(name, default)
        if value not in _ACTIVATIONS:
            raise self._wrong(name, f"{value!r} is not supported; {', '.join(_ACTIVATIONS)} are")
        return _ACTIVATIONS[value]

    def _optional(self, name: str) -> int | None:
        value = self._table.get(name)
        return value if type(value) is int else None

    def text_limits(self) -> TextLimits:
        """The same of the table."""
        names = ("max_position_embeddings", "n_positions", "n_ctx", "context_length")
        context = next((self._size(name) for name in names if self._table.get(name) is not None), None)
        return TextLimits(self._optional("bos_token_id"), self.ends(), context)

    def ends(self) -> tuple[int, ...]:
        """Tokens that end a text."""
        value = self._table.get("eos_token_id")
        return tuple(n for n in (value if isinstance(value, list) else [value]) if type(n) is int)

    def _wrong(self, name: str, message: str) -> InputError:
        return InputError(f"{self._source}: {name}: {message}")


def _llama3(frequencies: np.ndarray, rope: Mapping[str, Any]) -> np.ndarray:
    """Llama 3.1's: low frequencies are divided by a factor, those between are interpolated."""
    factor, low, high = (float(rope[name]) for name in ("factor", "low_freq_factor", "high_freq_factor"))
    turns = float(rope["original_max_position_embeddings"]) * frequencies / (2 * math.pi)
    share = np.clip((turns - low) / (high - low), 0.0, 1.0)
    return (1.0 - share) * frequencies / factor + share * frequencies
