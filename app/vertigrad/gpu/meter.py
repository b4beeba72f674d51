"""`Meter`: counts every byte that crosses between host and device, and every copy within the device."""

from __future__ import annotations

import enum
from collections import Counter


class Direction(enum.Enum):
    """The direction of a copy."""

    HOST_TO_DEVICE = "host_to_device"
    DEVICE_TO_DEVICE = "device_to_device"
    DEVICE_TO_HOST = "device_to_host"

    __hash__ = object.__hash__  # each is one object; the hash of enum.Enum is a call of Python


class Traffic(enum.Enum):
    """What the bytes were: a tensor's, uniforms, a finished frame, or values shown to the user.

    Snapshots are copies made on purpose: of states to go back to, and of what is drawn while the next is made.
    """

    GEOMETRY = "geometry"
    SNAPSHOTS = "snapshots"
    UNIFORMS = "uniforms"
    IMAGE = "image"
    DIAGNOSTICS = "diagnostics"

    __hash__ = object.__hash__


class Meter:
    """Running totals of bytes by direction and kind, since the process started."""

    def __init__(self) -> None:
        self._bytes: Counter[tuple[Direction, Traffic]] = Counter()
        self.submits = 0

    def count(self, direction: Direction, nbytes: int, traffic: Traffic = Traffic.GEOMETRY) -> None:
        """Add `nbytes` that went in `direction`."""
        self._bytes[direction, traffic] += nbytes

    def total(self, traffic: Traffic) -> int:
        """Bytes of one kind so far, in all directions."""
        return sum([self._bytes[direction, traffic] for direction in Direction])

    def read(self) -> dict[str, dict[str, int]]:
        """Totals so far, {kind: {direction: bytes}}; kinds and directions are always all there."""
        return {
            traffic.value: {direction.value: self._bytes[direction, traffic] for direction in Direction}
            for traffic in Traffic
        }


def difference(later: dict[str, dict[str, int]], earlier: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """What was added between two readings."""
    return {
        kind: {direction: total - earlier[kind][direction] for direction, total in totals.items()}
        for kind, totals in later.items()
    }
