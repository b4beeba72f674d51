"""Pictures of rows: what is seen in each pixel, as the number of a layer's row instead of a color.

Mirrors `SeenPixel` of shaders/common/seen.wgsl.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .target import depth_state

ROW, BESIDE = "rgba32uint", "rg32uint"
ROW_BYTES, BESIDE_BYTES = 16, 8  # of a pixel
ROW_TARGETS: tuple[Mapping[str, Any], ...] = ({"format": ROW}, {"format": BESIDE})
LEAST_ALPHA = 0.125  # what is more transparent is hardly seen


def rows_depth() -> dict[str, object]:
    """The depth test: what is nearest is seen."""
    return depth_state(write=True)
