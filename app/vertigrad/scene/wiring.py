"""Builds models from their specs, and links them to each other and to the layers that draw them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..errors import InputError, LimitError, TensorError
from ..models.inside import Observed
from ..params import Params
from ..progress import portion, report
from ..renderer.layers import Layer
from ..tensor import Tensor
from .locate import KeyPath
from .model_instance import ModelInstance, close_all
from .schema import ModelSpec, OutputRef, Scene

_UNFIT = (InputError, TensorError, LimitError)


def built(
    scene: Scene, specs: Mapping[str, ModelSpec], params: Mapping[str, Params], others: Mapping[str, ModelInstance]
) -> dict[str, ModelInstance]:
    """New model instances with these parameters, in the order of `params`, linked to each other and to `others`.

    Raises `SceneError`, and what a model raises; then nothing remains allocated.
    """
    fresh: dict[str, ModelInstance] = {}
    try:
        for number, (name, values) in enumerate(params.items()):
            report(f"building {name}", number, len(params))
            with portion(number / len(params), (number + 1) / len(params)):
                fresh[name] = _instance(scene, specs[name], values, {**others, **fresh})
    except BaseException:
        close_all(fresh)
        raise
    return fresh


def bind(scene: Scene, name: str, layer: Layer, instances: Mapping[str, ModelInstance]) -> None:
    """Bind a layer to the outputs that it draws. Raises `SceneError`, and what a layer raises."""
    bound = {
        key: _read(scene, ("layers", name, key), value, instances) if isinstance(value, OutputRef) else value
        for key, value in scene.layers[name].attributes.items()
    }
    try:
        layer.bind(bound)
    except _UNFIT as error:
        raise scene.error(("layers", name), str(error)) from error
    if scene.layers[name].colorbar is not None and "extent" not in layer.attributes.tensors:
        raise scene.error(("layers", name, "colorbar"), "this layer does not use its colormap: color is not a scalar")


def observe(scene: Scene, instances: Mapping[str, ModelInstance], observed: Mapping[str, Observed]) -> set[str]:
    """Observe these tensors inside of models; returns the models of which one observed before is another tensor now.

    Raises `SceneError`, and what recording a model raises.
    """
    others: set[str] = set()
    for name, one in observed.items():
        try:
            if instances[name].observe(one):
                others.add(name)
        except _UNFIT as error:
            raise scene.error(("models", name), str(error)) from error
    return others


def layers_of(scene: Scene, models: Collection[str]) -> list[str]:
    """Every layer that draws an output of one of `models`."""
    return [
        name
        for name, spec in scene.layers.items()
        if any(isinstance(value, OutputRef) and value.model in models for value in spec.attributes.values())
    ]


def with_dependents(scene: Scene, models: Collection[str]) -> list[str]:
    """`models` and every model that reads an output of one, directly or not, in the order of their inputs."""
    affected: list[str] = []
    for name in scene.order:
        if name in models or any(ref.model in affected for ref in scene.models[name].inputs.values()):
            affected.append(name)
    return affected


def _read(scene: Scene, path: KeyPath, ref: OutputRef, instances: Mapping[str, ModelInstance]) -> Tensor:
    """The tensor that an entry of the scene names. Raises `SceneError` if its model has none of that name."""
    try:
        return instances[ref.model].output(ref.output)
    except InputError as error:
        raise scene.error(path, f"{ref.model}: {error}") from error


def _instance(scene: Scene, spec: ModelSpec, params: Params, others: Mapping[str, ModelInstance]) -> ModelInstance:
    path = ("models", spec.name, "inputs")
    inputs = {key: _read(scene, (*path, key), ref, others) for key, ref in spec.inputs.items()}
    try:
        return ModelInstance(spec, params, inputs, scene.observed(spec.name))
    except _UNFIT as error:
        raise scene.error(("models", spec.name), str(error)) from error
