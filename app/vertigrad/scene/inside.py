"""What a scene shows of the inside of its models: layers of tensors, and units that are set to zero."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from ..errors import InputError
from .schema import InnerRef, LayerSpec, OutputRef, Scene

TENSOR = "tensor"  # the type of the layers, and their attribute
MINUS = "minus"  # the attribute that is subtracted
COMPARED = "compare", "compare_2", "compare_3", "compare_4"  # whose values count in the range of colors and heights

Ablated = Mapping[tuple[str, str], tuple[int, ...]]  # units by model and tensor


def tensor_layers(scene: Scene) -> dict[str, LayerSpec]:
    """The layers of tensors, by name."""
    return {name: spec for name, spec in scene.layers.items() if spec.type == TENSOR}


def ablated_units(scene: Scene) -> dict[tuple[str, str], tuple[int, ...]]:
    """The units that are set to zero."""
    each = ((model, *entry) for model, spec in scene.models.items() for entry in spec.ablated.items())
    return {(model, tensor): units for model, tensor, units in each if units}


def with_inside(scene: Scene, layers: Mapping[str, LayerSpec], ablated: Ablated) -> Scene:
    """The scene with these layers of tensors and no others, and these units set to zero.

    Layers, units and what is compared of models that are not in the scene are left out, and layers whose names others
    have.
    """
    others = {name: spec for name, spec in scene.layers.items() if spec.type != TENSOR}
    shown = {name: spec for name, spec in layers_of_models(layers, scene.models).items() if name not in others}
    order = [*(name for name in scene.layers if name in others or name in shown), *shown]
    models = {name: replace(spec, ablated=_of(name, ablated)) for name, spec in scene.models.items()}
    return replace(scene, models=models, layers={name: (others | shown)[name] for name in dict.fromkeys(order)})


def layer_of(layers: Mapping[str, LayerSpec], model: str, tensor: str, minus: str = "") -> str | None:
    """The name of the layer that shows this tensor, by itself or minus that of another model; None if there is none."""
    shown = (OutputRef(model, tensor), OutputRef(minus, tensor) if minus else None)
    each = ((name, (spec.attributes[TENSOR], spec.attributes.get(MINUS))) for name, spec in layers.items())
    return next((name for name, drawn in each if drawn == shown), None)


def new_layer_name(tensor: str, taken: Iterable[str]) -> str:
    """A name for the layer of a tensor: the last part of its own, with a number if another layer has it."""
    last = tensor.rstrip("/").rpartition("/")[2]
    base = "".join(c if c.isalnum() and c.isascii() else "_" for c in last).strip("_") or TENSOR
    base = f"_{base}" if base[0].isdigit() else base
    names, name, number = {*taken}, base, 2
    while name in names:
        name, number = f"{base}_{number}", number + 1
    return name


def inner_layer(name: str, model: str, tensor: str, style: Any, minus: str = "") -> LayerSpec:
    """A layer that shows a tensor inside a model, perhaps minus that of the same name in another one."""
    refs = {TENSOR: InnerRef(model, tensor), **({MINUS: InnerRef(minus, tensor)} if minus else {})}
    return LayerSpec(name, TENSOR, refs, style)


def compared(layer: LayerSpec) -> tuple[OutputRef, ...]:
    """The tensors whose values count in the range of the layer of a tensor."""
    refs = (layer.attributes.get(key) for key in COMPARED)
    return tuple(ref for ref in refs if isinstance(ref, OutputRef))


def comparing(layer: LayerSpec, refs: Iterable[OutputRef], style: Any) -> LayerSpec:
    """The layer of a tensor with one range for it and these; with a range of its own without any.

    Raises `InputError` for more than there are attributes.
    """
    others = [InnerRef(*ref) for ref in refs]
    if len(others) > len(COMPARED):
        raise InputError(f"{len(others) + 1} tensors are compared; at most {len(COMPARED) + 1} have one range")
    attributes = {key: ref for key, ref in layer.attributes.items() if key not in COMPARED}
    return replace(layer, attributes=attributes | dict(zip(COMPARED, others, strict=False)), style=style)


def _of(model: str, ablated: Ablated) -> dict[str, tuple[int, ...]]:
    return {tensor: units for (name, tensor), units in ablated.items() if name == model and units}


def layers_of_models(layers: Mapping[str, LayerSpec], models: Collection[str]) -> dict[str, LayerSpec]:
    """The layers that draw tensors of these models; what is compared of others is left out."""
    fitting = {}
    for name, layer in layers.items():
        refs = compared(layer)
        known = [ref for ref in refs if ref.model in models]
        own = layer if len(known) == len(refs) else comparing(layer, known, layer.style)
        if models_of(own) <= set(models):
            fitting[name] = own
    return fitting


def models_of(spec: LayerSpec) -> set[str]:
    """The models whose tensors a layer draws, or compares."""
    return {ref.model for ref in spec.attributes.values() if isinstance(ref, OutputRef)}
