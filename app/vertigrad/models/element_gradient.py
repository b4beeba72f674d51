"""`ElementGradient`: the gradient of one element of a tensor by others, inside a model; and all that are observed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..closing import Closing
from ..errors import InputError
from .inside import GradientName

if TYPE_CHECKING:
    from ..tensor import Tensor


class ElementGradient(Closing, ABC):
    """A backward pass from one element of a tensor, recorded once; `select` chooses another element.

    `result` is the gradient after `update`; close it.
    """

    result: Tensor

    @abstractmethod
    def select(self, element: int) -> None:
        """Take the gradient of this element, by its row-major index. Raises `InputError` if there is none."""

    @abstractmethod
    def update(self) -> None:
        """Compute it for the inputs and weights as they are now."""


class ElementGradients(Closing):
    """The gradients that are observed. One of another element takes over a recording that is no longer needed.

    `record` records the gradient of a name, and raises `InputError` if there is none.
    """

    def __init__(self, record: Callable[[GradientName], ElementGradient]):
        self._record = record
        self._recorded: dict[GradientName, ElementGradient] = {}

    def take(self, names: Sequence[GradientName]) -> None:
        """Compute these gradients from now on, and no others. Raises `InputError`; then nothing has changed."""
        before = self._recorded
        found = {name: before[name] for name in names if name in before}
        free = {name: one for name, one in before.items() if name not in found}
        new: list[ElementGradient] = []
        try:
            for name in names:
                if name not in found:
                    same = next((one for one in free if one._replace(element=name.element) == name), None)
                    if same is None:
                        new.append(self._record(name))
                    found[name] = new[-1] if same is None else free.pop(same)
                    found[name].select(name.element)
        except BaseException:
            for one in new:
                one.close()
            for name, one in before.items():
                one.select(name.element)
            raise
        for one in free.values():
            one.close()
        self._recorded = {name: found[name] for name in names}

    def record_again(self) -> None:
        """Record all of them again, as after the network has changed."""
        names = list(self._recorded)
        self.take([])
        self.take(names)

    def results(self) -> dict[str, Tensor]:
        """The gradients by name."""
        return {str(name): one.result for name, one in self._recorded.items()}

    def update(self) -> None:
        """Compute them for the inputs and weights as they are now."""
        for one in self._recorded.values():
            one.update()

    def close(self) -> None:
        """Give everything back. Idempotent."""
        for one in self._recorded.values():
            one.close()


def one_hot(shape: tuple[int, ...], element: int, dtype: np.dtype) -> np.ndarray:
    """Zeros of this shape with a 1 at a row-major index. Raises `InputError` if it has no such element."""
    seed = np.zeros(shape, dtype)
    if element >= seed.size:
        raise InputError(f"a tensor of shape {shape} has no element {element:,}")
    seed.reshape(-1)[element] = 1.0
    return seed
