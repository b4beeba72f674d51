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
REACH = 1.3  # how far outside an image splats are drawn, over half its width
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
    saved: list[Tensor] = []  # of the forward pass: what only the backward pass needs
    view = _View(cameras, lens, open_fields)

    def forward(*arrays: Tensor) -> Tensor:
        saved[:] = flat, order = view.project(Splats(*arrays))
        return view.blend(flat, order)

    def backward(gradient: Tensor, image: Tensor, *arrays: Tensor) -> list[Tensor]:
        flat, order = saved
        sums = view.blend_backward(flat, order, image, gradient.contiguous())
        gradients = view.project_backward(Splats(*arrays), ellipses=flat, **sums)
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


class _View:
    def __init__(self, cameras: Tensor, lens: Lens, open_fields: dict[str, Any]):
        self._side, self._lanes = lens.side, (-(-lens.side // TILE)) ** 2 * TILE**2
        reach = REACH * 0.5 * lens.side / lens.focal
        self._projection: dict[str, Any] = {
            **{"cameras": cameras, "focal": lens.focal, "middle": 0.5 * lens.side, "near": lens.near},
            **{"blur": BLUR, "reach": reach},
            **{key: value for key, value in open_fields.items() if key == "view"},
        }
        self._background = {key: value for key, value in open_fields.items() if key == "background"}

    def project(self, splats: Splats) -> tuple[Tensor, Tensor]:
        """Ellipses on the image, three of four numbers for each, and their order, the nearest first."""
        count = len(splats.position)
        flat, keys = Tensor.empty((3 * count, 4), temporary=True), Tensor.empty(count, u32, temporary=True)
        Kernel.load(PROJECT, "project")(
            count,
            overwrites=("flat", "keys"),
            **{name: tensor.contiguous() for name, tensor in splats._asdict().items()},
            flat=flat,
            keys=keys,
            count=count,
            **self._projection,
        )
        return flat, ops.argsort(keys)

    def blend(self, flat: Tensor, order: Tensor) -> Tensor:
        """The image."""
        image = Tensor.empty((self._side, self._side, 3), temporary=True)
        tensors = {"flat": flat, "order": order, "image": image}
        fields = {"count": len(order), "side": self._side, **self._background}
        Kernel.load(TILES, "draw")(self._lanes, overwrites=("image",), **tensors, **fields)
        return image

    def blend_backward(self, flat: Tensor, order: Tensor, image: Tensor, gradient: Tensor) -> dict[str, Tensor]:
        """Sums over the pixels of each ellipse, in integers, and the largest element of the gradient, their scale."""
        words = ops.assign(Tensor.empty((len(order), SUMS, 2), u32, temporary=True), 0)
        sums = {"words": words, "largest": ops.max(ops.absolute(gradient))}
        tensors = {"flat": flat, "order": order, "finished": image, "gradient": gradient, **sums}
        background = (0.0, 0.0, 0.0)  # that of the image is in it
        fields: dict[str, Any] = {"count": len(order), "side": self._side, "background": background}
        Kernel.load(TILES, "draw_backward")(self._lanes, **tensors, **fields)
        return sums

    def project_backward(self, splats: Splats, **results: Tensor) -> Tensor:
        """Gradients (n, 14) by position, scale, rotation, opacity and light."""
        count = len(splats.position)
        gradients = Tensor.empty((count, 14), temporary=True)
        Kernel.load(PROJECT, "project_backward")(
            count,
            overwrites=("gradients",),
            **{name: getattr(splats, name).contiguous() for name in ("position", "scale", "rotation")},
            gradients=gradients,
            count=count,
            **results,
            **self._projection,
        )
        return gradients
