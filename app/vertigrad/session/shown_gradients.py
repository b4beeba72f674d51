"""Gradients of elements inside models that the user shows as layers: receptive fields, and those of a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..models.inside import GradientName
from ..renderer.layers.tensor_shapes import default_form
from ..scene.inside import TENSOR, inner_layer, new_layer_name
from ..scene.schema import LayerSpec, OutputRef
from .shown_tensors import new_layer, with_style

if TYPE_CHECKING:
    from .session import Session


def shown_gradients(session: Session, model: str) -> dict[GradientName, LayerSpec]:
    """The gradients inside a model that are shown, with their layers, in the order in which they were first shown."""
    found: dict[GradientName, LayerSpec] = {}
    for layer in session.scene_edits.extras.tensors.values():
        ref = layer.attributes[TENSOR]
        name = GradientName.of(ref.output) if isinstance(ref, OutputRef) and ref.model == model else None
        if name is not None:
            found[name] = layer
    return found


def shown_gradient(session: Session, model: str, tensor: str, source: str = "") -> LayerSpec | None:
    """The layer that shows the gradient of an element of `tensor` by `source`; None if there is none."""
    shown = shown_gradients(session, model).items()
    return next((layer for name, layer in shown if (name.tensor, name.source) == (tensor, source)), None)


def target(session: Session, model: str) -> tuple[str, int] | None:
    """The tensor and the element of which gradients by other tensors are shown; None if none are."""
    shown = [name for name in shown_gradients(session, model) if name.source]
    return (shown[-1].tensor, shown[-1].element) if shown else None


def gradient_layer(session: Session, model: str, name: GradientName) -> LayerSpec:
    """A layer for a gradient: the one that there is for another element of the same tensor, or a new one."""
    before = shown_gradient(session, model, name.tensor, name.source)
    if before is not None:
        return inner_layer(before.name, model, str(name), with_style(session, before).style)
    style = new_layer(session, model, str(name)).style
    instance = session.stage.instances.get(model)
    known = None if instance is None else instance.inside.known().get(name.source)
    sizes = () if known is None else known.shape or ()
    if default_form(tuple(size for size in sizes if isinstance(size, int))) in ("points", "lines"):
        style = style.with_values({"draw": "image"})  # its rows are no coordinates
    return inner_layer(new_layer_name("gradient", session.stage.layers), model, str(name), style)


def moved_gradients(session: Session, model: str, tensor: str, element: int) -> list[LayerSpec]:
    """The layers of gradients by other tensors, which now show those of this element of `tensor`."""
    layers = ((name, layer) for name, layer in shown_gradients(session, model).items() if name.source)
    return [
        inner_layer(
            layer.name, model, str(GradientName(tensor, element, name.source)), with_style(session, layer).style
        )
        for name, layer in layers
    ]
