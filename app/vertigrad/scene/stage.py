"""`Stage`: a scene's models and layers, built on the GPU and wired together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ParameterError
from ..gpu import Gpu
from ..gpu.deferred import Grant, Spares, grant_all
from ..models.base import ExtraState, Viewpoint
from ..models.inside import Observed
from ..models.interaction import Interaction
from ..params import Params, unknown
from ..renderer.layers import Layer
from ..renderer.layers.registry import types as layer_types
from .change import Change, between, reshapes
from .in_progress import InProgress
from .model_instance import ModelInstance, close_all
from .schema import Scene
from .wiring import bind, built, layers_of, observe, with_dependents


class Stage:
    """Builds the models of `scene` in the order of their inputs, and binds the layers to their outputs.

    Raises `SceneError` for problems that can only be found now, and what a model raises; then nothing remains
    allocated.
    """

    def __init__(self, scene: Scene, gpu: Gpu):
        self.scene = scene
        self._gpu = gpu
        self.in_progress: InProgress | None = None
        self.fetching = False  # whether models wait for data that the view needs
        self._spares = Spares(gpu)
        self.specs = dict(scene.models)  # the current ones: seeds and substeps may differ from the file
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
        """Record one frame's step of every model, in the order of their inputs.

        If a model raises, what was recorded since the last submit is dropped: outputs have the values of that time.
        """
        self.cancel()
        try:
            for instance in self.instances.values():
                instance.step(dt)
        except BaseException:
            self._drop()
            raise

    def scalars(self) -> dict[str, dict[str, float]]:
        """The scalars of each model; while a step is in progress, the values before it."""
        if self.in_progress is not None:
            return self.in_progress.scalars
        return {name: dict(instance.model.scalar_state()) for name, instance in self.instances.items()}

    def load_scalars(self, scalars: Mapping[str, Mapping[str, float]]) -> None:
        """Restore the scalars of models."""
        for name, instance in self.instances.items():
            if name in scalars:
                instance.model.load_scalar_state(scalars[name])

    def extra_states(self) -> dict[str, ExtraState]:
        """Copies of the extra state of the models that have some."""
        found = {name: instance.model.extra_state() for name, instance in self.instances.items()}
        return {name: state for name, state in found.items() if state is not None}

    def load_extra_states(self, states: Mapping[str, ExtraState]) -> None:
        """Restore the extra state of models."""
        for name, state in states.items():
            self.instances[name].model.load_extra_state(state)

    def look(self, view: Callable[[], Viewpoint], wait: bool) -> None:
        """Let the models that hold a part of their data have what `view()` needs; `wait` until it is there.

        Not amid a step: outputs are to stay as they are until it has ended.
        """
        if self.in_progress is not None:
            return
        followers = [instance for instance in self.instances.values() if instance.model.follows_camera]
        self.fetching = False
        if not followers:
            return
        viewpoint = view()
        for instance in followers:
            instance.publication.withdraw()
            try:
                self.fetching = instance.model.look(viewpoint, wait) or self.fetching
            finally:
                instance.publish()

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
        """Begin one frame's step of every model. Raises what a model raises; then nothing has changed."""
        return self.begin(lambda: [instance.take_steps(dt) for instance in self.instances.values()])

    def proceed(self, grant: Grant) -> bool:
        """Record as much of the work in progress as is granted; returns whether it has ended and is published.

        With a model whose steps cannot be divided, it is all of it.
        """
        if self.in_progress is not None:
            whole = not all(instance.model.divisible for instance in self.instances.values())
            if not self.in_progress.proceed(grant_all if whole else grant):
                return False
            self.in_progress = None
            for instance in self.instances.values():
                instance.publish()
        return True

    def cancel(self) -> None:
        """Drop the work in progress, and restore the models to the state before it."""
        work, self.in_progress = self.in_progress, None
        if work is not None:
            work.cancel()

    def reset(self) -> None:
        """Reset every model to its initial state; if one raises, as in `step`."""
        with self.rewriting():
            for instance in self.instances.values():
                instance.model.reset()

    @contextmanager
    def rewriting(self) -> Iterator[None]:
        """A context for replacing the state of models; their outputs are published after it."""
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

    def apply_scene(self, scene: Scene) -> bool:
        """Update to `scene`, the reloaded file of `self.scene`; returns whether models were built or dropped.

        Parts that have not changed in the file continue, with the values that the user set; a model with changed code
        continues with its state. Raises what building and binding raise, and `ParameterError`; then nothing has
        changed.
        """
        self.cancel()
        styles = {name: layer.style for name, layer in self.layers.items()}
        params = {name: instance.params for name, instance in self.instances.items()}
        change = between(self.scene, scene, self.specs, params, styles, self._is_recorded)
        before = self.scene, self.specs, self.instances, self.layers
        fresh: dict[str, ModelInstance] = {}
        created: dict[str, Layer] = {}
        observed_before = {name: self.instances[name].observed for name in change.observed}
        try:
            others = observe(scene, self.instances, change.observed)
            fresh = built(scene, change.specs, {name: change.params[name] for name in change.built}, self.instances)
            self.scene, self.specs = scene, dict(change.specs)
            for name in fresh.keys() & change.carried:
                fresh[name].carry_on(self.instances[name])
            self.instances = {name: fresh[name] if name in fresh else self.instances[name] for name in scene.order}
            created = {name: self._layer(name, change.styles[name]) for name in change.created_layers}
            self.layers = {name: created[name] if name in created else self.layers[name] for name in scene.layers}
            for name in dict.fromkeys((*change.bound_layers, *layers_of(scene, others))):
                self._bind(name)
        except BaseException:
            self.scene, self.specs, self.instances, self.layers = before
            observe(self.scene, self.instances, observed_before)
            self._bind_all(self.instances)
            _close_all(created, fresh)
            raise
        self._take_over(change)
        gone = {name: instance for name, instance in before[2].items() if self.instances.get(name) is not instance}
        _close_all({name: layer for name, layer in before[3].items() if self.layers.get(name) is not layer}, gone)
        return bool(fresh or gone)

    def rebind(self) -> None:
        """Rebind every layer. Raises what a layer raises; layers after it are not rebound."""
        for name in self.layers:
            self._bind(name)

    def files(self) -> set[Path]:
        """The files that models were built from, including those of their classes."""
        named = {file for instance in self.instances.values() for _, file in instance.files()}
        return named | self.sources()

    def sources(self) -> set[Path]:
        """The Python files of the models' classes, except those that come with Vertigrad."""
        return {instance.source for instance in self.instances.values() if instance.source is not None}

    def reload_file(self, file: Path) -> bool:
        """Reload a changed file; returns whether models were built for it.

        Raises `InputError` if it cannot be used, and what building raises; then the old models continue.
        """
        self.cancel()
        unfit = {
            name: instance.params
            for name, instance in self.instances.items()
            for parameter, named in instance.files()
            if named == file and not instance.model.reload_file(parameter)
        }
        if unfit:
            self._rebuild(unfit)
        return bool(unfit)

    def change(self, model: str, name: str, value: Any) -> None:
        """Set one parameter of a model. Raises `ParameterError`, and what `give` raises; then the old value remains."""
        if model not in self.instances:
            raise ParameterError(unknown("model", model, self.instances))
        self.give({model: self.instances[model].params.with_values({name: value})})

    def give(self, params: Mapping[str, Params], settings: Mapping[str, Mapping[str, int]] | None = None) -> None:
        """Set parameters of models, and seeds and substeps (`settings`), all or none of them.

        Models whose tensors reshape or whose seed changes are rebuilt immediately, with the models that read their
        outputs. Raises what the new models or the layers that draw them raise; then nothing has changed.
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
        """Close all models and layers. Idempotent."""
        self.cancel()
        self._spares.clear()
        _close_all(self.layers, self.instances)

    # internal ---------------------------------------------------------------------------------------------------

    def _rebuild(self, params: Mapping[str, Params]) -> None:
        """Rebuild models and their dependents; the old ones are closed only when everything has succeeded."""
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

    def _is_recorded(self, model: str, observed: Observed) -> bool:
        return self.instances[model].inside.is_recorded(observed)

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
            instance.publish()  # outputs whose blocks have not changed


def _close_all(layers: Mapping[str, Layer], instances: Mapping[str, ModelInstance]) -> None:
    for layer in layers.values():
        layer.close()
    close_all(instances)
