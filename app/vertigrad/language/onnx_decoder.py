"""`OnnxDecoder`: a decoder from an ONNX file, as exporters write it, with a cache of one size for all positions.

Such a network takes the keys and values of the tokens before (`past_key_values.N.key` ...) and returns them with those
of the new token (`present.N.key` ...). Here the past always has room for a whole context, so one recorded program holds
for every position. Networks of plain operators, as optimum exports them, append the new token: what is not there yet is
on the left and masked, and after each token the first position is dropped. `GroupQueryAttention`, as in exports for
onnxruntime-genai, writes the new token at its position.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .. import ops
from ..closing import Closing
from ..errors import InputError
from ..gpu import Kernel, Plan
from ..tensor import Tensor, f32, i32, u32
from .transformer import STEP

if TYPE_CHECKING:
    from ..onnx_import import Network, Program

CONTEXT = 1024  # tokens, if no number is asked for
CHUNK = 64  # tokens in a call of `prefill`
PREFIXES = {"past_key_values.": "present.", "past.": "present."}
OWN = ("input_ids", "attention_mask", "position_ids")
WRITING = "GroupQueryAttention"  # the operator that writes keys and values at their position
_Sizes = tuple[int | str | None, ...]


class OnnxDecoder(Closing):
    """A decoder with a cache. `tokens` and `logits` as of `Transformer`; a prompt is taken token by token.

    `most` are the positions that the model has. Raises `InputError` for a network without a cache or with other inputs,
    or a context that is too long, and `UnsupportedOp`.
    """

    chunk = CHUNK
    scores = None  # of its attention: they stay inside

    def __init__(self, path: Path, context: int | None = None, most: int | None = None):
        self.context = min(CONTEXT, most or CONTEXT) if context is None else context
        if self.context < 2:
            raise InputError(f"a context of {context} tokens: 2 at least are needed")
        if most is not None and self.context > most:
            raise InputError(f"a context of {context} tokens: the model has {most} positions")
        with ExitStack() as stack:
            network, self._in_place = _network(path, self.context)
            stack.enter_context(network)
            shapes = (one.shape or () for one in network.weights.values())
            self.parameters = sum(math.prod(size for size in shape if isinstance(size, int)) for shape in shapes)
            self._fed = {
                name: stack.enter_context(Tensor.zeros(shape, i32, name)) for name, shape in self._own(network)
            }
            self._past = {
                name: stack.enter_context(Tensor.zeros(_numbers(network, name, sizes), dtype.name, name))
                for name, (dtype, sizes) in network.inputs.items()
                if name not in OWN
            }
            largest = {"attention_mask": 1, "position_ids": self.context - 1}
            bounds = {name: bound for name, bound in largest.items() if name in self._fed}
            self._program = network.bind({**self._fed, **self._past}, {}, bounds=bounds)
            stack.callback(self._program.close)
            found = self._program.tensor("logits")
            self.vocabulary = found.shape[-1]
            room = -(-self.context // STEP) * STEP + STEP
            self.tokens = stack.enter_context(Tensor.zeros(room, u32, "tokens"))
            self.logits = stack.enter_context(Tensor.zeros(self.vocabulary, f32, "logits"))
            self._feed, self._carry = stack.enter_context(Plan("feed")), stack.enter_context(Plan("carry"))
            self._record(found, self._program)
            self._stack = stack.pop_all()

    def decode(self, position: int) -> None:
        """Record the token at `position`; those before it must have been taken one after the other."""
        self._feed.replay(position=position)
        self._program.replay()
        self._carry.replay()

    def prefill(self, position: int, count: int) -> None:
        """Record `count` tokens from `position` on."""
        for number in range(position, position + count):
            self.decode(number)

    def state(self) -> dict[str, Tensor]:
        """Every tensor that tokens change, by name."""
        return {"tokens": self.tokens, "logits": self.logits, **self._past}

    def close(self) -> None:
        """Release tensors and plans. Idempotent."""
        self._stack.close()

    def _own(self, network: Network) -> list[tuple[str, tuple[int, int]]]:
        sizes = {"input_ids": 1, "attention_mask": self.context, "position_ids": 1}
        return [(name, (1, size)) for name, size in sizes.items() if name in network.inputs]

    def _record(self, logits: Tensor, program: Program) -> None:
        defines = {"CONTEXT": self.context, "POSITIONED": "position_ids" in self._fed, "WRITTEN": self._in_place}
        kernel = Kernel.load("language/feed.wgsl", defines=defines)
        self._feed.dispatch(kernel, self.context, tokens=self.tokens, **kernel.bound(**self._fed))
        with self._carry.recording():
            last = logits.reshape(-1, self.vocabulary)[-1]
            ops.assign(self.logits, last if last.dtype is f32 else ops.cast(last, f32))
            for name, past in self._past.items():
                present = program.tensor(present_of(name))
                ops.assign(past, present if self._in_place else present[:, :, 1:])


@lru_cache(maxsize=8)
def vocabulary_of(path: Path, modified: int) -> int | None:
    """How many logits a decoder in ONNX has, without a GPU; None if its file, as `modified`, does not say.

    Raises `InputError` if it is no decoder with a cache.
    """
    network, _ = _network(path, 2)
    with network:
        return network.output_specs()["logits"].shape[-1]


def cache_of(path: Path) -> dict[str, np.ndarray]:
    """An empty cache for the decoder of a file, by the names of inputs."""
    network, _ = _network(path, 1)
    with network:
        found = {name: one for name, one in network.inputs.items() if name not in OWN}
        return {
            name: np.zeros((*shape[:2], 0, shape[3]), dtype)
            for name, (dtype, sizes) in found.items()
            for shape in (_numbers(network, name, sizes),)
        }


def _network(path: Path, context: int) -> tuple[Network, bool]:
    """The network with all its sizes known, and whether it writes keys and values in place.

    Raises `InputError` if it is no decoder with a cache.
    """
    from ..onnx_import import Network

    with Network(path) as network:
        inputs, outputs, computed = network.inputs, network.outputs, network.tensors
    past = [name for name in inputs if present_of(name)]
    missing = [name for name in ("input_ids", "attention_mask") if name not in inputs]
    missing += [name for name in ("logits", *map(present_of, past)) if name not in outputs]
    if not past or missing:
        what = f"it has no {', '.join(missing)}" if past else "it takes no past_key_values"
        raise InputError(f"{path}: not a decoder with a cache of keys and values: {what}")
    if others := [name for name in inputs if name not in (*OWN, *past)]:
        raise InputError(
            f"{path}: inputs {', '.join(others)} are not known; it takes {', '.join((*OWN, 'past_key_values'))}"
        )
    in_place = WRITING in {one.operator for name, one in computed.items() if name in map(present_of, past)}
    rows = context if in_place else context - 1
    dims: dict[str, int] = {}
    for name, (_, sizes) in inputs.items():
        expected = {"attention_mask": (1, context)}.get(name, (1, 1) if name in OWN else (1, None, rows, None))
        for size, number in zip(sizes or (), expected, strict=False):
            if isinstance(size, str) and number is not None and dims.setdefault(size, number) != number:
                raise InputError(f"{path}: the size {size} of {name} is that of another input too; they must differ")
    return Network(path, dims), in_place


def present_of(name: str) -> str:
    """The output that becomes the input `name` of the next token; empty if it is no such input."""
    for prefix, replacement in PREFIXES.items():
        if name.startswith(prefix):
            return replacement + name.removeprefix(prefix)
    return ""


def _numbers(network: Network, name: str, sizes: _Sizes | None) -> tuple[int, ...]:
    found = [network.dims.get(size) if isinstance(size, str) else size for size in sizes or ()]
    if len(found) != 4 or None in found:
        raise InputError(f"{network.source}: {name} has the shape {sizes}; expected (batch, heads, past, head)")
    return tuple(size or 0 for size in found)
