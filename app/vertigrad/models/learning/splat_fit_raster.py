"""Gaussian splats drawn by a camera, as an operation that gradients flow through."""

from __future__ import annotations

from typing import Any, NamedTuple

from ... import learn, ops
from ...gpu import Kernel
from ...tensor import Tensor, u32

PROJECT, TILES = "models/splat_fit_project.wgsl", "models/splat_fit_tiles.wgsl"
TILE = 8  # pixels along each side of what a workgroup draws
SUMS = 9  # numbers that are added up over the pixels of a splat
BLUR = 1.0 / 12.0  # variance of a position within a pixel: an image is sharp if a splat is as small as that [pixels²]
REACH = 1.3  # how far beside an image splats are drawn, over half its width
COLUMNS = {"position": slice(0, 3), "scale": slice(3, 6), "rotation": slice(6, 10), "light": slice(11, 14)}


class Lens(NamedTuple):
    """What all cameras share: pixels along each side, focal length [pixels], and what is too near to be drawn."""

    side: int
    focal: float
    near: float


class Splats(NamedTuple):
    """`position` (n, 3); `scale` (n, 3), standard deviations along each splat's own axes; `rotation` (n, 4),
    quaternions x, y, z, w of any length; `opacity` (n,), 0 to 1; `light` (n, 3), linear colors, 0 to 1.
    """

    position: Tensor
    scale: Tensor
    rotation: Tensor
    opacity: Tensor
    light: Tensor


def drawn(splats: Splats, cameras: Tensor, lens: Lens, **open_fields: Any) -> Tensor:
    """The image (side, side, 3) of splats, linear colors; gradients flow to all five tensors of `splats`.

    `cameras` (3 · views, 4) are rows as in shaders/models/splat_fit_views.wgsl. Which `view` it is, and its linear
    `background`, are the fields that stay open while a plan records, and must be given otherwise. The same splats give
    the same bits, and the same gradients.
    """
    kept: list[Tensor] = []  # of the way forward: what backward needs and nobody else asks for

    def forward(*given: Tensor) -> Tensor:
        kept[:] = flat, order = _projected(Splats(*given), cameras, lens, open_fields)
        return _blended(flat, order, lens, open_fields)

    def backward(gradient: Tensor, image: Tensor, *given: Tensor) -> list[Tensor]:
        flat, order = kept
        words, largest = _summed(flat, order, image, gradient.contiguous(), lens)
        gradients = _project_backward(Splats(*given), flat, words, largest, cameras, lens, open_fields)
        by = {name: gradients[:, columns] for name, columns in COLUMNS.items()}
        return [by["position"], by["scale"], by["rotation"], gradients[:, 10], by["light"]]

    return learn.custom("splats", forward, backward)(*splats)


def encoded(light: Tensor) -> Tensor:
    """Linear light as sRGB (IEC 61966-2-1)."""
    bend = 0.0031308
    high = ops.power(ops.maximum(light, bend), 1.0 / 2.4) * 1.055 - 0.055
    return ops.where(ops.less(light, bend), light * 12.92, high)


def decoded(color: Tensor) -> Tensor:
    """sRGB as linear light."""
    bend = 0.04045
    high = ops.power((ops.maximum(color, bend) + 0.055) * (1.0 / 1.055), 2.4)
    return ops.where(ops.less(color, bend), color * (1.0 / 12.92), high)


def _view(lens: Lens, open_fields: dict[str, Any]) -> dict[str, Any]:
    named = {key: value for key, value in open_fields.items() if key == "view"}
    reach = REACH * 0.5 * lens.side / lens.focal
    return {"focal": lens.focal, "middle": 0.5 * lens.side, "blur": BLUR, "near": lens.near, "reach": reach, **named}


def _projected(splats: Splats, cameras: Tensor, lens: Lens, open_fields: dict[str, Any]) -> tuple[Tensor, Tensor]:
    """Ellipses on the image, three of four numbers for each, and their order, the nearest first."""
    count = len(splats.position)
    flat, keys = Tensor.empty((3 * count, 4), temporary=True), Tensor.empty(count, u32, temporary=True)
    Kernel.load(PROJECT, "project")(
        count,
        overwrites=("flat", "keys"),
        **{name: tensor.contiguous() for name, tensor in splats._asdict().items()},
        cameras=cameras,
        flat=flat,
        keys=keys,
        count=count,
        **_view(lens, open_fields),
    )
    return flat, ops.argsort(keys)


def _blended(flat: Tensor, order: Tensor, lens: Lens, open_fields: dict[str, Any]) -> Tensor:
    image = Tensor.empty((lens.side, lens.side, 3), temporary=True)
    Kernel.load(TILES, "draw")(
        _lanes(lens),
        overwrites=("image",),
        flat=flat,
        order=order,
        image=image,
        count=len(order),
        side=lens.side,
        **{key: value for key, value in open_fields.items() if key == "background"},
    )
    return image


def _summed(flat: Tensor, order: Tensor, image: Tensor, gradient: Tensor, lens: Lens) -> tuple[Tensor, Tensor]:
    """Sums over the pixels of each ellipse, in integers, and the largest element of the gradient, their scale."""
    words = ops.assign(Tensor.empty((len(order), SUMS, 2), u32, temporary=True), 0)
    largest = ops.max(ops.absolute(gradient))
    Kernel.load(TILES, "draw_backward")(
        _lanes(lens),
        flat=flat,
        order=order,
        finished=image,
        gradient=gradient,
        largest=largest,
        words=words,
        count=len(order),
        side=lens.side,
        background=(0.0, 0.0, 0.0),  # that of the image is in it
    )
    return words, largest


def _project_backward(
    splats: Splats,
    flat: Tensor,
    words: Tensor,
    largest: Tensor,
    cameras: Tensor,
    lens: Lens,
    open_fields: dict[str, Any],
) -> Tensor:
    """Gradients (n, 14) by position, scale, rotation, opacity and light."""
    count = len(splats.position)
    gradients = Tensor.empty((count, 14), temporary=True)
    Kernel.load(PROJECT, "project_backward")(
        count,
        overwrites=("gradients",),
        cameras=cameras,
        position=splats.position.contiguous(),
        scale=splats.scale.contiguous(),
        rotation=splats.rotation.contiguous(),
        ellipses=flat,
        words=words,
        largest=largest,
        gradients=gradients,
        count=count,
        **_view(lens, open_fields),
    )
    return gradients


def _lanes(lens: Lens) -> int:
    return (-(-lens.side // TILE)) ** 2 * TILE**2
