"""A scene's table of an ONNX network: sizes, inputs, outputs, and the parameters that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import params
from ...errors import InputError
from ...params import integer, number, vector
from ..base import Fault, table_in
from .feeds import Feed, Slider, read_feed

if TYPE_CHECKING:
    from ...onnx_import import Network


def declared_dims(table: Mapping[str, Any], network: Network, faults: list[Fault]) -> dict[str, int]:
    """The sizes that `dims` gives to named dimensions; each becomes a parameter."""
    named = {size for _, sizes in network.inputs.values() for size in sizes or () if isinstance(size, str)}
    named |= {size for name in network.outputs for size in network.own_dimensions(name) if size}
    found = {}
    for name, size in table_in(table, "dims").items():
        if name not in named:
            faults.append(Fault(("dims", name), params.unknown("dimension", name, sorted(named)), False))
        elif isinstance(size, bool) or not isinstance(size, int) or size < 1:
            faults.append(Fault(("dims", name), f"expected an integer from 1, got {params.described(size)}"))
        else:
            found[name] = size
    return found


def declared_feeds(table: Mapping[str, Any], network: Network, faults: list[Fault]) -> dict[str, Feed]:
    """What each input is fed from, but for those that take another model's output."""
    known, inputs = network.inputs, table_in(table, "inputs")
    feeds: dict[str, Feed] = {}
    for name, entry in inputs.items():
        if name not in known:
            faults.append(Fault(("inputs", name), params.unknown("input", name, known), False))
        elif not isinstance(entry, str):
            try:
                feeds[name] = read_feed(name, entry, network.outputs)
            except InputError as error:
                faults.append(Fault(("inputs", name), str(error)))
    for name in known:
        if name not in inputs:
            faults.append(Fault((), f"needs the input {name}: a slider, a constant, or another model's output", False))
    return feeds


def declared_outputs(table: Mapping[str, Any], network: Network, faults: list[Fault]) -> dict[str, str]:
    """The outputs, as the scene names them and as the network does; all of them if `outputs` is not given.

    A scene may name tensors inside of the network, too.
    """
    outputs = table.get("outputs")
    if not isinstance(outputs, Mapping):
        return {"".join(c if c.isalnum() else "_" for c in name): name for name in network.outputs}
    known = [*network.outputs, *network.tensors]
    for ours, theirs in outputs.items():
        if theirs not in known:
            faults.append(Fault(("outputs", ours), params.unknown("output", str(theirs), known)))
    return {ours: theirs for ours, theirs in outputs.items() if theirs in known}


def parameter(
    feed: Slider,
    entry: tuple[np.dtype, Sequence[int | str | None] | None],
    dims: Mapping[str, int],
    faults: list[Fault],
) -> tuple[type, Any]:
    """The declaration of a slider: a number, or a vector for an input of several elements."""
    _, sizes = entry
    low, high = feed.range
    try:
        count = int(np.prod(fixed(sizes, dims), initial=1))
    except InputError as error:
        faults.append(Fault(("inputs", feed.name), str(error)))
        count = 1
    if count == 1:
        return float, number(
            feed.middle(1)[0], slider_min=low, slider_max=high, doc=f"input {feed.name} of the network"
        )
    if count > feed.MOST:
        faults.append(Fault(("inputs", feed.name), f"{count} elements; sliders are for {feed.MOST} at most"))
        count = 2
    declared = vector(
        feed.middle(count), length=count, slider_min=low, slider_max=high, doc=f"input {feed.name} of the network"
    )
    return tuple[float, ...], declared


def size_parameter(name: str, size: int) -> Any:
    """The declaration of a dimension's size."""
    return integer(size, min=1, max=1 << 27, scale="log", rebuild=True, doc=f"size of the dimension {name}")


def fixed(sizes: Sequence[int | str | None] | None, dims: Mapping[str, int]) -> tuple[int, ...]:
    """Every dimension as a number; the first, if it has no size anywhere, is a batch of one.

    Raises `InputError` for sizes that are in neither, and for None: an input without a shape.
    """
    if sizes is None:
        raise InputError("the file gives it no shape: use a constant or another model's output as this input")
    found = []
    for axis, size in enumerate(sizes):
        if isinstance(size, str) and size in dims:
            found.append(dims[size])
        elif isinstance(size, int):
            found.append(size)
        elif axis == 0:
            found.append(1)
        else:
            raise InputError(f"the size of axis {axis} ({size or 'without a name'}) must be given in dims")
    return tuple(found)
