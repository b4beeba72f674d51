"""`Stage`: a scene's models and layers, built on the GPU and wired together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import InputError, LimitError, ParameterError, TensorError
from ..gpu import Gpu
from ..gpu.deferred import Grant, Spares
from ..models.touch import Touch
from ..params import Params, unknown
from ..renderer.layers import Layer
from ..renderer.layers.registry import types as layer_types
from ..tensor import Publication, Tensor
from .change import Change, between, reshapes
from .locate import KeyPath
from .schema import ModelSpec, OutputRef, Scene
from .underway import Underway


class Actor:
    """One running model: its class's instance, its parameters, and its published outputs."""

    def __init__(self, spec: ModelSpec, params: Params, inputs: Mapping[str, Tensor]):
        self.spec = spec
        self.params = params
        self.substeps = spec.substeps
        self.publication = Publication()
        self._touched = False
        self.model = spec.kind(spec.name, params, inputs, spec.seed)
        self.publish()

    @property
    def outputs(self) -> Mapping[str, Tensor]:
        """The model's outputs."""
        return self.model.outputs()

    def step(self, dt: float) -> None:
        """Record the substeps of one frame, `dt` seconds in all, and publish the result."""
        self.publication.withdraw()
        self.take_steps(dt)
        self.publish()

    def take_steps(self, dt: float) -> None:
        """Record the substeps of one frame, `dt` seconds in all."""
        for _ in range(self.substeps):
            self.model.step(dt / self.substeps)

    def touch(self, touch: Touch | None) -> None:
        """In the next steps this is done to the model, if that is a gesture that it knows; nothing else is."""
        known = touch if touch is not None and touch.gesture in self.model.gestures else None
        if known is not None or self._touched:
            self.model.touch(known)
        self._touched = known is not None

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
        self.underway: Underway | None = None
        self._spares = Spares(gpu)
        self.specs = dict(scene.models)  # as they are now: with other seeds and substeps, perhaps
        self.layers: dict[str, Layer] = {}
        self.actors: dict[str, Actor] = {}
        try:
            self.actors = self._built({name: scene.models[name].params.model_copy() for name in scene.order})
            for name, spec in scene.layers.items():
                self.layers[name] = self._layer(name, spec.style.model_copy())
                self._bind(name)
        except BaseException:
            self.close()
            raise

    def step(self, dt: float) -> None:
        """Record one frame's step of every model, inputs before those who take them.

        If a model raises, what was recorded since the last submit is dropped: all outputs are as they were then.
        """
        self.cancel()
        try:
            for actor in self.actors.values():
                actor.step(dt)
        except BaseException:
            self._drop()
            raise

    def touch(self, touch: Touch | None) -> None:
        """What is done by hand to all models in the steps from here on."""
        for actor in self.actors.values():
            actor.touch(touch)

    def begin(self, record: Callable[[], object]) -> Underway:
        """Take what `record` records as work that goes on over several frames; see `proceed`.

        Until it has ended, all outputs are those of the step before.
        """
        self.cancel()
        models = {name: actor.model for name, actor in self.actors.items()}
        self.underway = Underway(self._gpu, self._spares, models, record)
        return self.underway

    def begin_step(self, dt: float) -> Underway:
        """One frame's step of every model as such work. Raises what a model raises; nothing has changed then."""

        def record() -> None:
            for actor in self.actors.values():
                actor.take_steps(dt)

        return self.begin(record)

    def proceed(self, grant: Grant) -> bool:
        """Record as much as is granted of what is under way; returns whether it has ended, and is published."""
        if self.underway is not None:
            if not self.underway.proceed(grant):
                return False
            self.underway = None
            for actor in self.actors.values():
                actor.publish()
        return True

    def cancel(self) -> None:
        """Drop what is under way: the models are as they were before it."""
        underway, self.underway = self.underway, None
        if underway is not None:
            underway.cancel()

    def reset(self) -> None:
        """Every model back to its start; if one raises, as in `step`."""
        self.cancel()
        with self._all_or_nothing():
            for actor in self.actors.values():
                actor.reset()

    def reseed(self, seeds: Mapping[str, int]) -> None:
        """Build models anew from other seeds, and what depends on them. If one raises, the old ones stay."""
        before = dict(self.specs)
        self.specs |= {name: replace(self.specs[name], seed=seed) for name, seed in seeds.items()}
        try:
            self._rebuild({name: self.actors[name].params for name in seeds})
        except BaseException:
            self.specs = before
            raise

    def set_substeps(self, model: str, substeps: int) -> None:
        """Let a model take so many steps in each frame from now on."""
        self.specs[model] = replace(self.specs[model], substeps=substeps)
        self.actors[model].substeps = substeps

    def changed_settings(self, scene: Scene) -> dict[KeyPath, int]:
        """Seeds and substeps that are not those of `scene`, by where its file has them."""
        return {
            ("models", name, setting): getattr(spec, setting)
            for name, spec in self.specs.items()
            for setting in ("seed", "substeps")
            if name in scene.models and getattr(spec, setting) != getattr(scene.models[name], setting)
        }

    @contextmanager
    def rewriting(self) -> Iterator[None]:
        """For what gives the models another state: their outputs are published as they lie afterwards."""
        self.cancel()
        with self._all_or_nothing():
            for actor in self.actors.values():
                actor.publication.withdraw()
            yield
            for actor in self.actors.values():
                actor.publish()

    def adopt(self, scene: Scene) -> bool:
        """Become what `scene` says, the file of `self.scene` read again; returns whether models were built or dropped.

        What has not changed in the file goes on as it is, with the values that the user gave it. Raises what building
        and binding raise, and `ParameterError`; everything is as before then.
        """
        self.cancel()
        styles = {name: layer.style for name, layer in self.layers.items()}
        params = {name: actor.params for name, actor in self.actors.items()}
        change = between(self.scene, scene, self.specs, params, styles)
        before = self.scene, self.specs, self.actors, self.layers
        self.scene, self.specs = scene, dict(change.specs)
        fresh: dict[str, Actor] = {}
        made: dict[str, Layer] = {}
        try:
            fresh = self._built({name: change.params[name] for name in change.built})
            self.actors = {name: fresh[name] if name in fresh else self.actors[name] for name in scene.order}
            made = {name: self._layer(name, change.styles[name]) for name in change.made}
            self.layers = {name: made[name] if name in made else self.layers[name] for name in scene.layers}
            for name in change.bound:
                self._bind(name)
        except BaseException:
            self.scene, self.specs, self.actors, self.layers = before
            self._bind_all(self.actors)
            _close_all(made, fresh)
            raise
        self._take_over(change)
        gone = {name: actor for name, actor in before[2].items() if self.actors.get(name) is not actor}
        _close_all({name: layer for name, layer in before[3].items() if self.layers.get(name) is not layer}, gone)
        return bool(fresh or gone)

    def rebind(self) -> None:
        """Bind every layer anew. Raises what a layer raises; those that were not reached draw as before."""
        for name in self.layers:
            self._bind(name)

    def files(self) -> set[Path]:
        """The files that models were made of."""
        return {file for actor in self.actors.values() for _, file in _files(actor.params)}

    def reread(self, file: Path) -> bool:
        """Take in a file that was written anew; returns whether models were built for it.

        Raises `InputError` if it cannot be used, and what building raises; the models go on as they were then.
        """
        self.cancel()
        unfit = {
            name: actor.params
            for name, actor in self.actors.items()
            for parameter, named in _files(actor.params)
            if named == file and not actor.model.reread(parameter)
        }
        if unfit:
            self._rebuild(unfit)
        return bool(unfit)

    def change(self, model: str, name: str, value: Any) -> None:
        """Set one parameter of a model. Raises `ParameterError`, and what `give` raises; the old value stays then."""
        if model not in self.actors:
            raise ParameterError(unknown("model", model, self.actors))
        self.give({model: self.actors[model].params.with_values({name: value})})

    def give(self, params: Mapping[str, Params]) -> None:
        """Give models other parameters, all or none of them.

        Those whose tensors reshape are built anew, at once, with the models that take their outputs. Raises what the
        new models or the layers that draw them raise; the old values and the old models stay then.
        """
        reshaped = {name: new for name, new in params.items() if reshapes(self.actors[name].params, new)}
        if reshaped:
            self._rebuild(reshaped)
        for name in params.keys() - reshaped.keys():
            self.actors[name].params.take(params[name])

    def close(self) -> None:
        """Give back everything. Idempotent."""
        self.cancel()
        self._spares.clear()
        _close_all(self.layers, self.actors)

    # inside -----------------------------------------------------------------------------------------------------

    def _rebuild(self, params: Mapping[str, Params]) -> None:
        """Build models anew, and what depends on them, beside the old ones, which go only when all has succeeded."""
        self.cancel()
        old = {name: self.actors[name] for name in self._with_dependents(params)}
        fresh = self._built({name: params.get(name, actor.params) for name, actor in old.items()})
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
        spec = self.specs[name]
        inputs = {key: others[ref.model].outputs[ref.output] for key, ref in spec.inputs.items()}
        try:
            return Actor(spec, params, inputs)
        except (InputError, TensorError, LimitError) as error:
            raise self.scene.error(("models", name), str(error)) from error

    def _layer(self, name: str, style: Params) -> Layer:
        return layer_types()[self.scene.layers[name].type](self._gpu, name, style)

    def _take_over(self, change: Change) -> None:
        """Values that need nothing to be built."""
        for name, actor in self.actors.items():
            actor.params.take(change.params[name])
            actor.spec, actor.substeps = change.specs[name], change.specs[name].substeps
        for name, layer in self.layers.items():
            layer.style.take(change.styles[name])

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

    def _with_dependents(self, models: Collection[str]) -> list[str]:
        """`models` and every model that takes an output of one, directly or not, in the order of their inputs."""
        affected: list[str] = []
        for name in self.scene.order:
            if name in models or any(ref.model in affected for ref in self.scene.models[name].inputs.values()):
                affected.append(name)
        return affected

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._drop()
            raise

    def _drop(self) -> None:
        """Drop what was recorded, after an error in it."""
        self._gpu.abandon()
        for actor in self.actors.values():
            actor.publish()  # what lies where it lay before


def _files(params: Params) -> list[tuple[str, Path]]:
    """The parameters that name files, and which."""
    named = ((spec.name, getattr(params, spec.name)) for spec in params.specs() if spec.kind == "file")
    return [(name, file) for name, file in named if file is not None]


def _close_all(layers: Mapping[str, Layer], actors: Mapping[str, Actor]) -> None:
    for layer in layers.values():
        layer.close()
    _close(actors)


def _close(actors: Mapping[str, Actor]) -> None:
    """Close actors, those who take outputs before those who give them."""
    for actor in reversed(list(actors.values())):
        actor.close()
