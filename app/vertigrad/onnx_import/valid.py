"""What onnxruntime rejects in a node's constants and attributes is an error here too, and not some number.

Only what is known while the network is recorded is checked; `guards` has what is known when outputs are read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..errors import InputError
from .node import Node
from .values import INTEGERS

Check = Callable[[Node], None]


def require_valid(node: Node) -> None:
    """Raise `InputError` for constants or attributes that the operator cannot have."""
    check = None if node.domain else CHECKS.get(node.op)
    if check is not None:
        check(node)


# indices ----------------------------------------------------------------------------------------------------------


INDEXED = ("Gather", "GatherElements", "Scatter", "ScatterElements", "GatherND", "ScatterND")  # by their input 1


def indexed_axes(node: Node) -> Sequence[int]:
    """The axes of the first input of an operator in `INDEXED` along which its indices count; the last axis of those of
    `GatherND` and `ScatterND` has one for each of the first axes of the data, after those of the batch.
    """
    rank = len(node.shape_of(0))
    if not node.op.endswith("ND"):
        return [node.peek("axis", 0) % max(rank, 1)]
    first, shape = node.peek("batch_dims", 0), node.shape_of(1)
    return range(first, first + shape[-1]) if shape else ()


def _along_axis(node: Node) -> None:
    if not node.shape_of(0):
        raise _error(node, "a tensor without axes, which has no elements by index")
    _require_axes(node, [node.peek("axis", 0)], len(node.shape_of(0)), "axis")
    _require_indices(node)


def _along_first_axes(node: Node) -> None:
    axes, rank = indexed_axes(node), len(node.shape_of(0))
    if len(axes) and axes[-1] >= rank:
        raise _error(node, f"{len(axes)} indices each for a tensor of {rank} axes", 1)
    _require_indices(node)


def _require_indices(node: Node) -> None:
    indices, axes = _known(node, 1), indexed_axes(node)
    if indices is None or not indices.size:
        return
    for row, axis in zip(indices.reshape(-1, len(axes)).T, axes, strict=True):
        size = node.shape_of(0)[axis]
        wrong = row[(row < -size) | (row >= size)]
        if wrong.size:
            raise _error(node, index_error(wrong[0], axis, size), 1)


def index_error(index: int, axis: int, size: int) -> str:
    """What is wrong with an index that is out of range."""
    valid = f"from {-size} to {size - 1}" if size else "none: it is empty"
    return f"index {index} along axis {axis} of size {size}; valid are {valid}"


# axes -------------------------------------------------------------------------------------------------------------


def _axes(node: Node) -> None:
    _require_axes(node, _listed(node, "axes", 1), len(node.shape_of(0)), "axes")


def _new_axes(node: Node) -> None:
    axes = _listed(node, "axes", 1) or []
    _require_axes(node, axes, len(node.shape_of(0)) + len(axes), "axes")


def _split_axis(node: Node) -> None:
    axis, rank = node.peek("axis", 1), len(node.shape_of(0))
    if not -rank <= axis <= rank:
        raise _error(node, f"axis {axis} of a tensor with {rank} axes; valid are {-rank} to {rank}")


def _slice(node: Node) -> None:
    names = ("starts", "ends", "axes", "steps")
    starts, ends, axes, steps = (_listed(node, name, index) for index, name in enumerate(names, 1))
    found = {name: len(one) for name, one in zip(names, (starts, ends, axes, steps), strict=True) if one is not None}
    if len(set(found.values())) > 1:
        listed = ", ".join(f"{count} {name}" for name, count in found.items())
        raise _error(node, f"{listed}; there must be as many of each")
    _require_axes(node, axes, len(node.shape_of(0)), "axes")
    if steps is not None and 0 in steps:
        raise _error(node, "a step of 0; steps are positive, or negative to go backwards", 4)


def _require_axes(node: Node, axes: Sequence[int] | None, rank: int, what: str) -> None:
    axes = axes or []
    for axis in axes:
        if not -rank <= axis < max(rank, 1):
            valid = f"{-rank} to {rank - 1}" if rank else "none"
            raise _error(node, f"{what} {axis} of a tensor with {rank} axes; valid are {valid}")
    if len({axis % max(rank, 1) for axis in axes}) < len(axes):
        raise _error(node, f"{what} {list(axes)} name one twice")


# numbers ----------------------------------------------------------------------------------------------------------


def _divisor(node: Node) -> None:
    divisor = _known(node, 1)
    if divisor is not None and node.inputs[1].elem in INTEGERS and not np.all(divisor):  # type: ignore[union-attr]
        raise _error(node, "integers are divided by 0; divide by others, or cast to floats before", 1)


def _range(node: Node) -> None:
    step = _known(node, 2)
    if step is not None and not np.any(step):
        raise _error(node, "a step of 0; the numbers would never reach the limit", 2)


def _resize(node: Node) -> None:
    scales = _known(node, 2 if len(node.inputs) > 2 else 1)
    sizes = _known(node, 3)
    for what, numbers in (("scales", scales), ("sizes", sizes)):
        if numbers is not None and not np.all(numbers > 0):
            raise _error(node, f"{what} {numbers.tolist()}; they must be positive")


def _depth(node: Node) -> None:
    depth = _known(node, 1)
    if depth is not None and depth.size and depth.reshape(-1)[0] < 0:
        raise _error(node, f"a depth of {depth.reshape(-1)[0]}; there must be 0 classes or more", 1)


def _repeats(node: Node) -> None:
    repeats, rank = _known(node, 1), len(node.shape_of(0))
    if repeats is not None and len(node.inputs) == 2 and repeats.size != rank:
        raise _error(node, f"{repeats.size} repeats for a tensor with {rank} axes; there must be one for each", 1)


def _parts(node: Node) -> None:
    parts, count = _listed(node, "split", 1), len(node.proto.output)
    if parts is not None and len(parts) != count:
        raise _error(node, f"parts {parts} for {count} outputs; there must be one for each", 1)


def _two_axes(node: Node) -> None:
    rank = len(node.shape_of(0))
    if rank < 2 or (node.op == "EyeLike" and rank > 2):
        raise _error(node, f"a tensor with {rank} axes; it must be a matrix")


# windows ----------------------------------------------------------------------------------------------------------


def _kernel_of(index: int) -> Check:
    """The kernel is in the weights, an input of this index; x is the first input."""
    return lambda node: _require_fitting(node, node.peek("kernel_shape", None) or node.shape_of(index)[2:])


def _pool(node: Node) -> None:
    kernel = node.peek("kernel_shape", ())
    pads = node.peek("pads", [0] * (2 * len(kernel)))
    if _is_padded_by_numbers(node) and any(pad >= k for pad, k in zip(pads, (*kernel, *kernel), strict=False)):
        raise _error(
            node, f"pads {pads} for a window of {_written(kernel)}; they must be smaller, or windows hold padding alone"
        )
    if not node.peek("ceil_mode", 0):  # else the last window may pass the image
        _require_fitting(node, kernel)


def _require_fitting(node: Node, kernel: Sequence[int]) -> None:
    if not _is_padded_by_numbers(node) and node.peek("auto_pad", "") != "VALID":
        return
    sizes, count = node.shape_of(0)[2:], len(kernel)
    pads = node.peek("pads", [0] * (2 * count)) if _is_padded_by_numbers(node) else [0] * (2 * count)
    reach = [(k - 1) * dilation + 1 for k, dilation in zip(kernel, node.peek("dilations", [1] * count), strict=False)]
    padded = [size + first + last for size, first, last in zip(sizes, pads[:count], pads[count:], strict=False)]
    if any(most > size for most, size in zip(reach, padded, strict=False)):
        raise _error(node, f"a window of {_written(reach)} on an image of {_written(padded)} with its padding; "
                           "use a larger image, or more padding")  # fmt: skip


def _is_padded_by_numbers(node: Node) -> bool:
    return node.peek("auto_pad", "NOTSET") in ("NOTSET", "")


# inside -----------------------------------------------------------------------------------------------------------


def _known(node: Node, index: int) -> np.ndarray | None:
    """The numbers of an input, if they are known without a look at the GPU."""
    value = node.inputs[index] if index < len(node.inputs) else None
    return None if value is None else value.host


def _listed(node: Node, attribute: str, index: int) -> list[int] | None:
    """Integers given as an attribute, as older opsets have them, or as an input; None if they are not known."""
    listed = node.peek(attribute, None)
    if listed is not None:
        return [listed] if isinstance(listed, int) else listed
    known = _known(node, index)
    return None if known is None else [int(number) for number in known.reshape(-1)]


def _written(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))


def _error(node: Node, what: str, index: int | None = None) -> InputError:
    name = node.proto.input[index] if index is not None and index < len(node.proto.input) else ""
    return InputError(f"{node.trace.source}: {node}: {what}" + (f" (input {name!r})" if name else ""))


_REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
CHECKS: dict[str, Check] = {
    **dict.fromkeys(("Gather", "GatherElements", "Scatter", "ScatterElements"), _along_axis),
    **dict.fromkeys(("GatherND", "ScatterND"), _along_first_axes),
    **dict.fromkeys(("Squeeze", "CumSum", *(f"Reduce{name}" for name in _REDUCTIONS)), _axes),
    **dict.fromkeys(("Div", "Mod"), _divisor),
    **dict.fromkeys(("EyeLike", "Trilu"), _two_axes),
    **dict.fromkeys(("MaxPool", "AveragePool", "LpPool"), _pool),
    **dict.fromkeys(("Conv", "ConvInteger", "DeformConv"), _kernel_of(1)),
    "QLinearConv": _kernel_of(3),
    "Unsqueeze": _new_axes,
    "Flatten": _split_axis,
    "Resize": _resize,
    "Slice": _slice,
    "Range": _range,
    "OneHot": _depth,
    "Tile": _repeats,
    "Split": _parts,
}
