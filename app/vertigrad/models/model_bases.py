"""Base classes of models: creation and closing of tensors and plans, and defaults for what a model does not have."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from .base import Model, OutputSpec
from .stepping import FixedStep

if TYPE_CHECKING:  # a scene is checked without a GPU, and so without tensors
    from ..tensor import Tensor
    from .parts import Parts


class PartsModel(Model):
    """A model that creates its tensors and plans in `__init__`, within `_building`, and closes all of them together.

    When a file changes it is rebuilt.
    """

    name: str
    _parts: Parts

    @contextmanager
    def _building(self) -> Iterator[Parts]:
        """Collect what is created: closed with the model, or at once if creation fails."""
        from .parts import Parts

        with Parts(self.name) as parts:
            yield parts
            self._parts = parts.pop_all()

    def reload_file(self, name: str) -> bool:
        return False

    def close(self) -> None:
        self._parts.close()


class NamedTensorsModel(PartsModel):
    """A model that declares outputs and state by the names under which it creates its tensors.

    An output is the view that its `OutputSpec` describes. `saved` are the tensors of `state`, and `scalars` the content
    of `scalar_state`, with the remainders of the clocks: attributes of these names with an underscore before them, each
    a number or a list of them.
    """

    saved: ClassVar[tuple[str, ...]] = ()
    scalars: ClassVar[tuple[str, ...]] = ()
    _params: Any

    def __init__(self, name: str, params: Any, inputs: Mapping[str, Tensor], seed: int):
        self.name, self._params, self._inputs, self._seed = name, params, inputs, seed
        with self._building() as parts:
            self._tensors = parts.tensors
            self._create(parts)
            specs = self.output_specs(params)
            self._views = parts.views(
                {key: _view(self._tensors[spec.tensor or key], spec) for key, spec in specs.items()}
            )
            self.reset()

    @abstractmethod
    def _create(self, parts: Parts) -> None:
        """Create tensors and plans."""

    def outputs(self) -> dict[str, Tensor]:
        return self._views

    def state(self) -> dict[str, Tensor]:
        return {name: self._tensors[name] for name in self.saved}

    def scalar_state(self) -> dict[str, float]:
        found: dict[str, float] = {clock.name: clock.remainder for clock in self.clocks}
        for name in self.scalars:
            value = getattr(self, f"_{name}")
            found |= dict(_numbered(name, value)) if isinstance(value, list) else {name: value}
        return found

    def load_scalar_state(self, scalars: Mapping[str, float]) -> None:
        for clock in self.clocks:
            clock.remainder = scalars[clock.name]
        for name in self.scalars:
            value = getattr(self, f"_{name}")
            is_list = isinstance(value, list)
            found = [scalars[key] for key, _ in _numbered(name, value)] if is_list else type(value)(scalars[name])
            setattr(self, f"_{name}", found)


class FixedStepModel(NamedTensorsModel):
    """A model that takes steps of fixed length, at most `max_steps` in a frame."""

    max_steps: ClassVar[int] = 64

    def __init__(self, name: str, params: Any, inputs: Mapping[str, Tensor], seed: int):
        self._clock = FixedStep(self.max_steps)
        self.clocks = (self._clock,)
        super().__init__(name, params, inputs, seed)


def _numbered(name: str, values: list[float]) -> list[tuple[str, float]]:
    return [(f"{name}{index}", value) for index, value in enumerate(values)]


def _view(tensor: Tensor, spec: OutputSpec) -> Tensor:
    if spec.columns is None:
        return tensor[...]
    leading = [size or 0 for size in (spec.shape if isinstance(spec.columns, int) else spec.shape[:-1])]
    if len(leading) == tensor.ndim - 1:
        return tensor[..., spec.columns]
    with tensor.reshape(*leading, tensor.shape[-1]) as rows:
        return rows[..., spec.columns]
