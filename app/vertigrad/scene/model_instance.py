"""`ModelInstance`: one running model, its parameters, and its published outputs."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..errors import InputError
from ..models import Model
from ..models.custom_model import CustomModel
from ..models.inside import Observed, resolved
from ..models.interaction import Interaction
from ..params import Params
from ..tensor import Publication, Tensor
from . import code
from .schema import ModelSpec

_log = logging.getLogger("vertigrad")


class ModelInstance:
    """A running model: an object of its class, its parameters, and its published outputs.

    A model of a scene's own code takes a step of length zero first, to find its errors before it is used. Raises what
    the model raises; then nothing remains allocated.
    """

    def __init__(self, spec: ModelSpec, params: Params, inputs: Mapping[str, Tensor], observed: Observed):
        self.spec = spec
        self.params = params
        self.substeps = spec.substeps
        self.publication = Publication()
        self._interacting = False
        self.observed = observed
        self.model = _observing(spec.kind, observed)(spec.name, params, inputs, spec.seed)
        self.inside = self.model.inside
        try:
            self.inside.observe(observed)
        except BaseException:
            self.model.close()
            raise
        if self.source is not None or issubclass(spec.kind, CustomModel):
            self._try()
        self.publish()

    @property
    def source(self) -> Path | None:
        """The Python file of its class; None for one that comes with Vertigrad."""
        return code.source(self.spec.kind)

    @property
    def outputs(self) -> Mapping[str, Tensor]:
        """The model's outputs, and the tensors inside that are observed."""
        return {**self.observed_tensors, **self.model.outputs()} if self.observed.tensors else self.model.outputs()

    def output(self, name: str) -> Tensor:
        """An output, or an observed tensor by its name or the end of it. Raises `InputError` if there is none."""
        outputs = self.outputs
        if name not in outputs:
            name = resolved(name, self.inside.known() if self.observed.tensors else outputs)
        return outputs[name]

    @property
    def observed_tensors(self) -> Mapping[str, Tensor]:
        """The tensors inside that are observed, by name."""
        return self.inside.tensors() if self.observed.tensors else {}

    def observe(self, observed: Observed) -> bool:
        """Observe these tensors inside from now on; returns whether one observed before, too, is another tensor.

        Raises `InputError`, and what recording the model raises; then nothing has changed.
        """
        if observed == self.observed:
            return False
        before = {name: tensor.owner for name, tensor in self.observed_tensors.items()}
        self.publication.withdraw()
        try:
            self.inside.observe(observed)
            self.observed = observed
        finally:
            self.publish()
        now = self.observed_tensors
        return any(now[name].owner is not owner for name, owner in before.items() if name in now)

    def files(self) -> Iterator[tuple[str, Path]]:
        """The parameters that name files, with the files."""
        for spec in self.params.specs():
            file = getattr(self.params, spec.name) if spec.kind == "file" else None
            if file is not None:
                yield spec.name, file

    def step(self, dt: float) -> None:
        """Record the substeps of one frame, `dt` seconds in all, and publish the result."""
        self.publication.withdraw()
        self.take_steps(dt)
        self.publish()

    def take_steps(self, dt: float) -> None:
        """Record the substeps of one frame, `dt` seconds in all."""
        for _ in range(self.substeps):
            self.model.step(dt / self.substeps)

    def apply_interaction(self, interaction: Interaction | None) -> None:
        """Set the interaction of the next steps; models ignore those that they do not support."""
        known = interaction if interaction is not None and interaction.gesture in self.model.gestures else None
        if known is not None or self._interacting:
            self.model.interact(known)
        self._interacting = known is not None

    def carry_on(self, other: ModelInstance) -> bool:
        """Take over the state of another instance; returns whether it fits.

        If any tensor or scalar does not fit, nothing is taken over.
        """
        ours, theirs = self.model.state(), other.model.state()
        scalars = other.model.scalar_state()
        fits = ours.keys() == theirs.keys() and self.model.scalar_state().keys() == scalars.keys()
        if not fits or any((a.shape, a.dtype) != (theirs[name].shape, theirs[name].dtype) for name, a in ours.items()):
            _log.info("%s: its state has other tensors or shapes than before; it restarts", self.spec.name)
            return False
        extra = other.model.extra_state()
        if extra is not None:
            try:
                self.model.load_extra_state(extra)
            except InputError as error:
                _log.info("%s: %s; it restarts", self.spec.name, error)
                self.model.reset()
                return False
        self.publication.withdraw()
        for name, tensor in ours.items():
            tensor[...] = theirs[name]
        self.model.load_scalar_state(scalars)
        self.publish()
        return True

    def publish(self) -> None:
        """Publish the outputs from their current blocks."""
        self.publication.publish(self.outputs.values())

    def close(self) -> None:
        """Close every tensor. Idempotent."""
        self.publication.withdraw()
        self.model.close()

    def _try(self) -> None:
        try:
            self.model.step(0.0)
            self.model.reset()
        except BaseException:
            self.model.close()
            raise


def _observing(kind: type[Model], observed: Observed) -> type[Model]:
    """The class of a model that observes tensors inside from its first step on, so that nothing is recorded twice."""
    if not observed:
        return kind
    return type(kind.__name__, (kind,), {"observed_at_start": observed, "__module__": kind.__module__})


def close_all(instances: Mapping[str, ModelInstance]) -> None:
    """Close model instances: those that read outputs before those that publish them."""
    for instance in reversed(list(instances.values())):
        instance.close()
