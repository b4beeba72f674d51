"""`Stage`: a scene's models and layers, built on the GPU and wired together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ParameterError
from ..gpu import Gpu
from ..gpu.deferred import Grant, Spares
from ..models.touch import Touch
from ..params import Params, unknown
from ..renderer.layers import Layer
from ..renderer.layers.registry import types as layer_types
from .actor import Actor, close_all
from .change import Change, between, reshapes
from .schema import Scene
from .underway import Underway
from .wiring import bind, built, layers_of, with_dependents


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

    def numbers(self) -> dict[str, dict[str, float]]:
        """What each model keeps outside of tensors: of a step that is under way, as it was before that."""
        if self.underway is not None:
            return self.underway.numbers
        return {name: dict(actor.model.numbers()) for name, actor in self.actors.items()}

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

        What has not changed in the file goes on as it is, with the values that the user gave it; a model of which only
        the code has, goes on from where it was. Raises what building and binding raise, and `ParameterError`;
        everything is as before then.
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
            for name in fresh.keys() & change.carried:
                fresh[name].carry_on(self.actors[name])
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
        """The files that models were made of, those with their classes among them."""
        named = {file for actor in self.actors.values() for _, file in actor.files()}
        return named | self.sources()

    def sources(self) -> set[Path]:
        """The Python files of the models' classes, but for those that come with Vertigrad."""
        return {actor.source for actor in self.actors.values() if actor.source is not None}

    def reread(self, file: Path) -> bool:
        """Take in a file that was written anew; returns whether models were built for it.

        Raises `InputError` if it cannot be used, and what building raises; the models go on as they were then.
        """
        self.cancel()
        unfit = {
            name: actor.params
            for name, actor in self.actors.items()
            for parameter, named in actor.files()
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

    def give(self, params: Mapping[str, Params], settings: Mapping[str, Mapping[str, int]] | None = None) -> None:
        """Give models other parameters, and other seeds and substeps (`settings`), all or none of them.

        Those whose tensors reshape, or that begin from another seed, are built anew, at once, with the models that take
        their outputs. Raises what the new models or the layers that draw them raise; all is as before then.
        """
        specs = {name: replace(self.specs[name], **values) for name, values in (settings or {}).items()}
        reshaped = {name: new for name, new in params.items() if reshapes(self.actors[name].params, new)}
        reseeded = {name for name, spec in specs.items() if spec.seed != self.specs[name].seed}
        before, self.specs = self.specs, self.specs | specs
        try:
            if reshaped or reseeded:
                self._rebuild({name: params.get(name, self.actors[name].params) for name in reseeded} | reshaped)
        except BaseException:
            self.specs = before
            raise
        for name in params.keys() - reshaped.keys() - reseeded:
            self.actors[name].params.take(params[name])
        for name, spec in specs.items():
            self.actors[name].spec, self.actors[name].substeps = spec, spec.substeps

    def close(self) -> None:
        """Give back everything. Idempotent."""
        self.cancel()
        self._spares.clear()
        _close_all(self.layers, self.actors)

    # inside -----------------------------------------------------------------------------------------------------

    def _rebuild(self, params: Mapping[str, Params]) -> None:
        """Build models anew, and what depends on them, beside the old ones, which go only when all has succeeded."""
        self.cancel()
        old = {name: self.actors[name] for name in with_dependents(self.scene, params)}
        fresh = self._built({name: params.get(name, actor.params) for name, actor in old.items()})
        self.actors |= fresh
        try:
            self._bind_all(fresh)
        except BaseException:
            self.actors |= old
            self._bind_all(old)
            close_all(fresh)
            raise
        close_all(old)

    def _built(self, params: Mapping[str, Params]) -> dict[str, Actor]:
        return built(self.scene, self.specs, params, self.actors)

    def _layer(self, name: str, style: Params) -> Layer:
        spec = self.scene.layers[name]
        layer = layer_types()[spec.type](self._gpu, name, style)
        layer.colorbar = spec.colorbar
        return layer

    def _take_over(self, change: Change) -> None:
        """Values that need nothing to be built."""
        for name, actor in self.actors.items():
            actor.params.take(change.params[name])
            actor.spec, actor.substeps = change.specs[name], change.specs[name].substeps
        for name, layer in self.layers.items():
            layer.style.take(change.styles[name])
            layer.colorbar = self.scene.layers[name].colorbar

    def _bind_all(self, models: Collection[str]) -> None:
        """Bind every layer that draws an output of one of `models`."""
        for name in layers_of(self.scene, models):
            self._bind(name)

    def _bind(self, name: str) -> None:
        bind(self.scene, name, self.layers[name], self.actors)

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


def _close_all(layers: Mapping[str, Layer], actors: Mapping[str, Actor]) -> None:
    for layer in layers.values():
        layer.close()
    close_all(actors)
