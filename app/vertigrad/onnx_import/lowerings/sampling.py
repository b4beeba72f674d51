"""Resize, grid sampling and attention."""

from __future__ import annotations

from typing import Any

from ... import ops
from ...errors import InputError
from ...tensor import Tensor
from ..node import Node
from ..registry import lowers
from ..values import Value


@lowers("Resize")
def resize(node: Node) -> Value:
    """Scales as the second input in opset 10; a region, scales and sizes since 11, of which one is given."""
    at = {"roi": 1, "scales": 2, "sizes": 3} if node.version > 10 else {"scales": 1}
    rank = len(node.shape())
    axes = [axis % rank for axis in node.attribute("axes") or range(rank)]
    options: dict[str, Any] = {"axes": axes}
    for name, what in (("scales", "scale"), ("sizes", "size")):
        if name in at and node.has(at[name]) and node.value(at[name]).shape != (0,):
            options[what] = node.host(at[name]).reshape(-1).tolist()
    if "scale" not in options and "size" not in options:
        raise InputError(f"{node}: neither scales nor sizes are given")
    node.ignore("extrapolation_value", *at.values())  # outside of the region; `roi` and `scales` may be given in vain
    coordinates = node.attribute("coordinate_transformation_mode", "half_pixel" if node.version > 10 else "asymmetric")
    if coordinates == "tf_crop_and_resize":
        region = node.host(at["roi"]).reshape(2, -1)
        options |= {
            "region": list(zip(*region.tolist(), strict=True)),
            "outside": node.attribute("extrapolation_value", 0.0),
        }
    rounding = node.attribute("nearest_mode", "round_prefer_floor" if node.version > 10 else "floor")
    result = ops.resize(
        node.tensor(0),
        mode=node.attribute("mode", "nearest"),
        coordinates=coordinates,
        rounding=rounding,
        cubic=node.attribute("cubic_coeff_a", -0.75),
        antialias=bool(node.attribute("antialias", 0)),
        exclude_outside=bool(node.attribute("exclude_outside", 0)),
        keep=node.attribute("keep_aspect_ratio_policy", "stretch"),
        **options,
    )
    return node.result(result, bound=node.value(0).bound)


@lowers("Upsample")
def upsample(node: Node) -> Value:
    """Scales as an attribute up to opset 8, as an input in 9."""
    scales = node.attribute("scales") or node.host(1).reshape(-1).tolist()
    mode = node.attribute("mode", "nearest")
    options = {"mode": mode, "coordinates": "asymmetric", "rounding": "floor"}
    return node.result(ops.resize(node.tensor(0), scale=scales, **options), bound=node.value(0).bound)


@lowers("GridSample")
def grid_sample(node: Node) -> Tensor:
    mode = str(node.attribute("mode", "linear")).removeprefix("bi")
    return ops.grid_sample(
        node.tensor(0),
        node.tensor(1),
        mode=mode,
        padding=node.attribute("padding_mode", "zeros"),
        align_corners=bool(node.attribute("align_corners", 0)),
    )


@lowers("AffineGrid")
def affine_grid(node: Node) -> Tensor:
    corners = bool(node.attribute("align_corners", 0))
    return ops.affine_grid(node.tensor(0), node.ints(1)[2:], align_corners=corners)
