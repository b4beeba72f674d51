"""Boxes in images: which of them remain where they overlap, and what is in them, resampled."""

from __future__ import annotations

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel
from ..tensor import Tensor, f32, i32, u32
from . import launch
from .functions import Operand
from .sorting import sort_pairs


def suppress_overlaps(
    boxes: Operand, scores: Operand, *, most: int, overlap: float, least: float, centers: bool = False
) -> tuple[Tensor, Tensor]:
    """Greedy non-maximum suppression for each class of each image: (order, chosen).

    `boxes` (images, count, 4) f32 are two opposite corners, or center and size if `centers`; `scores` (images, classes,
    count). `order` (images, classes, count) i32 are the boxes by falling score; `chosen`, u32 of that shape, is 1 for
    those that remain: at most `most` of a class, with scores above `least`, of which none overlaps another by more than
    `overlap` of their union. Raises `ShapeError`, `DtypeError`.
    """
    with launch.tensors(boxes, scores) as (corners, values):
        if corners.ndim != 3 or values.ndim != 3 or corners.shape != (values.shape[0], values.shape[2], 4):
            raise ShapeError(f"boxes {corners.shape} and scores {values.shape}; (n, count, 4) and (n, classes, count)")
        if {corners.dtype, values.dtype} != {f32}:
            raise DtypeError(f"boxes of {corners.dtype} with scores of {values.dtype}; both must be f32")
        ranked, order = sort_pairs(values, axis=-1, descending=True)
        chosen = Tensor.empty(values.shape, u32, temporary=True)
        images, classes, count = values.shape
        if chosen.size:
            Kernel.load("ops/suppress.wgsl")(
                images * classes * 128,
                overwrites=("chosen",),
                boxes=corners.contiguous(),
                order=order,
                scores=ranked,
                chosen=chosen,
                count=count,
                classes=classes,
                lines=images * classes,
                most=most,
                centers=int(centers),
                overlap=overlap,
                least=least,
            )
    return order, chosen


def roi_align(
    x: Operand,
    rois: Operand,
    images: Operand,
    size: tuple[int, int],
    *,
    samples: int = 0,
    scale: float = 1.0,
    half_pixel: bool = True,
    largest: bool = False,
) -> Tensor:
    """Regions of x (images, channels, height, width) f32 resampled to `size`: (regions, channels, rows, columns).

    `rois` (regions, 4) f32 are corners x1 y1 x2 y2, which `scale` brings to pixels of x; `images` (regions,) i32 says
    whose they are. Each cell has `samples` along both axes (0: one for each pixel of it), bilinear ones, of which it is
    the mean. With `largest` it is the largest of their weighted neighbors, as in ONNX. (He et al., Mask R-CNN, 3.)
    Raises `ShapeError`, `DtypeError`.
    """
    with launch.tensors(x, rois, images) as (source, regions, owners):
        if source.ndim != 4 or regions.shape != (owners.size, 4):
            raise ShapeError(f"roi_align: x {source.shape}, regions {regions.shape} of images {owners.shape}")
        if {source.dtype, regions.dtype} != {f32} or owners.dtype is not i32:
            raise DtypeError("roi_align: x and regions must be f32, images i32")
        out = Tensor.empty((owners.size, source.shape[1], *size), f32, temporary=True)
        if out.size:
            Kernel.load("ops/roi_align.wgsl", defines={"LARGEST": largest})(
                out.size,
                overwrites=("out",),
                x=source.contiguous(),
                rois=regions.contiguous(),
                images=owners.contiguous(),
                out=out,
                count=out.size,
                channels=source.shape[1],
                height=source.shape[2],
                width=source.shape[3],
                rows=size[0],
                columns=size[1],
                samples=samples,
                scale=scale,
                shift=0.5 if half_pixel else 0.0,
                least=0.0 if half_pixel else 1.0,
            )
    return out
