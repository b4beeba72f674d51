"""`TorchModel`: base class of models in PyTorch, whose tensors are drawn where PyTorch wrote them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from ..errors import InputError, RequirementError
from .base import ExtraState
from .custom_model import CustomModel

if TYPE_CHECKING:
    import torch

    from .parts import Parts
    from .torch_graph import CudaGraph
    from .torch_tensors import TorchTensors

INSTALL = "PyTorch is not installed here; install it with `pip install vertigrad[torch]`"


class TorchModel(CustomModel):
    """A `CustomModel` whose tensors and inputs are `torch.Tensor`s in `advance`: `self.position`.

    Where `vertigrad info` says that memory is shared with CUDA they are views of the memory that is drawn. Elsewhere
    they are on the CPU, or on CUDA if it is there, and those that a step wrote are uploaded after it. They are written
    in place, or by an assignment, `self.position = new`, which copies values; gradients end there. Inputs are copies.

    `self.device` is the `torch.device` to create modules on. Modules, optimizers, and whatever else has a `state_dict`
    belong to the model's state if they are attributes: they are restored with it, and so are PyTorch's random numbers,
    which are seeded with the model's seed before `start`. With `replayed` a step is recorded as a CUDA graph, where
    there is CUDA; then what `CustomModel` says of `replayed` holds, and optimizers must be `capturable`.

    Raises `RequirementError` if PyTorch is not installed.
    """

    shared: ClassVar[bool] = True
    divisible = False
    differentiable: ClassVar[bool] = False
    double_buffered: ClassVar[bool] = False  # `advance` assigns all tensors by `_assign` and never writes in place
    device: torch.device
    _links: TorchTensors
    _graphs: tuple[CudaGraph, ...] = ()  # one for each block that is written in turns
    _random: Any = None  # the state of PyTorch's random numbers

    def __init__(self, name: str, params: Any, inputs: Mapping[str, Any], seed: int) -> None:
        require_torch()
        super().__init__(name, params, inputs, seed)

    def step(self, dt: float) -> None:
        self.dt = dt
        with self._turn():
            self._feed(dt)
            if self._graphs:
                graph = self._graphs[self._links.turn]
                graph.take(self._graph_key(), self._advance_alike, self._links.targets)
            else:
                self.advance(dt)
        self._time += dt

    def reset(self) -> None:
        import torch

        self._random = None
        for graph in self._graphs:
            graph.close()
        with torch.random.fork_rng(self._cuda_devices()):
            torch.manual_seed(self.seed)
            super().reset()  # values of `start` may be PyTorch's, on any device
            self._random = self._random_state()
        self._links.refresh()

    def differentiate(self, names: Collection[str]) -> NoReturn:
        raise InputError(f"{self.name}: models in PyTorch have no gradients with respect to parameters of the scene")

    def load_scalar_state(self, scalars: Mapping[str, float]) -> None:
        super().load_scalar_state(scalars)
        self._links.refresh()

    def extra_state(self) -> ExtraState | None:
        value = deepcopy({name: part.state_dict() for name, part in self._parts_with_state().items()})
        random = deepcopy(self._random)
        return ExtraState((value, random), sum(map(_nbytes, (*value.values(), random))))

    def load_extra_state(self, state: ExtraState) -> None:
        values, random = state.value
        parts = self._parts_with_state()
        if parts.keys() != values.keys():
            raise InputError(f"{self.name}: has other modules and optimizers than before: {', '.join(parts) or 'none'}")
        try:
            for name, part in parts.items():
                part.load_state_dict(deepcopy(values[name]))
        except (RuntimeError, ValueError, KeyError) as error:
            raise InputError(f"{self.name}: its modules or optimizers are others than before: {error}") from error
        self._random = deepcopy(random)

    def _feed(self, dt: float) -> None:
        """What a step does on the host before it advances; no part of a CUDA graph."""

    def _graph_key(self) -> Any:
        """What a step depends on, its tensors apart."""
        return self.dt, dict(self.params)

    def _attributes(self, parts: Parts) -> Mapping[str, Any]:
        from .torch_tensors import TorchTensors

        self._links = TorchTensors(self._tensors, self._inputs, self.name, self.double_buffered)
        parts.callback(self._release)
        vars(self)["device"] = self._links.device
        if self.replayed and self._links.device.type == "cuda":
            from .torch_graph import CudaGraph

            vars(self)["_graphs"] = tuple(CudaGraph() for _ in range(2 if self.double_buffered else 1))
        return self._links.views

    def _assign(self, name: str, value: Any) -> None:
        import torch

        view = self._links.targets[name]
        values = torch.as_tensor(value, device=view.device)
        try:
            with torch.no_grad():
                view.copy_(values)
        except RuntimeError:
            expected, found = tuple(view.shape), tuple(values.shape)
            raise InputError(f"{self.name}: expected {name} of shape {expected}, got {found}") from None

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """PyTorch computes inside, with the model's own random numbers."""
        import torch

        self._links.begin()
        with torch.random.fork_rng(self._cuda_devices()):
            if self._random is not None:
                cpu, cuda = self._random
                torch.set_rng_state(cpu)
                if cuda is not None:
                    torch.cuda.set_rng_state(cuda, self.device)
            yield
            self._random = self._random_state()
        self._links.end()
        vars(self).update(self._links.views)

    def _random_state(self) -> tuple[Any, Any]:
        import torch

        cuda = torch.cuda.get_rng_state(self.device) if self.device.type == "cuda" else None
        return torch.get_rng_state(), cuda

    def _cuda_devices(self) -> list[Any]:
        return [self.device] if self.device.type == "cuda" else []

    def _parts_with_state(self) -> dict[str, Any]:
        """Modules, optimizers and the like among the attributes."""
        return {
            name: value
            for name, value in vars(self).items()
            if hasattr(value, "load_state_dict") and hasattr(value, "state_dict")
        }

    def _release(self) -> None:
        for graph in self._graphs:
            graph.close()
        for name in self._links.views:
            vars(self).pop(name, None)
        self._links.close()


def require_torch() -> None:
    """Raise `RequirementError` if PyTorch cannot be imported."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise RequirementError(f"{INSTALL} ({error})") from error


def _nbytes(value: Any) -> int:
    """Bytes of the tensors in nested dicts, lists and tuples."""
    if isinstance(value, Mapping):
        return sum(map(_nbytes, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_nbytes, value))
    return getattr(value, "nbytes", 0)
