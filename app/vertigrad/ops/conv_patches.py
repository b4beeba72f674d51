"""When a convolution takes fewer multiplications: which patches of results it is divided into then.

Windows of 3 x 3 at stride 1 are transformed with patches of 4 x 4 elements (`ops/conv_winograd.wgsl`), which takes 4
products for a result and channel instead of 9. Errors are about twice those of the sums themselves; an infinite element
makes all four results of a patch NaN.
"""

from __future__ import annotations

from typing import Any, NamedTuple

CHANNELS = 4  # that a workgroup takes at a time
FEWEST_CHANNELS = 32  # whoever relies on exact sums of integers in f32 (`integer_conv`) has fewer
FEWEST_TO_SLICE = 128  # channels from which on slices save more than adding them up takes
LEAST_SLICE = 32  # channels
MOST_SLICES = 16
BUSY = 256  # workgroups, slices counted, that keep a large GPU busy
ENOUGH = 96  # large workgroups from which on these are faster than more small ones


class Patches(NamedTuple):
    """Channels and patches of a workgroup, and how many of these an invocation has; names as in the shader."""

    rows: int
    columns: int
    each_column: int

    @property
    def threads(self) -> int:
        """Invocations of a workgroup."""
        return 16 * (self.rows // 8) * (self.columns // self.each_column)

    @property
    def nbytes(self) -> int:
        """Bytes of workgroup memory."""
        transformed = CHANNELS * (self.rows + self.columns)
        return 16 * 4 * max(transformed, 16 // self.each_column * self.rows // 8 * self.columns)

    def defines(self) -> dict[str, Any]:
        """Values for the shader."""
        return {name.upper(): value for name, value in self._asdict().items()} | {"STEP": CHANNELS}


MANY = Patches(64, 32, 8)
FEW = Patches(32, 16, 4)


def choose(
    results: int, patches: int, channels: int, groups: int, storage: int, invocations: int
) -> tuple[Patches, int] | None:
    """What is fastest on an H100, and slices of the channels; None where a convolution in tiles is."""
    if channels < FEWEST_CHANNELS or MANY.nbytes > storage or MANY.threads > invocations:
        return None
    if results > FEW.rows and -(-results // MANY.rows) * -(-patches // MANY.columns) * groups >= ENOUGH:
        return MANY, 1
    tiles = -(-results // FEW.rows) * -(-patches // FEW.columns) * groups
    slices = min(MOST_SLICES, BUSY // tiles, channels // LEAST_SLICE) if channels >= FEWEST_TO_SLICE else 1
    return FEW, max(slices, 1)
