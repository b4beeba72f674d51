"""`DifferentiableParams`: parameters of a model of which some are tensors, so that gradients flow to them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..params import Params, unknown

if TYPE_CHECKING:
    from ..tensor import Tensor


class DifferentiableParams:
    """Reads as `params`, but those of `names` are tensors of one element, with `requires_grad`: `leaves`, to be closed.

    Raises `InputError` for parameters that are not numbers, or that the model is built from.
    """

    def __init__(self, model: str, params: Params, names: Collection[str]):
        from ..tensor import Tensor

        specs = {spec.name: spec for spec in params.specs()}
        self.leaves: dict[str, Tensor] = {}
        self._params = params
        for name in names:
            if name not in specs:
                raise InputError(f"{model}: {unknown('parameter', name, specs)}")
            if specs[name].kind != "number":
                raise InputError(f"{model}.{name}: has no gradient: it is no number with fractions")
            if specs[name].rebuild:
                raise InputError(f"{model}.{name}: has no gradient: the model is built from it")
        for name in names:
            value = np.array([getattr(params, name)], np.float32)
            self.leaves[name] = leaf = Tensor.from_numpy(value, f"{model}.{name}")
            leaf.requires_grad = True

    def __getattr__(self, name: str) -> Any:
        return self.leaves[name] if name in self.leaves else getattr(self._params, name)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Names and values, as those of `Params`."""
        return ((name, self.leaves.get(name, value)) for name, value in self._params)


def require_constants(where: str, values: Mapping[str, Any]) -> None:
    """Raise `InputError` if a kernel takes tensors that have gradients, which would end there."""
    for name, value in values.items():
        if getattr(value, "requires_grad", False):
            raise InputError(f"{where}: gradients with respect to {name} do not flow through a kernel")
