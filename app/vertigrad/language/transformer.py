"""`Transformer`: a causal transformer with a cache of keys and values, as two plans that are replayed.

One plan takes one token through all layers, to the logits of the next; another takes up to `chunk` tokens of a prompt.
The position is a uniform, so neither is recorded again. Activations are f32, sums too.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from ..closing import Closing
from ..errors import InputError
from ..gpu import Kernel, Plan
from ..ops.paths import path
from ..tensor import Tensor, u32
from .checkpoint import LayerWeights, Matrix, Weights
from .config import Config
from .linear import Linear, Norm, Parts
from .packing import Format, Packed, Quantized, pack

CONTEXT = 4096  # positions of the cache, where the model has more and none are asked for
CHUNK = 256  # tokens of a prompt that are worked on together
SPLITS = 8  # parts of the keys that workgroups share, for one token
TILE = 128  # keys of a part at least
STEP = 64  # of the number of positions: rows of scores begin at multiples of 256 bytes
Cache: TypeAlias = Literal["f16", "f32"]
Choice: TypeAlias = Literal["auto", "f16", "bf16", "int4"]


@dataclass(frozen=True)
class _Layer:
    norm: Norm
    qkv: Linear
    out: Linear
    mlp_norm: Norm
    up: Linear
    down: Linear
    keys: Tensor
    values: Tensor
    head_gains: tuple[Tensor, Tensor] | None


class Transformer(Closing):
    """A transformer on the GPU. `tokens` (context,), u32, are the text; `logits` (vocabulary,), f32, those of the next.

    `weights` are stored as `format` says: "f16", "bf16" or "int4"; "auto" takes bf16 as it is, and f16 for all others.
    `cache` is the type of keys and values. With `inspect`, `scores` (layers, heads, context) are the scaled scores of
    the last token to all before it. `progress` is called with the layers that are there so far, and all.
    Raises `InputError` for weights that do not fit, `OutOfMemory` and `LimitError`.
    """

    def __init__(
        self,
        config: Config,
        weights: Weights,
        *,
        format: Choice = "auto",
        context: int | None = None,
        cache: Cache = "f16",
        chunk: int = CHUNK,
        inspect: bool = False,
        progress: Callable[[int, int], object] | None = None,
    ):
        self.config, self.cache, self.chunk = config, cache, chunk
        self.context, self.vocabulary = _context(config, context), config.vocabulary
        self._room = -(-self.context // STEP) * STEP
        self._format: Choice = format
        with ExitStack() as stack:
            self._stack = stack
            self._create(weights, inspect, progress or (lambda done, all: None))
            self._decode, self._prefill = self._plan("decode"), self._plan("prefill")
            self._record_decode(self._decode)
            self._record_prefill(self._prefill)
            self._stack = stack.pop_all()

    def decode(self, position: int) -> None:
        """Record the token at `position`, whose logits are there then; all before it must have been taken already."""
        self._require(position, 1)
        self._decode.replay(position=position)

    def prefill(self, position: int, count: int) -> None:
        """Record `count` tokens from `position` on: their keys and values, without logits. At most `chunk`."""
        self._require(position, count)
        if not 0 < count <= self.chunk:
            raise ValueError(f"{count} tokens in one chunk; 1 to {self.chunk} fit")
        self._prefill.replay(position=position, count=count)

    def state(self) -> dict[str, Tensor]:
        """Every tensor that tokens change, by name."""
        found = {"tokens": self.tokens, "logits": self.logits}
        found |= {} if self.scores is None else {"scores": self.scores}
        for number, layer in enumerate(self._layers):
            found |= {f"keys{number}": layer.keys, f"values{number}": layer.values}
        return found

    @property
    def weight_bytes(self) -> int:
        """Bytes of the weights that one token reads."""
        found = [self._head, *(m for layer in self._layers for m in (layer.qkv, layer.out, layer.up, layer.down))]
        return sum(matrix.nbytes for matrix in found)

    @property
    def parameters(self) -> int:
        """Number of weights in matrices; the embedding counts once if it is that of the logits as well."""
        matrices = [m for layer in self._layers for m in (layer.qkv, layer.out, layer.up, layer.down)]
        table = self.config.vocabulary * self.config.width
        return sum(m.rows * m.inner for m in matrices) + table * (1 if self.config.tied else 2)

    def close(self) -> None:
        """Release tensors and plans. Idempotent."""
        self._stack.close()

    def _require(self, position: int, count: int) -> None:
        if position < 0 or position + count > self.context:
            raise InputError(
                f"positions {position} to {position + count - 1} are outside of the context of {self.context} tokens"
            )

    # tensors ------------------------------------------------------------------------------------------------------

    def _create(self, weights: Weights, inspect: bool, progress: Callable[[int, int], object]) -> None:
        config = self.config
        attended = config.heads * config.head
        self.tokens = self._keep(Tensor.zeros(self._room + STEP, u32, "tokens"))
        self.logits = self._keep(Tensor.zeros(-(-config.vocabulary // 4) * 4, name="logits"))
        shape = config.layers, config.heads, self._room
        self.scores = self._keep(Tensor.zeros(shape, name="scores")) if inspect else None
        self._angles = None if config.frequencies is None else self._tensor("angles", self._rotation())
        table = pack(_floats(weights.embedding), self._table_format(weights.embedding))
        self._embedding = Linear.of(self._stack, "embedding", table)
        self._positions = None
        if weights.positions is not None:
            packed = pack(weights.positions, table.format)
            self._positions = Linear.of(self._stack, "positions", packed)
        self._layers = []
        for number in range(config.layers):
            progress(number, config.layers)
            self._layers.append(self._layer(f"layer{number}", weights.layer(number)))
        progress(config.layers, config.layers)
        self._norm = self._normalization("norm", weights.norm, weights.norm_bias)
        shared = weights.head is weights.embedding and self._format != "int4"
        self._head = self._embedding if shared else self._linear("head", weights.head)
        self._x = self._empty("x", config.width)
        self._rows = self._empty("rows", config.qkv)
        self._parts = self._empty("parts", SPLITS, attended)
        self._sums = self._empty("sums", SPLITS, config.heads, 2)
        self._hidden = self._empty("hidden", config.inner)

    def _layer(self, name: str, weights: LayerWeights) -> _Layer:
        config = self.config
        words = config.head if self.cache == "f32" else config.head // 2
        keys, values = (
            self._keep(Tensor.zeros((config.kv_heads, self._room, words), u32, f"{name}.{what}"))
            for what in ("keys", "values")
        )
        gains = None
        if weights.query_norm is not None and weights.key_norm is not None:
            gains = (
                self._tensor(f"{name}.query_norm", weights.query_norm),
                self._tensor(f"{name}.key_norm", weights.key_norm),
            )
        then, activation = ("gate" if config.gated else "activate"), config.activation
        return _Layer(
            self._normalization(f"{name}.norm", weights.norm, weights.norm_bias),
            self._linear(f"{name}.qkv", weights.qkv, weights.qkv_bias),
            self._linear(f"{name}.out", weights.out, weights.out_bias, "add"),
            self._normalization(f"{name}.mlp_norm", weights.mlp_norm, weights.mlp_norm_bias),
            self._linear(f"{name}.up", weights.up, weights.up_bias, then, activation),
            self._linear(f"{name}.down", weights.down, weights.down_bias, "add"),
            keys,
            values,
            gains,
        )

    def _linear(
        self, name: str, matrix: Matrix, bias: np.ndarray | None = None, then: Any = "store", activation: str = ""
    ) -> Linear:
        return Linear.of(self._stack, name, self._packed(matrix), bias, then, activation)

    def _packed(self, matrix: Matrix) -> Packed:
        if isinstance(matrix, Quantized):
            return pack(matrix, "int4")
        return pack(matrix, self._table_format(matrix) if self._format == "auto" else self._format)

    def _table_format(self, matrix: np.ndarray) -> Format:
        """That of tables of which a row is read, which is never int4."""
        if self._format in ("f16", "bf16"):
            return self._format
        return "bf16" if matrix.dtype == np.uint16 else "f16"

    def _normalization(self, name: str, gain: np.ndarray, shift: np.ndarray | None) -> Norm:
        offset = None if shift is None else self._tensor(f"{name}.shift", shift)
        return Norm(self.config.norm, self._tensor(name, gain), offset, self.config.epsilon)

    def _rotation(self) -> np.ndarray:
        """Cosine and sine for each position and half head; the angles are f32, as in `transformers`."""
        angles = np.outer(np.arange(self._room, dtype=np.float32), np.asarray(self.config.frequencies, np.float32))
        return np.stack([np.cos(angles), np.sin(angles)], axis=-1).astype(np.float32)

    def _tensor(self, name: str, array: np.ndarray) -> Tensor:
        return self._keep(Tensor.from_numpy(np.ascontiguousarray(array), name))

    def _empty(self, name: str, *shape: int) -> Tensor:
        return self._keep(Tensor.zeros(shape, name=name))

    def _keep(self, tensor: Tensor) -> Tensor:
        return self._stack.enter_context(tensor)

    def _plan(self, name: str) -> Plan:
        return self._stack.enter_context(Plan(name))

    # plans --------------------------------------------------------------------------------------------------------

    def _record_decode(self, plan: Plan) -> None:
        config, parts = self.config, None
        self._embed(plan, self._x, count=1)
        for number, layer in enumerate(self._layers):
            layer.qkv.add_vector(plan, self._x, self._rows, layer.norm)
            self._attend(plan, number, layer)
            parts = Parts(self._sums, SPLITS, config.heads, config.head, TILE)
            layer.out.add_vector(plan, self._parts, self._x, parts=parts)
            layer.up.add_vector(plan, self._x, self._hidden, layer.mlp_norm)
            layer.down.add_vector(plan, self._hidden, self._x)
        self._head.add_vector(plan, self._x, self.logits, self._norm)

    def _record_prefill(self, plan: Plan) -> None:
        config, tokens = self.config, self.chunk
        attended = config.heads * config.head
        x, normed, rows, queries, mixed, hidden = (
            self._empty(f"chunk.{name}", tokens, size)
            for name, size in (
                ("x", config.width),
                ("normed", config.width),
                ("rows", config.qkv),
                ("queries", attended),
                ("mixed", attended),
                ("hidden", config.inner),
            )
        )
        self._embed(plan, x)
        for layer in self._layers:
            self._normalize(plan, layer.norm, x, normed)
            layer.qkv.add_matrix(plan, normed, rows)
            self._project(plan, layer, rows, queries)
            self._attend_chunk(plan, layer, rows, queries, mixed)
            layer.out.add_matrix(plan, mixed, x)
            self._normalize(plan, layer.mlp_norm, x, normed)
            layer.up.add_matrix(plan, normed, hidden)
            layer.down.add_matrix(plan, hidden, x)

    def _embed(self, plan: Plan, out: Tensor, **count: int) -> None:
        table, positions = self._embedding, self._positions
        defines = {"FORMAT": table.format, "INNER": table.inner, "POSITIONS": positions is not None}
        tokens = 1 if count else self.chunk
        plan.dispatch(
            Kernel.load("language/embed.wgsl", defines=defines),
            tokens * table.inner // 8,
            overwrites=("out",) if count else (),
            tokens=self.tokens,
            table=table.words,
            out=out,
            positions=None if positions is None else positions.words,
            vocabulary=table.rows,
            **count,
        )

    def _normalize(self, plan: Plan, norm: Norm, x: Tensor, out: Tensor) -> None:
        defines = {"INNER": x.shape[1], "NORM": norm.kind, "SHIFT": norm.shift is not None}
        kernel = Kernel.load("language/normalize.wgsl", defines=defines)
        arguments = {"x": x, "gain": norm.gain, "shift": norm.shift, "out": out}
        plan.dispatch(kernel, x.shape[0] * 128, overwrites=("out",), epsilon=norm.epsilon, **arguments)

    def _attend(self, plan: Plan, number: int, layer: _Layer) -> None:
        """One token: its key and value into the cache, and the parts of its attention."""
        defines = self._attention_defines(SPLITS) | {"DECODE": True, "SCORES": self.scores is not None}
        scores = None if self.scores is None else self._stack.enter_context(self.scores[number])
        plan.dispatch(
            Kernel.load("language/attention.wgsl", defines=defines),
            (self.config.heads * TILE, SPLITS),
            rows=self._rows,
            out=self._parts,
            weight_sums=self._sums,
            scores=scores,
            scale=self.config.head**-0.5,
            epsilon=self.config.epsilon,
            **self._head_arguments(layer),
        )

    def _project(self, plan: Plan, layer: _Layer, rows: Tensor, queries: Tensor) -> None:
        config, threads = self.config, 64
        plan.dispatch(
            Kernel.load("language/project.wgsl", defines=self._head_defines(threads)),
            ((config.heads + config.kv_heads) * threads, self.chunk),
            rows=rows,
            queries=queries,
            epsilon=config.epsilon,
            **self._head_arguments(layer),
        )

    def _attend_chunk(self, plan: Plan, layer: _Layer, rows: Tensor, queries: Tensor, out: Tensor) -> None:
        defines = self._attention_defines(1) | {"DECODE": False, "SCORES": False}
        kernel = Kernel.load("language/attention.wgsl", defines=defines)
        plan.dispatch(
            kernel,
            (self.config.heads * TILE, 1, self.chunk),
            queries=queries,
            out=out,
            scale=self.config.head**-0.5,
            epsilon=self.config.epsilon,
            **kernel.bound(rows=rows, **self._head_arguments(layer)),
        )

    def _attention_defines(self, splits: int) -> dict[str, Any]:
        values = {"TILE": TILE, "SPLITS": splits, "WINDOW": self.config.window, "SUBGROUP": path().subgroup}
        return self._head_defines(TILE) | values

    def _head_defines(self, threads: int) -> dict[str, Any]:
        config = self.config
        return {
            **{"HEAD": config.head, "HEADS": config.heads, "KV_HEADS": config.kv_heads},
            **{"ROTATED": self._angles is not None, "NORMED": config.head_norm},
            **{"CACHE": self.cache, "CONTEXT": self._room, "THREADS": threads},
        }

    def _head_arguments(self, layer: _Layer) -> dict[str, Any]:
        query_gain, key_gain = layer.head_gains or (None, None)
        gains = {"query_gain": query_gain, "key_gain": key_gain}
        return {"keys": layer.keys, "values": layer.values, "angles": self._angles, **gains}


def _context(config: Config, asked: int | None) -> int:
    """Positions of the cache. Raises `InputError` if more are asked for than the model has."""
    if asked is not None and not 1 <= asked <= config.context:
        raise InputError(f"a context of {asked} tokens: this model has 1 to {config.context}")
    return min(config.context, asked or CONTEXT)


def _floats(array: np.ndarray) -> np.ndarray:
    return array if array.dtype in (np.uint16, np.float16) else array.astype(np.float32, copy=False)
