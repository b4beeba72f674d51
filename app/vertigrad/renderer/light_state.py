"""`state_of`: what the light of an image depends on, by which an image is known to be that of the frame before."""

from __future__ import annotations

from collections.abc import Sequence

from .layers.base import Layer


def state_of(layers: Sequence[Layer], time: float, *others: object) -> tuple[object, ...] | None:
    """The states of prepared layers, and all else that the light depends on: alike means the same light.

    None if a layer depends on more than is known, so that the light may be another one each time. What follows from the
    states and from `others`, such as the map of optical depths or the lines of annotations, need not be among them.
    """
    states = [layer.drawing.state(time) for layer in layers]
    return None if None in states else (*others, *states)
