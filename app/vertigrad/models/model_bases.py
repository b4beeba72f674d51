"""Base classes of models: creation and closing of tensors and plans, and defaults for what a model does not have."""

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
    """A model that creates its tensors and plans in `__init__`, within `_building`, and closes all of them together."""

    name: str
    _parts: Parts

    @contextmanager
    def _building(self) -> Iterator[Parts]:
        """Collect what is created: closed with the model, or at once if creation fails."""
        from .parts import Parts

        with Parts(self.name) as parts:
            yield parts
            self._parts = parts.pop_all()

    def close(self) -> None:
        self._parts.close()


class NoReloadModel(PartsModel):
    """A model that is rebuilt when a file changes."""

    def reread(self, name: str) -> bool:
        return False


class TensorStateModel(NoReloadModel):
    """A model without scalar state outside of its tensors."""

    def numbers(self) -> dict[str, float]:
        return {}

    def resume(self, numbers: Mapping[str, float]) -> None:
        pass


class StaticModel(TensorStateModel):
    """A model that does not change in time."""

    def step(self, dt: float) -> None:
        pass

    def reset(self) -> None:
        pass

    def state(self) -> dict[str, Tensor]:
        return {}


class FixedStepModel(NoReloadModel):
    """A model whose only scalar state is the remainder of its fixed time step."""

    _clock: FixedStep

    def numbers(self) -> dict[str, float]:
        return {"remainder": self._clock.remainder}

    def resume(self, numbers: Mapping[str, float]) -> None:
        self._clock.remainder = numbers["remainder"]
