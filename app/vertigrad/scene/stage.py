"""`Stage`: a scene's models and layers, built on the GPU and wired together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..errors import InputError, LimitError, ParameterError, TensorError
from ..gpu import Gpu
from ..params import Params, unknown
from ..renderer.layers import Layer
from ..renderer.layers.registry import types as layer_types
from ..tensor import Publication, Tensor
from .schema import ModelSpec, OutputRef, Scene


class Actor:
    """One running model: its class's instance, its parameters, and its published outputs."""

    def __init__(self, spec: ModelSpec, params: Params, inputs: Mapping[str, Tensor]):
        self.spec = spec
        self.params = params
        self.publication = Publication()
        self.model = spec.kind(spec.name, params, inputs, spec.seed)
        self.publish()

    @property
    def outputs(self) -> Mapping[str, Tensor]:
        """The model's outputs."""
        return self.model.outputs()

    def step(self, dt: float) -> None:
        """Record the substeps of one frame, `dt` seconds in all, and publish the result."""
        self.publication.withdraw()
        for _ in range(self.spec.substeps):
            self.model.step(dt / self.spec.substeps)
        self.publish()

    def reset(self) -> None:
        """Back to the start."""
        self.publication.withdraw()
        self.model.reset()
        self.publish()

    def publish(self) -> None:
        """Publish the outputs as they lie now."""
        self.publication.publish(self.outputs.values())

    def close(self) -> None:
        """Give back every tensor. Idempotent."""
        self.publication.withdraw()
        self.model.close()


class Stage:
    """Builds the models of `scene` in the order of their inputs, binds the layers to their outputs.

    Raises `SceneError` if something is found wrong only now, and what a model raises; nothing stays allocated then.
    """

    def __init__(self, scene: Scene, gpu: Gpu):
        self.scene = scene
        self._gpu = gpu
        self.layers: dict[str, Layer] = {}
        self.actors: dict[str, Actor] = {}
        try:
            self.actors = self._built({name: scene.models[name].params.model_copy() for name in scene.order})
            for name, spec in scene.layers.items():
                self.layers[name] = layer_types()[spec.type](gpu, name, spec.style.model_copy())
                self._bind(name)
        except BaseException:
            self.close()
            raise

    def step(self, dt: float) -> None:
        """Record one frame's step of every model, inputs before those who take them.

        If a model raises, what was recorded since the last submit is dropped: all outputs are as they were then.
        """
        with self._all_or_nothing():
            for actor in self.actors.values():
                actor.step(dt)

    def reset(self) -> None:
        """Every model back to its start; if one raises, as in `step`."""
        with self._all_or_nothing():
            for actor in self.actors.values():
                actor.reset()

    def change(self, model: str, name: str, value: Any) -> None:
        """Set a parameter of a model; if it reshapes tensors, build that model anew and what takes its outputs.

        Raises `ParameterError` for a value that cannot be, and what the new models or the layers that draw them raise;
        the old value and the old models stay then.
        """
        if model not in self.actors:
            raise ParameterError(unknown("model", model, self.actors))
        actor = self.actors[model]
        changed = actor.params.model_copy()
        changed.change(name, value)
        if getattr(changed, name) == getattr(actor.params, name):
            return
        if any(spec.rebuild for spec in changed.specs() if spec.name == name):
            self._rebuild(model, changed)
        else:
            actor.params.change(name, value)

    def close(self) -> None:
        """Give back everything. Idempotent."""
        for layer in self.layers.values():
            layer.close()
        _close(self.actors)

    # inside -----------------------------------------------------------------------------------------------------

    def _rebuild(self, model: str, params: Params) -> None:
        """Build `model` anew, and what depends on it, beside the old ones, which go only when all has succeeded."""
        old = {name: self.actors[name] for name in self._with_dependents(model)}
        fresh = self._built({name: actor.params for name, actor in old.items()} | {model: params})
        self.actors |= fresh
        try:
            self._bind_all(fresh)
        except BaseException:
            self.actors |= old
            self._bind_all(old)
            _close(fresh)
            raise
        _close(old)

    def _built(self, params: Mapping[str, Params]) -> dict[str, Actor]:
        """New actors, in the order given, linked to each other and to those that there are already."""
        made: dict[str, Actor] = {}
        try:
            for name, values in params.items():
                made[name] = self._actor(name, values, self.actors | made)
        except BaseException:
            _close(made)
            raise
        return made

    def _actor(self, name: str, params: Params, others: Mapping[str, Actor]) -> Actor:
        spec = self.scene.models[name]
        inputs = {key: others[ref.model].outputs[ref.output] for key, ref in spec.inputs.items()}
        try:
            return Actor(spec, params, inputs)
        except (InputError, TensorError, LimitError) as error:
            raise self.scene.error(("models", name), str(error)) from error

    def _bind_all(self, models: Collection[str]) -> None:
        """Bind every layer that draws an output of one of `models`."""
        for name, spec in self.scene.layers.items():
            if any(isinstance(value, OutputRef) and value.model in models for value in spec.attributes.values()):
                self._bind(name)

    def _bind(self, name: str) -> None:
        bound = {
            key: self.actors[value.model].outputs[value.output] if isinstance(value, OutputRef) else value
            for key, value in self.scene.layers[name].attributes.items()
        }
        try:
            self.layers[name].bind(bound)
        except (InputError, TensorError, LimitError) as error:
            raise self.scene.error(("layers", name), str(error)) from error

    def _with_dependents(self, model: str) -> list[str]:
        """`model` and every model that takes an output of it, directly or not, in the order of their inputs."""
        affected = [model]
        for name in self.scene.order:
            if any(ref.model in affected for ref in self.scene.models[name].inputs.values()):
                affected.append(name)
        return affected

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._gpu.abandon()
            for actor in self.actors.values():
                actor.publish()  # what lies where it lay before
            raise


def _close(actors: Mapping[str, Actor]) -> None:
    """Close actors, those who take outputs before those who give them."""
    for actor in reversed(list(actors.values())):
        actor.close()
