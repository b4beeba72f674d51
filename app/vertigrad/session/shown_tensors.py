"""Tensors inside models that the user shows as layers: where a new one is placed, and what a file says of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import GpuError, InputError
from ..models.inside import is_gradient
from ..params import same
from ..renderer.bounds import Bounds
from ..renderer.layers import types as layer_types
from ..renderer.layers.tensor import TensorLayer
from ..scene.inside import MINUS, TENSOR, compared, comparing, inner_layer, layer_of, new_layer_name
from ..scene.locate import KeyPath
from ..scene.schema import LayerSpec, OutputRef
from .naming import plain
from .readbacks import wait_for_readbacks
from .scene_extras import same_tensors

if TYPE_CHECKING:
    from ..renderer.layers.base import Layer
    from .session import Session

GAP = 0.08  # between two layers, of their size
COLUMNS = 4  # layers in a row
GRAPH = "graph", "graph.wires"  # tensors inside networks: the layout of the graph
SIGNED = {
    "normalize": False,
    "colormap": "vik",
    "range": "symmetric",
}  # values of the style, for differences and gradients
FRACTION = 0.7  # size of a new layer, of the longest edge of the others


def shown_as(session: Session, model: str, tensor: str, minus: str = "") -> str | None:
    """The name of the layer that shows this tensor, minus that of another model; None if there is none."""
    return layer_of(session.scene_edits.extras.tensors, model, tensor, minus)


def new_layer(session: Session, model: str, tensor: str, number: int = 0) -> LayerSpec:
    """A layer for this tensor, next to what is drawn and `number` other new ones. Waits for the GPU."""
    center, size = _free_position(session, number)
    signed = SIGNED if is_gradient(tensor) else {}
    style = layer_types()[TENSOR].Style.parse({"center": center, "size": size, **signed})
    return inner_layer(new_layer_name(tensor, session.stage.layers), model, tensor, style)


def compared_layers(session: Session, model: str, tensor: str, other: str) -> list[LayerSpec]:
    """Layers for a tensor and for that of the same name in another model, with one range, and for the difference.

    Layers that each of both was compared with before have that range, too. Waits for the GPU. Raises `InputError`.
    """
    if model == other:
        raise InputError(f"{tensor} of {model} is not compared with itself")
    names = [*session.stage.layers]
    layers: list[LayerSpec] = []
    new = 0
    for one in (model, other):
        layer = _shown_layer(session, one, tensor)
        if layer is None:
            layer = replace(new_layer(session, one, tensor, new), name=new_layer_name(tensor, names))
            new += 1
        layers.append(layer)
        names.append(layer.name)
    layers = _with_one_range([*layers, *_compared_with(session, layers)])
    if shown_as(session, model, tensor, other) is None:
        style = new_layer(session, model, tensor, new).style.with_values(SIGNED)
        layers.append(inner_layer(new_layer_name("difference", names), model, tensor, style, other))
    return layers


def compared_with(session: Session, model: str, tensor: str) -> str:
    """The model with whose tensor of the same name this one is compared; empty if it is compared with none."""
    shown = (layer.attributes for layer in session.scene_edits.extras.tensors.values() if MINUS in layer.attributes)
    others = (refs[MINUS] for refs in shown if refs[TENSOR] == OutputRef(model, tensor))
    return next((ref.model for ref in others if isinstance(ref, OutputRef)), "")


def have_one_range(session: Session, model: str, tensor: str, other: str) -> bool:
    """Whether the layers of both tensors have one range of colors."""
    pairs = ((_shown_layer(session, name, tensor), another) for name, another in ((model, other), (other, model)))
    return all(layer is not None and OutputRef(another, tensor) in compared(layer) for layer, another in pairs)


def sharing_range(session: Session, name: str) -> list[str]:
    """The layer of a tensor, and those that are shown whose values count in its range."""
    others = (shown_as(session, *ref) for ref in compared(session.scene_edits.extras.tensors[name]))
    return [name, *(other for other in others if other is not None)]


def layers_with_range(session: Session, model: str, tensor: str, other: str, one: bool) -> list[LayerSpec]:
    """The layers of both tensors, those that are shown, and of others that they are compared with, with one range.

    Or that of the other model with its own, and those that had one with it without it. Raises `InputError`.
    """
    layers = [layer for name in (model, other) if (layer := _shown_layer(session, name, tensor)) is not None]
    if one:
        return _with_one_range([*layers, *_compared_with(session, layers)])
    alone = [layer for layer in layers if layer.attributes[TENSOR] == OutputRef(other, tensor)]
    rest = [each for layer in alone for each in without_range_of(session, layer.name)]
    return [*rest, *(comparing(layer, (), layer.style) for layer in alone)]


def without_range_of(session: Session, name: str) -> list[LayerSpec]:
    """The layers that have one range with the layer `name`, with a range without it."""
    ref = session.scene_edits.extras.tensors[name].attributes[TENSOR]
    layers = (with_style(session, layer) for layer in session.scene_edits.extras.tensors.values())
    return [
        comparing(layer, (other for other in refs if other != ref), layer.style)
        for layer in layers
        if ref in (refs := compared(layer))
    ]


def _with_one_range(layers: Sequence[LayerSpec]) -> list[LayerSpec]:
    """These layers of tensors, all with one range."""
    refs = [ref for layer in layers if isinstance(ref := layer.attributes[TENSOR], OutputRef)]
    return [comparing(layer, (ref for ref in refs if ref != layer.attributes[TENSOR]), layer.style) for layer in layers]


def _compared_with(session: Session, layers: Sequence[LayerSpec]) -> list[LayerSpec]:
    """The layers that are shown of what is compared with some, without these."""
    refs = dict.fromkeys(ref for layer in layers for ref in compared(layer))
    names = dict.fromkeys(shown_as(session, *ref) for ref in refs)
    mine = {layer.name for layer in layers}
    tensors = session.scene_edits.extras.tensors
    return [with_style(session, tensors[name]) for name in names if name is not None and name not in mine]


def _shown_layer(session: Session, model: str, tensor: str) -> LayerSpec | None:
    """The layer that shows a tensor, with the style that it has now."""
    name = shown_as(session, model, tensor)
    return None if name is None else with_style(session, session.scene_edits.extras.tensors[name])


def with_style(session: Session, layer: LayerSpec) -> LayerSpec:
    """A layer that is shown, with the style that it has now; it has none if its model is gone from the file."""
    running = session.stage.layers.get(layer.name)
    return layer if running is None else replace(layer, style=running.style.model_copy())


def picked_element(session: Session) -> tuple[str, str, int] | None:
    """Model and tensor of the layer in which something was picked last, and the row-major index of the element."""
    picked = session.selection.picked
    layer = None if picked is None else session.stage.layers.get(picked.layer)
    if picked is None or not isinstance(layer, TensorLayer):
        return None
    ref, element = session.scene.layers[picked.layer].attributes[TENSOR], layer.element(picked.row)
    return None if element is None or not isinstance(ref, OutputRef) else (ref.model, ref.output, element)


def picked_node(session: Session) -> tuple[str, str] | None:
    """Model and tensor of the node of a graph that was picked last."""
    picked = picked_element(session)
    if picked is None or picked[1] != GRAPH[0]:
        return None
    graph, row = session.stage.instances[picked[0]].inside.graph, picked[2] // 4
    return None if graph is None or row >= len(graph.nodes) else (picked[0], graph.nodes[row].name)


def graph_layers(session: Session, model: str) -> list[LayerSpec]:
    """Layers for the graph of a network in space: nodes, colored by what their tensors hold now, and wires."""
    center, size = _free_position(session)
    kind = layer_types()[TENSOR].Style
    shared = {"center": center, "size": size}
    nodes = kind.parse({**shared, "draw": "points", "colormap": "inferno"})
    wires = kind.parse({**shared, "draw": "lines", "brightness": 0.35})
    taken = session.stage.layers
    return [
        inner_layer(new_layer_name("wires", taken), model, GRAPH[1], wires),
        inner_layer(new_layer_name("nodes", taken), model, GRAPH[0], nodes),
    ]


def new_tensors(session: Session) -> list[str]:
    """The layers of tensors that are not in the file, in the order in which they were shown."""
    now, before = session.scene_edits.extras.of_models(session.scene.models), session.scene_edits.file_extras
    return [name for name in now.tensors if name not in before.tensors]


def changed_tensors(session: Session) -> dict[KeyPath, Any]:
    """Entries of the scene's file: layers of tensors that were added or removed, and units that are set to zero."""
    edits = session.scene_edits
    now, before = edits.extras.of_models(session.scene.models), edits.file_extras
    changes: dict[KeyPath, Any] = {("layers", name): None for name in before.tensors.keys() - now.tensors.keys()}
    for name, layer in now.tensors.items():
        if name not in before.tensors or not same_tensors(layer, before.tensors[name]):
            unused = before.tensors[name].attributes.keys() - layer.attributes.keys() if name in before.tensors else ()
            changes |= {("layers", name, key): None for key in unused} | _entries(session, layer)
    for model, tensor in {**before.ablated, **now.ablated}:
        units = now.ablated.get((model, tensor))
        if before.ablated.get((model, tensor)) != units:
            changes["models", model, "ablate", tensor] = units
    return changes


