"""`InputGradient`: the gradient of one element inside a network by an input, an activation or a weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ... import ops
from ...errors import GradientError, InputError, Redecided
from ...gpu import Plan
from ...tensor import Tensor
from ..element_gradient import ElementGradient, one_hot
from ..inside import GradientName

if TYPE_CHECKING:
    from ...onnx_import import Network, Program


class InputGradient(ElementGradient):
    """The backward pass from one element of a tensor, recorded once; `select` chooses another element.

    `result` has the shape of the input, the activation or the weight. The network runs a second time for it, with the
    units `ablated` set to zero. Both are recorded again where numbers decide other shapes. Raises `InputError` for an
    input or a tensor that there is not, or operators without a gradient.
    """

    def __init__(
        self,
        network: Network,
        inputs: Mapping[str, Tensor],
        constants: Mapping[str, np.ndarray],
        ablated: Mapping[str, Sequence[int]],
        name: GradientName,
    ):
        self._network, self._inputs, self._constants, self._ablated, self._name = (
            network,
            inputs,
            constants,
            ablated,
            name,
        )
        self._recorded = ExitStack()
        program, leaf = self._bound()
        self.result = Tensor.zeros(leaf.shape, leaf.dtype, str(name))
        try:
            self._record(program, leaf)
        except BaseException:
            self.close()
            raise

    def select(self, element: int) -> None:
        self._seed[...] = one_hot(self._seed.shape, element, self._seed.dtype.numpy)
        self._name = self._name._replace(element=element)

    def update(self) -> None:
        try:
            self._program.update()
        except Redecided:
            self._record(*self._bound())
            self._program.update()
        self._plan.update()

    def close(self) -> None:
        """Give everything back. Idempotent."""
        self._recorded.close()
        self.result.close()

    def _bound(self) -> tuple[Program, Tensor]:
        """The network with its source as the leaf, and that, for the caller to close."""
        network, name = self._network, self._name
        inside = [name.source] if name.source in network.tensors else []
        bind = partial(network.bind, constants=self._constants, can_read=True, ablated=self._ablated)
        with network.showing((name.tensor, *inside, *self._ablated), (*self._ablated,)):
            if inside or name.source in network.weights:
                program = bind(self._inputs, leaf=name.source)
                assert program.leaf is not None
                return program, program.leaf
            source = _input(name, self._inputs)
            leaf = self._inputs[source].detach()
            leaf.requires_grad = True
            try:
                return bind({**self._inputs, source: leaf}), leaf
            except BaseException:
                leaf.close()
                raise

    def _record(self, program: Program, leaf: Tensor) -> None:
        """Record the backward pass. What was recorded before is closed only then; `result` stays the same tensor."""
        name = self._name
        with ExitStack() as parts:
            parts.enter_context(leaf)
            parts.callback(program.close)
            tensor = program.tensor(name.tensor)
            if not tensor.requires_grad:
                why = "it does not depend on that, or only by comparisons, rounding, indices or shapes"
                raise InputError(f"{name}: {why}")
            if leaf.shape != self.result.shape:
                raise InputError(f"{name} has the shape {leaf.shape} now, and {self.result.shape} is drawn; hide it")
            chosen = one_hot(tensor.shape, name.element, tensor.dtype.numpy)
            seed = parts.enter_context(Tensor.from_numpy(chosen, f"seed of {name}"))
            plan = parts.enter_context(Plan(str(name)))
            try:
                with plan.recording():
                    tensor.backward(seed)
                    if leaf.grad is not None:
                        ops.assign(self.result, leaf.grad)
            except GradientError as error:
                raise InputError(f"{name}: {error}") from error
            finally:
                if leaf.grad is not None:
                    leaf.grad.close()
            self._recorded.close()
            self._program, self._seed, self._plan, self._recorded = program, seed, plan, parts.pop_all()


def _input(name: GradientName, inputs: Mapping[str, Tensor]) -> str:
    floats = [key for key, tensor in inputs.items() if tensor.dtype.kind == "float"]
    source = name.source or next(iter(floats), "")
    if source not in floats:
        known = f"its inputs of floats: {', '.join(floats)}" if floats else "it has no inputs of floats"
        raise InputError(f"{name}: there is no input, tensor inside or weight {source!r}; {known}")
    return source
