"""`InputGradient`: the gradient of one element inside a network by an input, an activation or a weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np

from ... import ops
from ...errors import GradientError, InputError, UnsupportedOp
from ...gpu import Plan
from ...tensor import Tensor
from ..element_gradient import ElementGradient, one_hot
from ..inside import GradientName

if TYPE_CHECKING:
    from ...onnx_import import Network, Program


class InputGradient(ElementGradient):
    """The backward pass from one element of a tensor, recorded once; `select` chooses another element.

    `result` has the shape of the input, the activation or the weight. The network runs a second time for it, with the
    units `ablated` set to zero. Raises `InputError` for an input or a tensor that there is not, or operators without a
    gradient.
    """

    def __init__(
        self,
        network: Network,
        inputs: Mapping[str, Tensor],
        constants: Mapping[str, np.ndarray],
        ablated: Mapping[str, Sequence[int]],
        name: GradientName,
    ):
        with ExitStack() as parts:
            inside = [name.source] if name.source in network.tensors else []
            if inside or name.source in network.weights:
                network.show_inside((name.tensor, *inside, *ablated), (*ablated,))
                self._program = _bound(network, inputs, constants, name)
                leaf = self._program.leaf
                assert leaf is not None
                parts.enter_context(leaf)
            else:
                source = _input(name, inputs)
                leaf = parts.enter_context(inputs[source].detach())
                leaf.requires_grad = True
                network.show_inside((name.tensor, *ablated), (*ablated,))
                self._program = network.bind({**inputs, source: leaf}, constants)
            parts.callback(self._program.close)
            tensor = self._program.tensor(name.tensor)
            if not tensor.requires_grad:
                raise InputError(f"{name}: it does not depend on that, or only by comparisons, rounding or indices")
            self._seed = parts.enter_context(Tensor.zeros(tensor.shape, tensor.dtype, f"seed of {name}"))
            self.result = parts.enter_context(Tensor.zeros(leaf.shape, leaf.dtype, str(name)))
            self._plan = parts.enter_context(Plan(str(name)))
            try:
                with self._plan.recording():
                    tensor.backward(self._seed)
                    if leaf.grad is not None:
                        ops.assign(self.result, leaf.grad)
            except GradientError as error:
                raise InputError(f"{name}: {error}") from error
            finally:
                if leaf.grad is not None:
                    leaf.grad.close()
            for masked, mask in self._program.masks.items():  # only now: what backward reads is not written before
                mask.set(ablated[masked])
            self.select(name.element)
            self._parts = parts.pop_all()

    def select(self, element: int) -> None:
        self._seed[...] = one_hot(self._seed.shape, element, self._seed.dtype.numpy)

    def update(self) -> None:
        self._program.update()
        self._plan.update()

    def close(self) -> None:
        """Give everything back. Idempotent."""
        self._parts.close()


def _bound(
    network: Network, inputs: Mapping[str, Tensor], constants: Mapping[str, np.ndarray], name: GradientName
) -> Program:
    """The network with its source as the leaf. Raises `InputError` if its numbers are needed to record it."""
    try:
        return network.bind(inputs, constants, leaf=name.source)
    except UnsupportedOp as error:  # the network itself could be recorded
        nodes = ", ".join(reason.partition(": ")[0] for reason in error.reasons)
        raise InputError(
            f"{name}: there is no gradient by {name.source}, whose numbers decide a shape or a size of {nodes}"
        ) from error


def _input(name: GradientName, inputs: Mapping[str, Tensor]) -> str:
    floats = [key for key, tensor in inputs.items() if tensor.dtype.kind == "float"]
    source = name.source or next(iter(floats), "")
    if source not in floats:
        known = f"its inputs of floats: {', '.join(floats)}" if floats else "it has no inputs of floats"
        raise InputError(f"{name}: there is no input, tensor inside or weight {source!r}; {known}")
    return source
