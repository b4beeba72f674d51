"""Commands about tensors inside models: shown as layers, and units of them set to zero."""

from __future__ import annotations

from ...models.inside import GradientName
from ..command import command, command_of
from ..hovered_node import HoveredNode
from ..running import FITTED_ASPECT
from ..session import Session
from ..shown_gradients import gradient_layer, moved_gradients, shown_gradient
from ..shown_tensors import (
    GRAPH,
    compared_layers,
    compared_with,
    graph_layers,
    layers_with_range,
    new_layer,
    shown_as,
    without_range_of,
)

HoverNode = command_of("graph", lambda session: session.hovered_node)(HoveredNode.choose)


@command("tensor {tensor}")
def ShowTensor(session: Session, model: str, tensor: str) -> None:
    """Show a tensor inside a model as a layer, next to what is drawn, and move the camera until all is visible."""
    if shown_as(session, model, tensor) is None:
        _expect_posted(session, model)
        session.scene_edits.show_tensor(new_layer(session, model, tensor))
        session.cameras.frame_view(session.stage.layers.values(), FITTED_ASPECT)
    session.tensor_statistics.choose(model, tensor)


@command("graph of {model}")
def ShowGraph(session: Session, model: str) -> None:
    """Show the graph of a network in space, and move the camera to it, or show it no longer."""
    shown = [name for tensor in GRAPH if (name := shown_as(session, model, tensor)) is not None]
    if shown:
        session.scene_edits.hide_tensor(*shown)
        return
    layers = graph_layers(session, model)
    session.scene_edits.show_tensor(*layers)
    session.cameras.frame_view([session.stage.layers[layer.name] for layer in layers], FITTED_ASPECT)


@command("tensor {tensor}")
def HideTensor(session: Session, model: str, tensor: str) -> None:
    """Remove the layer that shows a tensor."""
    name = shown_as(session, model, tensor)
    if name is not None:
        session.scene_edits.hide_tensor(name, changed=without_range_of(session, name))
        if session.tensor_statistics.chosen == (model, tensor):
            session.tensor_statistics.choose(None)


@command("statistics")
def ChooseTensor(session: Session, model: str, tensor: str) -> None:
    """Take statistics of a tensor inside a model, which a layer shows, and of the difference, if it is compared."""
    session.tensor_statistics.choose(model, tensor, compared_with(session, model, tensor))


@command("tensor {tensor}")
def CompareTensor(session: Session, model: str, tensor: str, other: str) -> None:
    """Show a tensor, that of the same name in another model, such as another checkpoint, and the difference.

    Both have one range of colors, with all that one of them was compared with before.
    """
    session.scene_edits.show_tensor(*compared_layers(session, model, tensor, other))
    session.cameras.frame_view(session.stage.layers.values(), FITTED_ASPECT)
    session.tensor_statistics.choose(model, tensor, other)


@command("tensor {tensor}")
def ShareRange(session: Session, model: str, tensor: str, other: str, one: bool) -> None:
    """Draw a tensor and that of the same name in another model by one range, or each by its own."""
    layers = layers_with_range(session, model, tensor, other, one)
    if layers:
        session.scene_edits.show_tensor(*layers)


@command("tensor {tensor}")
def HideDifference(session: Session, model: str, tensor: str, other: str) -> None:
    """Compare a tensor no longer: remove the layers of the difference and of the tensor of the other model."""
    shown = shown_as(session, other, tensor), shown_as(session, model, tensor, other)
    names = [name for name in shown if name is not None]
    if names:
        changed = () if shown[0] is None else without_range_of(session, shown[0])
        session.scene_edits.hide_tensor(*names, changed=changed)
    session.tensor_statistics.choose(model, tensor)


@command("gradients of {model}")
def ShowGradient(session: Session, model: str, tensor: str, element: int, source: str) -> None:
    """Show the gradient of an element of a tensor by `source`, another tensor inside the model or an input of it.

    The layer that shows that of another element of the tensor by `source` shows this one instead.
    """
    name = GradientName(tensor, element, source)
    session.scene_edits.show_tensor(gradient_layer(session, model, name))
    session.cameras.frame_view(session.stage.layers.values(), FITTED_ASPECT)
    session.tensor_statistics.choose(model, str(name))


@command("gradients of {model}")
def MoveGradients(session: Session, model: str, tensor: str, element: int) -> None:
    """Show the gradients of this element by all the tensors by which the gradient of another one is shown."""
    layers = moved_gradients(session, model, tensor, element)
    if layers:
        session.scene_edits.show_tensor(*layers)
        chosen = session.tensor_statistics.chosen
        before = GradientName.of(chosen[1]) if chosen is not None and chosen[0] == model else None
        if before is not None and before.source:
            session.tensor_statistics.choose(model, str(GradientName(tensor, element, before.source)))


@command("gradient of {tensor}")
def ShowInputGradient(session: Session, model: str, tensor: str, element: int) -> None:
    """Show the gradient of an element of a tensor by the network's input: its receptive field.

    The layer that shows that of another element of the tensor shows this one instead.
    """
    session.scene_edits.show_tensor(gradient_layer(session, model, GradientName(tensor, element)))
    session.cameras.frame_view(session.stage.layers.values(), FITTED_ASPECT)


@command("gradient of {tensor}")
def HideInputGradient(session: Session, model: str, tensor: str) -> None:
    """Remove the layer that shows the gradient of an element of a tensor by the network's input."""
    layer = shown_gradient(session, model, tensor)
    if layer is not None:
        session.scene_edits.hide_tensor(layer.name)


@command("ablate {tensor}")
def ToggleUnit(session: Session, model: str, tensor: str, unit: int) -> None:
    """Set a unit, head or channel of a tensor to zero from the next step on, or no longer."""
    now = session.scene_edits.extras.ablated.get((model, tensor), ())
    session.scene_edits.ablate(model, tensor, {*now} ^ {unit})


@command("ablate {tensor}")
def Ablate(session: Session, model: str, tensor: str, units: tuple[int, ...]) -> None:
    """Set exactly these units of a tensor to zero."""
    session.scene_edits.ablate(model, tensor, units)


def _expect_posted(session: Session, model: str) -> None:
    """Let the model record at once what the next commands show of it, as after many clicks in a long frame."""
    instance = session.stage.instances.get(model)
    if instance is not None:
        posted = [vars(command) for command in session.commands if type(command) is ShowTensor]
        instance.inside.expect([fields["tensor"] for fields in posted if fields["model"] == model])
