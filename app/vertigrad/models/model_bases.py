"""What many models have in common: how they are made and closed, and what they have nothing to say about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .base import Model
from .stepping import FixedStep

if TYPE_CHECKING:  # a scene is checked without a GPU, and so without tensors
    from ..tensor import Tensor
    from .parts import Parts


class PartsModel(Model):
    """A model that makes everything in its `__init__`, within `_building`, and closes all of it at once."""

    name: str
    _held: Parts

    @contextmanager
    def _building(self) -> Iterator[Parts]:
        """What takes what is made: closed with the model, or at once if something that follows cannot be made."""
        from .parts import Parts

        with Parts(self.name) as parts:
            yield parts
            self._held = parts.pop_all()

    def close(self) -> None:
        self._held.close()


class NoReloadModel(PartsModel):
    """One that takes no file in anew: it is built again."""

    def reread(self, name: str) -> bool:
        return False


class TensorStateModel(NoReloadModel):
    """One that keeps nothing outside of its tensors."""

    def numbers(self) -> dict[str, float]:
        return {}

    def resume(self, numbers: Mapping[str, float]) -> None:
        pass


class StaticModel(TensorStateModel):
    """One that does not move: it is as it was made, for ever."""

    def step(self, dt: float) -> None:
        pass

    def reset(self) -> None:
        pass

    def state(self) -> dict[str, Tensor]:
        return {}


class FixedStepModel(NoReloadModel):
    """One that keeps nothing outside of its tensors but what is left over of the frames' time."""

    _clock: FixedStep

    def numbers(self) -> dict[str, float]:
        return {"remainder": self._clock.remainder}

    def resume(self, numbers: Mapping[str, float]) -> None:
        self._clock.remainder = numbers["remainder"]
