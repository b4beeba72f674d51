"""How far two sets of points are apart."""

from __future__ import annotations

from .. import ops
from ..errors import DtypeError, ShapeError
from ..gpu import Kernel
from ..tensor import Tensor, f32, i32
from ..tensor.graph import no_grad

MOST_AXES = 8
LEAST_SQUARE = 1e-24  # under which a distance has no direction


def nearest(points: Tensor, others: Tensor) -> Tensor:
    """For each of `points` (n, axes) the index (n,) i32 of the nearest of `others` (m, axes); of several, the first.

    Every pair is tested. Both are f32, with 1 to 8 axes. No gradient. Raises `ShapeError`, `DtypeError`.
    """
    _check(points, others)
    found = Tensor.empty(points.shape[0], i32, temporary=True)
    with no_grad():
        Kernel.load("learn/nearest.wgsl", defines={"AXES": points.shape[1]})(
            points.shape[0],
            overwrites=("nearest",),
            points=points.detach().contiguous(),
            others=others.detach().contiguous(),
            nearest=found,
            count=points.shape[0],
            number=others.shape[0],
        )
    return found


def chamfer(points: Tensor, others: Tensor, *, squared: bool = True) -> Tensor:
    """The Chamfer distance of two sets of points, (n, axes) and (m, axes).

    The mean over `points` of the squared distance to the nearest of `others`, and the same the other way round, added
    up (Fan, Su & Guibas 2017, A point set generation network, section 3.2; they take sums). Not `squared`: the mean
    distances, for reports. Gradients flow to both sets, through the pairs that are nearest now. Raises as
    `nearest`.
    """
    return _towards(points, others, squared) + _towards(others, points, squared)


def _towards(points: Tensor, others: Tensor, squared: bool) -> Tensor:
    """The mean (squared) distance from each of `points` to the nearest of `others`."""
    pairs = ops.take(others, nearest(points, others), 0)
    squares = ops.square(points - pairs).sum(-1)
    return (squares if squared else ops.sqrt(ops.maximum(squares, LEAST_SQUARE))).mean()


def _check(points: Tensor, others: Tensor) -> None:
    axes = points.shape[-1] if points.ndim == 2 else 0
    if others.ndim != 2 or others.shape[-1] != axes or not 1 <= axes <= MOST_AXES or not points.size * others.size:
        raise ShapeError(
            f"points of shape {points.shape} and {others.shape}; both must be (points, axes), with the same 1 to "
            f"{MOST_AXES} axes and a point at least"
        )
    if points.dtype is not f32 or others.dtype is not f32:
        raise DtypeError(f"points are {points.dtype} and {others.dtype}; both must be f32: use .to() first")
