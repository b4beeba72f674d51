"""`OnnxDecoder`: a decoder from an ONNX file, as exporters write it, with a cache of one size for all positions.

Such a network takes the keys and values of the tokens before (`past_key_values.N.key` ...) and returns them with those
of the new token (`present.N.key` ...), one longer. Here the past always has room for a whole context: what is not
there yet is on the left and masked, and after each token the first position is dropped. So one recorded program holds
for every position.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from .. import ops
from ..closing import Closing
from ..errors import InputError
from ..gpu import Kernel, Plan
from ..tensor import Tensor, f32, i32, u32

if TYPE_CHECKING:
    from ..onnx_import import Network, Program

CONTEXT = 1024  # tokens, if no number is asked for
CHUNK = 64  # tokens in a call of `prefill`
PREFIXES = {"past_key_values.": "present.", "past.": "present."}
OWN = ("input_ids", "attention_mask", "position_ids")
_Sizes = tuple[int | str | None, ...]


class OnnxDecoder(Closing):
    """A decoder with a cache. `tokens` and `logits` as of `Transformer`; a prompt is taken token by token.

    Raises `InputError` for a network without a cache or with other inputs, and `UnsupportedOp`.
    """

    chunk = CHUNK

    def __init__(self, path: Path, context: int | None = None):
        self.context = CONTEXT if context is None else context
        if self.context < 2:
            raise InputError(f"a context of {context} tokens: 2 at least are needed")
        with ExitStack() as stack:
            network = stack.enter_context(_network(path, self.context))
            self._fed = {
                name: stack.enter_context(Tensor.zeros(shape, i32, name)) for name, shape in self._own(network)
            }
            self._past = {
                name: stack.enter_context(Tensor.zeros(_numbers(network, name, sizes), dtype.name, name))
                for name, (dtype, sizes) in network.inputs.items()
                if name not in OWN
            }
            self._program = network.bind({**self._fed, **self._past}, {})
            stack.callback(self._program.close)
            found = self._program.tensor("logits")
            self.vocabulary = found.shape[-1]
            self.tokens = stack.enter_context(Tensor.zeros(self.context + 1, u32, "tokens"))
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

    def close(self) -> None:
        """Release tensors and plans. Idempotent."""
        self._stack.close()

    def _own(self, network: Network) -> list[tuple[str, tuple[int, int]]]:
        sizes = {"input_ids": 1, "attention_mask": self.context, "position_ids": 1}
        return [(name, (1, size)) for name, size in sizes.items() if name in network.inputs]

    def _record(self, logits: Tensor, program: Program) -> None:
        defines = {"CONTEXT": self.context, "POSITIONED": "position_ids" in self._fed}
        kernel = Kernel.load("language/feed.wgsl", defines=defines)
        self._feed.dispatch(kernel, self.context, tokens=self.tokens, **kernel.bound(**self._fed))
        with self._carry.recording():
            ops.assign(self.logits, logits.reshape(-1, self.vocabulary)[-1])
            for name, past in self._past.items():
                ops.assign(past, program.tensor(_present(name))[:, :, 1:])


def _network(path: Path, context: int) -> Network:
    """The network with all its sizes known. Raises `InputError` if it is no decoder with a cache."""
    from ..onnx_import import Network

    with Network(path) as network:
        inputs, outputs = network.inputs, network.outputs
    past = [name for name in inputs if _present(name)]
    missing = [name for name in ("input_ids", "attention_mask") if name not in inputs]
    missing += [name for name in ("logits", *map(_present, past)) if name not in outputs]
    if not past or missing:
        what = f"it has no {', '.join(missing)}" if past else "it takes no past_key_values"
        raise InputError(f"{path}: not a decoder with a cache of keys and values: {what}")
    if others := [name for name in inputs if name not in (*OWN, *past)]:
        raise InputError(
            f"{path}: inputs {', '.join(others)} are not known; it takes {', '.join((*OWN, 'past_key_values'))}"
        )
    dims: dict[str, int] = {}
    for name, (_, sizes) in inputs.items():
        expected = {"attention_mask": (1, context)}.get(name, (1, 1) if name in OWN else (1, None, context - 1, None))
        for size, number in zip(sizes or (), expected, strict=False):
            if isinstance(size, str) and number is not None and dims.setdefault(size, number) != number:
                raise InputError(f"{path}: the size {size} of {name} is that of another input too; they must differ")
    return Network(path, dims)


def _present(name: str) -> str:
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
