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
from ..models.interaction import Interaction
from ..params import Params, unknown
from ..renderer.layers import Layer
from ..renderer.layers.registry import types as layer_types
from .change import Change, between, reshapes
from .in_progress import InProgress
from .model_instance import ModelInstance, close_all
from .schema import Scene
from .wiring import bind, built, layers_of, with_dependents


class Stage:
    """Builds the models of `scene` in the order of their inputs, binds the layers to their outputs.

    Raises `SceneError` if something is found wrong only now, and what a model raises; nothing stays allocated then.
    """

    def __init__(self, scene: Scene, gpu: Gpu):
        self.scene = scene
        self._gpu = gpu
        self.in_progress: InProgress | None = None
        self._spares = Spares(gpu)
        self.specs = dict(scene.models)  # as they are now: with other seeds and substeps, perhaps
        self.layers: dict[str, Layer] = {}
        self.instances: dict[str, ModelInstance] = {}
        try:
            self.instances = self._built({name: scene.models[name].params.model_copy() for name in scene.order})
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
            for instance in self.instances.values():
                instance.step(dt)
        except BaseException:
            self._drop()
            raise

    def numbers(self) -> dict[str, dict[str, float]]:
        """What each model holds outside of tensors; while a step is in progress, the values before it."""
        if self.in_progress is not None:
            return self.in_progress.numbers
        return {name: dict(instance.model.numbers()) for name, instance in self.instances.items()}

    def resume(self, numbers: Mapping[str, Mapping[str, float]]) -> None:
        """Let models go on with what they held outside of tensors."""
        for name, instance in self.instances.items():
            if name in numbers:
                instance.model.resume(numbers[name])

    def apply_interaction(self, interaction: Interaction | None) -> None:
        """Set the interaction that acts on all models in the next steps."""
        for instance in self.instances.values():
            instance.apply_interaction(interaction)

    def begin(self, record: Callable[[], object]) -> InProgress:
        """Record work with `record` and spread it over several frames; see `proceed`.

        Until it has ended, all outputs are those of the previous step.
        """
        self.cancel()
        models = {name: instance.model for name, instance in self.instances.items()}
        self.in_progress = InProgress(self._gpu, self._spares, models, record)
        return self.in_progress

    def begin_step(self, dt: float) -> InProgress:
        """Begin one frame's step of every model. Raises what a model raises; nothing has changed then."""
        return self.begin(lambda: [instance.take_steps(dt) for instance in self.instances.values()])

    def proceed(self, grant: Grant) -> bool:
        """Record as much of the work in progress as is granted; returns whether it has ended and is published."""
        if self.in_progress is not None:
            if not self.in_progress.proceed(grant):
                return False
            self.in_progress = None
            for instance in self.instances.values():
                instance.publish()
        return True

    def cancel(self) -> None:
        """Drop the work in progress: the models are as they were before it."""
        work, self.in_progress = self.in_progress, None
        if work is not None:
            work.cancel()

    def reset(self) -> None:
        """Every model back to its start; if one raises, as in `step`."""
        with self.rewriting():
            for instance in self.instances.values():
                instance.model.reset()

    @contextmanager
    def rewriting(self) -> Iterator[None]:
        """For what gives the models another state: their outputs are published as they are stored afterwards."""
        self.cancel()
        try:
            for instance in self.instances.values():
                instance.publication.withdraw()
            yield
            for instance in self.instances.values():
                instance.publish()
        except BaseException:
            self._drop()
            raise

    def adopt(self, scene: Scene) -> bool:
        """Become what `scene` says, the file of `self.scene` read again; returns whether models were built or dropped.

        What has not changed in the file goes on as it is, with the values that the user gave it; a model of which only
        the code has, goes on from where it was. Raises what building and binding raise, and `ParameterError`;
        everything is as before then.
        """
        self.cancel()
        styles = {name: layer.style for name, layer in self.layers.items()}
        params = {name: instance.params for name, instance in self.instances.items()}
        change = between(self.scene, scene, self.specs, params, styles)
        before = self.scene, self.specs, self.instances, self.layers
        self.scene, self.specs = scene, dict(change.specs)
        fresh: dict[str, ModelInstance] = {}
        made: dict[str, Layer] = {}
        try:
            fresh = self._built({name: change.params[name] for name in change.built})
            for name in fresh.keys() & change.carried:
                fresh[name].carry_on(self.instances[name])
            self.instances = {name: fresh[name] if name in fresh else self.instances[name] for name in scene.order}
            made = {name: self._layer(name, change.styles[name]) for name in change.made}
            self.layers = {name: made[name] if name in made else self.layers[name] for name in scene.layers}
            for name in change.bound:
                self._bind(name)
        except BaseException:
            self.scene, self.specs, self.instances, self.layers = before
            self._bind_all(self.instances)
            _close_all(made, fresh)
            raise
        self._take_over(change)
        gone = {name: instance for name, instance in before[2].items() if self.instances.get(name) is not instance}
        _close_all({name: layer for name, layer in before[3].items() if self.layers.get(name) is not layer}, gone)
        return bool(fresh or gone)

    def rebind(self) -> None:
        """Bind every layer anew. Raises what a layer raises; those that were not reached draw as before."""
        for name in self.layers:
            self._bind(name)

    def files(self) -> set[Path]:
        """The files that models were made of, those with their classes among them."""
        named = {file for instance in self.instances.values() for _, file in instance.files()}
        return named | self.sources()

    def sources(self) -> set[Path]:
        """The Python files of the models' classes, but for those that come with Vertigrad."""
        return {instance.source for instance in self.instances.values() if instance.source is not None}

    def reread(self, file: Path) -> bool:
        """Take in a file that was written anew; returns whether models were built for it.

        Raises `InputError` if it cannot be used, and what building raises; the models go on as they were then.
        """
        self.cancel()
        unfit = {
            name: instance.params
            for name, instance in self.instances.items()
            for parameter, named in instance.files()
            if named == file and not instance.model.reread(parameter)
        }
        if unfit:
            self._rebuild(unfit)
        return bool(unfit)

    def change(self, model: str, name: str, value: Any) -> None:
        """Set one parameter of a model. Raises `ParameterError`, and what `give` raises; the old value stays then."""
        if model not in self.instances:
            raise ParameterError(unknown("model", model, self.instances))
        self.give({model: self.instances[model].params.with_values({name: value})})

    def give(self, params: Mapping[str, Params], settings: Mapping[str, Mapping[str, int]] | None = None) -> None:
        """Give models other parameters, and other seeds and substeps (`settings`), all or none of them.

        Those whose tensors reshape, or that begin from another seed, are built anew, at once, with the models that take
        their outputs. Raises what the new models or the layers that draw them raise; all is as before then.
        """
        specs = {name: replace(self.specs[name], **values) for name, values in (settings or {}).items()}
        reshaped = {name: new for name, new in params.items() if reshapes(self.instances[name].params, new)}
        reseeded = {name for name, spec in specs.items() if spec.seed != self.specs[name].seed}
        before, self.specs = self.specs, self.specs | specs
        try:
            if reshaped or reseeded:
                self._rebuild({name: params.get(name, self.instances[name].params) for name in reseeded} | reshaped)
        except BaseException:
            self.specs = before
            raise
        for name in params.keys() - reshaped.keys() - reseeded:
            self.instances[name].params.take(params[name])
        for name, spec in specs.items():
            self.instances[name].spec, self.instances[name].substeps = spec, spec.substeps

    def close(self) -> None:
        """Give back everything. Idempotent."""
        self.cancel()
        self._spares.clear()
        _close_all(self.layers, self.instances)

    # inside -----------------------------------------------------------------------------------------------------

    def _rebuild(self, params: Mapping[str, Params]) -> None:
        """Build models anew, and what depends on them, next to the old ones, which go only when all has succeeded."""
        self.cancel()
        old = {name: self.instances[name] for name in with_dependents(self.scene, params)}
        fresh = self._built({name: params.get(name, instance.params) for name, instance in old.items()})
        self.instances |= fresh
        try:
            self._bind_all(fresh)
        except BaseException:
            self.instances |= old
            self._bind_all(old)
            close_all(fresh)
            raise
        close_all(old)

    def _built(self, params: Mapping[str, Params]) -> dict[str, ModelInstance]:
        return built(self.scene, self.specs, params, self.instances)

    def _layer(self, name: str, style: Params) -> Layer:
        spec = self.scene.layers[name]
        layer = layer_types()[spec.type](self._gpu, name, style)
        layer.colorbar = spec.colorbar
        return layer

    def _take_over(self, change: Change) -> None:
        for name, instance in self.instances.items():
            instance.params.take(change.params[name])
            instance.spec, instance.substeps = change.specs[name], change.specs[name].substeps
        for name, layer in self.layers.items():
            layer.style.take(change.styles[name])
            layer.colorbar = self.scene.layers[name].colorbar

    def _bind_all(self, models: Collection[str]) -> None:
        for name in layers_of(self.scene, models):
            self._bind(name)

    def _bind(self, name: str) -> None:
        bind(self.scene, name, self.layers[name], self.instances)

    def _drop(self) -> None:
        self._gpu.abandon()
        for instance in self.instances.values():
            instance.publish()  # what is stored where it was before


def _close_all(layers: Mapping[str, Layer], instances: Mapping[str, ModelInstance]) -> None:
    for layer in layers.values():
        layer.close()
    close_all(instances)
