"""`Inside`: the tensors inside a model that can be drawn and read, besides its outputs."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ..errors import InputError
from ..indexed import SEQUENCE, indexed, parsed
from ..params import closest, shown

if TYPE_CHECKING:  # a scene is checked without a GPU, and so without tensors
    import numpy as np

    from ..tensor import DType, Readback, Tensor
    from .base import Model

GRADIENTS = "gradients."  # begins the names of gradients of the loss
TENSORS = "tensors"  # the field of models that has all of their tensors by name: it adds no prefix to the names
NEAR = 5  # names that a message lists

Role = Literal["output", "state", "inside"]


class InnerTensor(NamedTuple):
    """A tensor inside a model: what computes it, and its type and shape as far as they are known beforehand."""

    operator: str
    dtype: str | None = None
    shape: tuple[int | str | None, ...] | None = None


_GRADIENT = re.compile(r"gradient of (.+)\[(\d{1,15})\](?: by (.+))?", re.DOTALL)


class GradientName(NamedTuple):
    """`"gradient of /encoder/3/attn[12] by image"`: of element 12, by an input or by a tensor inside.

    By the first input of floats if `source` is empty.
    """

    tensor: str
    element: int
    source: str = ""

    @classmethod
    def of(cls, name: str) -> GradientName | None:
        """The parts of such a name; None for another one."""
        found = _GRADIENT.fullmatch(name)
        return None if found is None else cls(found[1], int(found[2]), found[3] or "")

    def __str__(self) -> str:
        return f"gradient of {self.tensor}[{self.element}]" + (f" by {self.source}" if self.source else "")


def is_gradient(name: str) -> bool:
    """Whether a tensor of this name is a gradient: of an element, or of the loss."""
    return name.startswith(GRADIENTS) or GradientName.of(name) is not None


@dataclass(frozen=True)
class Observed:
    """What of a model's inside is in use: the names of tensors that are read, and the units that are set to zero."""

    tensors: tuple[str, ...] = ()
    ablated: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.tensors or self.ablated)


class Differentiable(NamedTuple):
    """Names of the tensors of whose elements there are gradients, and of those by which, such as the `inputs`."""

    targets: Sequence[str] = ()
    sources: Sequence[str] = ()
    inputs: Sequence[str] = ()


class Inside(ABC):
    """The inside of a running model."""

    @abstractmethod
    def known(self) -> Mapping[str, InnerTensor]:
        """The tensors that can be observed, by name, in the order in which they are computed."""

    @abstractmethod
    def observe(self, observed: Observed) -> None:
        """Compute these tensors from now on, and no others. Raises `InputError`; then nothing has changed."""

    @abstractmethod
    def tensors(self) -> Mapping[str, Tensor]:
        """The observed tensors by name; they hold values."""

    def is_recorded(self, observed: Observed) -> bool:
        """Whether these can be observed without recording anything anew: tensors observed now stay the same ones."""
        return False

    def expect(self, tensors: Collection[str]) -> None:  # noqa: B027
        """These tensors will be observed soon: what is recorded next may compute them, too."""

    def unit_axis(self, name: str) -> int | None:
        """The axis of an observed tensor along which it has units that can be set to zero; None if there are none."""
        return None

    def differentiable(self) -> Differentiable:
        """What there are gradients of elements of, and by what; nothing in a model without such gradients."""
        return Differentiable()

    @property
    def graph(self) -> Graph | None:
        """The graph of the network in space, while it is observed."""
        return None

    def find_not_finite(self) -> Source | None:
        """Record one more run that finds where values stop being finite; None for a model that cannot."""
        return None


class Node(NamedTuple):
    """A node of a network's graph: the tensor that it computes, by which operator, and its type and shape."""

    name: str
    operator: str
    dtype: DType
    shape: tuple[int, ...]


class Graph(ABC):
    """The graph of a network in space: its `nodes`, and their `positions` (n, 3), from -1 to 1."""

    nodes: Sequence[Node]
    positions: np.ndarray

    @abstractmethod
    def read(self, node: int) -> Readback:
        """Start reading the statistics of what a node holds now, as `Summary.of` takes them."""


class Source(ABC):
    """The first tensor inside a model that is not finite, found on the GPU; close it."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether `result` returns without waiting."""

    @abstractmethod
    def result(self) -> tuple[str, str] | None:
        """The name of the tensor and the operator that computes it; None if all are finite. Raises `GpuError`."""

    @abstractmethod
    def close(self) -> None:
        """Give the memory back. Idempotent."""


