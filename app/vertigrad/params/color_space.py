"""Colors as light."""

from __future__ import annotations

from collections.abc import Sequence


def linear(encoded: Sequence[float]) -> tuple[float, ...]:
    """sRGB components as amounts of light (IEC 61966-2-1); a fourth component is unchanged."""
    decoded = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in encoded[:3])
    return (*decoded, *encoded[3:])
