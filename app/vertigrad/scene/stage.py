"""`Stage`: a scene's models and layers, built on the GPU and wired together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import InputError, TensorError
from ..gpu import Gpu
from ..models.base import Model
from ..params import Params
from ..renderer.layers import Layer
from ..renderer.layers.registry import types as layer_types
from ..tensor import Publication, Tensor
from .schema import ModelSpec, OutputRef, Scene


class Actor:
    """One running model: its class's instance, its parameters, and its published outputs."""

    def __init__(self, spec: ModelSpec, seed: int):
        self.spec = spec
        self.params: Params = spec.params.model_copy()
        self.seed = seed
        self.publication = Publication()
        self.model: Model | None = None

    @property
    def outputs(self) -> Mapping[str, Tensor]:
        """The model's outputs."""
        assert self.model is not None
        return self.model.outputs()

    def start(self, inputs: Mapping[str, Tensor]) -> None:
        """Build the model and publish its first outputs. Raises what the model raises; there is no model then."""
        self.model = self.spec.kind(self.spec.name, self.params, inputs, self.seed)
        self.publication.publish(self.outputs.values())

    def step(self, dt: float) -> None:
        """Record the substeps of one frame, `dt` seconds in all, and publish the result."""
        assert self.model is not None
        self.publication.withdraw()
        for _ in range(self.spec.substeps):
            self.model.step(dt / self.spec.substeps)
        self.publication.publish(self.outputs.values())

    def reset(self) -> None:
        """Back to the start."""
        assert self.model is not None
        self.publication.withdraw()
        self.model.reset()
        self.publication.publish(self.outputs.values())

    def close(self) -> None:
        """Give back every tensor."""
        self.publication.withdraw()
        if self.model is not None:
            self.model.close()
            self.model = None


class Stage:
    """Builds the models of `scene` in the order of their inputs, binds the layers to their outputs.

    Raises `SceneError` if something is found wrong only now; nothing stays allocated then.
    """

    def __init__(self, scene: Scene, gpu: Gpu):
        self.scene = scene
        self._gpu = gpu
        self.actors = {name: Actor(scene.models[name], scene.models[name].seed) for name in scene.order}
        self.layers: dict[str, Layer] = {}
        try:
            for name in scene.order:
                self._start(name)
            for name, spec in scene.layers.items():
                self.layers[name] = layer_types()[spec.type](gpu, name, spec.style.model_copy())
                self._bind(name)
        except BaseException:
            self.close()
            raise

    def step(self, dt: float) -> None:
        """Record one frame's step of every model, inputs before those who take them."""
        for actor in self.actors.values():
            actor.step(dt)

    def reset(self) -> None:
        """Every model back to its start."""
        for actor in self.actors.values():
            actor.reset()

    def change(self, model: str, name: str, value: Any) -> None:
        """Set a parameter of a model; if it reshapes tensors, rebuild that model and what takes its outputs.

        Raises `ParameterError` for a value that cannot be; the old one stays. If the rebuilt model cannot be made (out
        of memory, say), it is made again with the old value and the error is raised.
        """
        actor = self.actors[model]
        old = getattr(actor.params, name)
        actor.params.change(name, value)
        spec = next(s for s in actor.params.specs() if s.name == name)
        if not spec.rebuild or getattr(actor.params, name) == old:
            return
        try:
            self.rebuild(model)
        except Exception:
            actor.params.change(name, old)
            self.rebuild(model)
            raise

    def rebuild(self, model: str) -> None:
        """Make `model` again with its parameters as they are, and all that depends on it."""
        affected = [name for name in self.scene.order if name in self._dependents(model)]
        for name in reversed(affected):
            self.actors[name].close()
        for name in affected:
            self._start(name)
        for name, layer in self.scene.layers.items():
            if any(isinstance(a, OutputRef) and a.model in affected for a in layer.attributes.values()):
                self._bind(name)

    def close(self) -> None:
        """Give back everything. Idempotent."""
        for layer in self.layers.values():
            layer.close()
        for actor in reversed(self.actors.values()):
            actor.close()

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Every output as ("model.output", tensor)."""
        for name, actor in self.actors.items():
            for output, tensor in actor.outputs.items():
                yield f"{name}.{output}", tensor

    def _start(self, name: str) -> None:
        actor = self.actors[name]
        inputs = {key: self.actors[ref.model].outputs[ref.output] for key, ref in actor.spec.inputs.items()}
        try:
            actor.start(inputs)
        except (InputError, TensorError) as error:
            raise self.scene.error(("models", name), str(error)) from error

    def _bind(self, name: str) -> None:
        spec = self.scene.layers[name]
        bound = {
            key: self.actors[value.model].outputs[value.output] if isinstance(value, OutputRef) else value
            for key, value in spec.attributes.items()
        }
        try:
            self.layers[name].bind(bound)
        except (InputError, TensorError) as error:
            raise self.scene.error(("layers", name), str(error)) from error

    def _dependents(self, model: str) -> set[str]:
        """`model` and every model that takes an output of it, directly or not."""
        affected = {model}
        for name in self.scene.order:
            if any(ref.model in affected for ref in self.scene.models[name].inputs.values()):
                affected.add(name)
        return affected