def _entries(session: Session, layer: LayerSpec) -> dict[KeyPath, Any]:
    """All entries of a layer that is not in the file."""
    path = "layers", layer.name
    read = {key: value.text if isinstance(value, OutputRef) else value for key, value in layer.attributes.items()}
    found: dict[KeyPath, Any] = {(*path, key): value for key, value in read.items()}
    running = session.stage.layers.get(layer.name)
    style = layer.style if running is None else running.style
    for spec in style.specs():
        value = getattr(style, spec.name)
        if not same(value, spec.default):
            found[*path, spec.name] = plain(spec, value, Path())
    return found


def _free_position(session: Session, number: int = 0) -> tuple[tuple[float, float, float], float]:
    """Center and size of new layer `number`: in rows that begin with the first layer of a tensor, or right of all."""
    layers = session.stage.layers.values()
    tensors = [layer.style for layer in layers if isinstance(layer, TensorLayer)]
    box = _box(session, [layer for layer in layers if not isinstance(layer, TensorLayer)])
    if tensors:
        size = tensors[-1].size
        taken = [(np.array(style.center), style.size) for style in tensors]
        cells = ((index % COLUMNS, -(index // COLUMNS), 0.0) for index in itertools.count())
        centers = (taken[0][0] + (1.0 + GAP) * size * np.array(cell) for cell in cells)
        free = (center for center in centers if _is_free(center, size, taken, box))
        return _rounded(next(itertools.islice(free, number, None))), size
    low, high = box or (np.zeros(3), np.zeros(3))
    size = 2.0 if box is None else FRACTION * (float((high - low).max()) or 2.0)
    x = 0.0 if box is None else high[0] + (0.5 + GAP) * size
    _, y, z = 0.5 * (low + high)
    return _rounded((x + number * (1.0 + GAP) * size, y, z)), float(f"{size:.4g}")


def _is_free(
    center: np.ndarray, size: float, taken: list[tuple[np.ndarray, float]], box: tuple[np.ndarray, np.ndarray] | None
) -> bool:
    """Whether a square of this size is beside all others and beside the box, as seen along z."""
    boxes = [(at - 0.5 * other, at + 0.5 * other) for at, other in taken] + ([] if box is None else [box])
    reach = 0.5 * size * (1.0 + GAP)
    return all(((center + reach <= low) | (center - reach >= high))[:2].any() for low, high in boxes)


def _rounded(center: Iterable[float]) -> tuple[float, float, float]:
    x, y, z = (float(f"{part:.4g}") for part in center)
    return x, y, z


def _box(session: Session, layers: list[Layer]) -> tuple[np.ndarray, np.ndarray] | None:
    """The box around layers; None without any. Waits for the GPU."""
    if not layers:
        return None
    bounds = Bounds(layers)
    wait_for_readbacks(session.gpu)
    try:
        return bounds.result()
    except GpuError:
        return None