class HeldInside(Inside):
    """The tensors that a model keeps from step to step: outputs, state, weights, gradients."""

    def __init__(self, model: Model):
        self._model = model
        self._names: tuple[str, ...] = ()

    def known(self) -> Mapping[str, InnerTensor]:
        return {
            name: InnerTensor(role, tensor.dtype.name, tensor.shape) for role, name, tensor in tensors_of(self._model)
        }

    def observe(self, observed: Observed) -> None:
        kind = type(self._model).__name__
        if observed.ablated:
            raise InputError(f"{kind} computes no tensors of which units could be set to zero")
        for name in observed.tensors:
            if GradientName.of(name) is not None:
                raise InputError(f"{kind} has no {name!r}: there are gradients of elements inside networks only")
        self._names = observed.tensors

    def tensors(self) -> Mapping[str, Tensor]:
        found = {name: tensor for _, name, tensor in tensors_of(self._model)} if self._names else {}
        observed = {}
        for name in self._names:
            with suppress(InputError):  # whoever reads it is the one to report that there is none
                full = resolved(name, found)
                observed[full] = found[full]
        return observed


def resolved(name: str, known: Collection[str]) -> str:
    """The full name of a tensor, given it or its end, such as "attn" for "/encoder/3/attn".

    Of the gradient of a tensor, the names of the tensors are found like that; of an element of a sequence, as in
    "split[2]", that of the sequence, if `known` has the types. Raises `InputError` with names that are near if there is
    none, or with all of them if there are several.
    """
    gradient = GradientName.of(name)
    if gradient is not None:
        with suppress(InputError):  # it may be an input
            gradient = gradient._replace(source=gradient.source and resolved(gradient.source, known))
        return str(gradient._replace(tensor=resolved(gradient.tensor, known)))
    if name in known:
        return name
    ends = [
        full for full in known if name and full.endswith(name) and (name[0] in "/." or full[-len(name) - 1] in "/.:")
    ]
    if len(ends) == 1:
        return ends[0]
    if ends:
        raise InputError(f"{shown(name)} is the end of {len(ends)} names: {_listed(ends)}; give more of it")
    sequence, index = parsed(name) or ("", 0)
    if sequence:
        with suppress(InputError):
            full = resolved(sequence, known)
            if isinstance(known, Mapping) and getattr(known[full], "dtype", None) == SEQUENCE:
                return indexed(full, index)
    near = _near(name, known)
    hint = (
        f"did you mean {_listed(near)}?" if near else f"it has {len(known):,} tensors, such as {_listed(list(known))}"
    )
    raise InputError(f"no tensor {shown(name)} inside; {hint}")


def tensors_of(model: Model) -> Iterator[tuple[Role, str, Tensor]]:
    """The tensors that a model keeps: outputs first, then state, then all others, such as weights."""
    for name, tensor in model.outputs().items():
        yield "output", name, tensor
    for name, tensor in model.state().items():
        yield "state", name, tensor
    for name, tensor in _held(vars(model)):
        yield "inside", name, tensor


def _held(fields: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
    """Tensors in a model's fields, and in their mappings and sequences, by the names of the fields."""
    from ..tensor import Tensor

    for field_name, value in fields.items():
        name = field_name.lstrip("_")
        if isinstance(value, Tensor):
            yield name, value
        elif isinstance(value, Mapping):
            prefix = "" if name == TENSORS else f"{name}."
            yield from ((f"{prefix}{key}", each) for key, each in value.items() if isinstance(each, Tensor))
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
            yield from ((f"{name}.{number}", each) for number, each in enumerate(value) if isinstance(each, Tensor))


def _near(name: str, known: Collection[str]) -> list[str]:
    """The names that contain `name`, or else the closest one, or those whose last part is closest."""
    if parts := [full for full in known if name and name.casefold() in full.casefold()]:
        return parts
    if whole := closest(name, known):
        return [whole]
    last = closest(name, {full.rpartition("/")[2] for full in known})
    return [full for full in known if full.rpartition("/")[2] == last]


def _listed(names: list[str]) -> str:
    text = ", ".join(map(shown, names[:NEAR]))
    return f"{text} and {len(names) - NEAR:,} more" if len(names) > NEAR else text
