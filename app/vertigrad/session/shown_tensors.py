"""Tensors inside models that the user shows as layers: where a new one is placed, and what a file says of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import GpuError
from ..models.inside import is_gradient
from ..params import same
from ..renderer.bounds import Bounds
from ..renderer.layers import types as layer_types
from ..renderer.layers.tensor import TensorLayer
from ..scene.inside import TENSOR, inner_layer, layer_of, new_layer_name
from ..scene.locate import KeyPath
from ..scene.schema import LayerSpec, OutputRef
from .naming import plain
from .readbacks import wait_for_readbacks
from .scene_extras import same_tensors

if TYPE_CHECKING:
    from .session import Session

GAP = 0.08  # between two layers, of their size
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


def new_layer(session: Session, model: str, tensor: str) -> LayerSpec:
    """A layer for this tensor, to the right of all that is drawn. Waits for the GPU."""
    center, size = _free_position(session)
    signed = SIGNED if is_gradient(tensor) else {}
    style = layer_types()[TENSOR].Style.parse({"center": center, "size": size, **signed})
    return inner_layer(new_layer_name(tensor, session.stage.layers), model, tensor, style)


def difference_layer(session: Session, model: str, tensor: str, other: str) -> LayerSpec:
    """A layer for a tensor minus that of the same name in another model. Waits for the GPU."""
    layer = new_layer(session, model, tensor)
    style = layer.style.with_values(SIGNED)
    return inner_layer(new_layer_name("difference", session.stage.layers), model, tensor, style, other)


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


def changed_tensors(session: Session) -> dict[KeyPath, Any]:
    """Entries of the scene's file: layers of tensors that were added or removed, and units that are set to zero."""
    now, before = session.scene_edits.extras, session.scene_edits.file_extras
    changes: dict[KeyPath, Any] = {("layers", name): None for name in before.tensors.keys() - now.tensors.keys()}
    for name, layer in now.tensors.items():
        if name not in before.tensors or not same_tensors(layer, before.tensors[name]):
            changes |= _entries(session, layer)
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


def _free_position(session: Session) -> tuple[tuple[float, float, float], float]:
    """Center and size of a new layer."""
    layers = list(session.stage.layers.values())
    bounds = Bounds(layers)
    wait_for_readbacks(session.gpu)
    try:
        box = bounds.result()
    except GpuError:
        box = None
    if box is None:
        return (0.0, 0.0, 0.0), 2.0
    low, high = box
    edge = float((high - low).max()) or 2.0
    types = {name: spec.type for name, spec in session.scene.layers.items()}
    others = [layer.style.size for name, layer in session.stage.layers.items() if types[name] == TENSOR]
    size = others[-1] if others else FRACTION * edge
    middle = 0.5 * (low + high)
    return (float(high[0]) + (0.5 + GAP) * size, float(middle[1]), float(middle[2])), float(size)
