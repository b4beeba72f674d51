"""`Pages`: which points of a large file are in GPU memory: those that the camera needs, a page at a time."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..base import Viewpoint
from .point_levels import Levels
from .point_shades import Shades

PAGE = 1024  # points
DENSITY = 1.5  # points that are drawn for each pixel that a leaf covers
PIECE = 1 << 20  # points that are read at a time when all are
READY = 128  # pages that may wait to be uploaded


class Page(NamedTuple):
    """Points for rows from `row` on: positions (PAGE, 3), NaN where there are none, and their colors."""

    row: int
    positions: np.ndarray
    colors: np.ndarray


class Pages:
    """A choice of pages in `capacity` rows. A thread reads those that are missing; `close` it.

    Pages of a leaf are needed in their order: each is a sample of the whole leaf. `numbers` are the rows of the file,
    of `count`, that each row holds, -1 where it holds none; `version` changes with them.
    """

    def __init__(self, levels: Levels, shades: Shades, capacity: int, factor: float, turn: np.ndarray):
        self._levels, self._shades, self._factor, self._turn = levels, shades, np.float32(factor), turn
        counts = np.diff(levels.starts)
        self._per_leaf = -(-counts // PAGE)
        self._first = np.concatenate([[0], np.cumsum(self._per_leaf)])
        self._leaf_of = np.repeat(np.arange(len(counts)), self._per_leaf)
        corners = np.stack([levels.low, levels.high]) * self._factor @ turn.T
        self._centers, self._radii = corners.mean(axis=0), 0.5 * np.linalg.norm(corners[1] - corners[0], axis=1)
        self.slots = max(capacity // PAGE, 1)
        self._page_in = np.full(self.slots, -1)
        self._slot_of = np.full(self._first[-1], -1)
        self._needed = np.zeros(self._first[-1], bool)
        self.count, self.version = int(levels.records["row"].max()) + 1, 0
        self.numbers = np.full(self.slots * PAGE, -1)
        self._view: Viewpoint | None = None
        self._changed = threading.Condition()
        self._missing: deque[int] = deque()
        self._ready: deque[tuple[int, np.ndarray, np.ndarray]] = deque()
        self._closed = False
        self._thread: threading.Thread | None = None

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """All rows (slots * PAGE, 3) and their colors at first: a sample of all leaves."""
        self._need(self._within_slots(np.diff(self._levels.starts).astype(float)))
        for slot, page in enumerate(np.flatnonzero(self._needed)):
            self._page_in[slot], self._slot_of[page] = page, slot
            self._number(int(slot), int(page))
        return self.content()

    def copy(self) -> Pages:
        """Another one with the same pages in the same slots, and a thread of its own."""
        other = Pages(self._levels, self._shades, self.slots * PAGE, float(self._factor), self._turn)
        other._page_in, other._slot_of = self._page_in.copy(), self._slot_of.copy()
        other._needed, other.numbers = self._needed.copy(), self.numbers.copy()
        return other

    def content(self) -> tuple[np.ndarray, np.ndarray]:
        """All rows as they should be now: positions (slots * PAGE, 3), and colors. Rows that were replaced count."""
        positions = np.full((self.slots * PAGE, 3), np.nan, np.float32)
        colors = np.zeros((self.slots * PAGE, *self._shades.shape), np.float32)
        for slot in np.flatnonzero(self._page_in >= 0):
            rows = slice(slot * PAGE, (slot + 1) * PAGE)
            positions[rows], colors[rows] = self._read(int(self._page_in[slot]))
        return positions, colors

    def pieces(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """All points of the file, some at a time: their rows in the file, and their positions (n, 3)."""
        for first in range(0, len(self._levels.records), PIECE):
            records = np.asarray(self._levels.records[first : first + PIECE])
            yield records["row"].astype(np.int64), records["position"] * self._factor @ self._turn.T

    def gathered(self, mask: np.ndarray) -> dict[str, np.ndarray]:
        """`position` and `color` of the points of a mask of the file's rows."""
        found: list[tuple[np.ndarray, np.ndarray]] = [
            (np.zeros((0, 3), np.float32), np.zeros((0, *self._shades.shape)))
        ]
        for rows, positions in self.pieces():
            chosen = mask[rows]
            if chosen.any():
                found.append((positions[chosen], self._shades.of(rows[chosen], positions[chosen])))
        positions, colors = (np.concatenate(parts).astype(np.float32) for parts in zip(*found, strict=True))
        return {"position": positions, "color": colors}

    @property
    def pending(self) -> bool:
        """Whether pages that are needed are not there yet."""
        return bool(self._missing) or bool(self._ready)

    def follow(self, view: Viewpoint, most: int, wait: bool) -> list[Page]:
        """What has arrived since, at most `most` pages; with `wait` all that `view` needs."""
        if self._view is None or not self._view.same_as(view):
            self._view = view
            self._choose(view)
        if wait:
            with self._changed:
                self._missing.clear()
                self._ready.clear()
            missing = np.flatnonzero(self._needed & (self._slot_of < 0)).tolist()
            found = [(page, *self._read(page)) for page in missing]
        else:
            found = self._taken(most)
        return [self._put(*one) for one in found if self._needed[one[0]] and self._slot_of[one[0]] < 0]

    def close(self) -> None:
        """End the thread. Idempotent."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def sizes(self, view: Viewpoint) -> np.ndarray:
        """The points that each leaf should have: by the pixels it covers, few where it is not visible."""
        clip = np.concatenate([self._centers, np.ones((len(self._centers), 1))], axis=1) @ view.world_to_clip.T
        distance = np.maximum(clip[:, 3] - self._radii * view.w_per_unit, 1e-6)
        pixels = self._radii * view.pixels / np.maximum(distance, 1e-3 * np.abs(clip[:, 3]).max())
        reach = self._radii[:, None] * view.clip_per_unit + np.abs(clip[:, 3:])
        visible = (clip[:, 3] + self._radii * view.w_per_unit > 0) & (np.abs(clip[:, :2]) <= reach).all(axis=1)
        return np.where(visible, DENSITY * np.pi * pixels**2, 0.0)

    def _choose(self, view: Viewpoint) -> None:
        self._need(self._within_slots(self.sizes(view)))
        missing = np.flatnonzero(self._needed & (self._slot_of < 0))
        level = missing - self._first[self._leaf_of[missing]]
        with self._changed:
            self._missing = deque(missing[np.argsort(level, kind="stable")].tolist())
            self._ready = deque(one for one in self._ready if self._needed[one[0]])
            self._changed.notify_all()

    def _within_slots(self, points: np.ndarray) -> np.ndarray:
        """Pages of each leaf for so many points, or for a part of them that fits into all slots."""

        def pages(part: float) -> np.ndarray:
            return np.minimum(np.ceil(np.minimum(points * part, 1e15) / PAGE).astype(np.int64), self._per_leaf)

        low, high = 0.0, 1.0
        if pages(1.0).sum() > self.slots:
            for _ in range(40):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if pages(middle).sum() <= self.slots else (low, middle)
            return pages(low)
        return pages(1.0)

    def _need(self, per_leaf: np.ndarray) -> None:
        """Mark the first pages of each leaf. Where slots are left, the first page of others is kept as well."""
        least = np.zeros(len(per_leaf), np.int64)
        least[np.flatnonzero(per_leaf == 0)[: max(self.slots - int(per_leaf.sum()), 0)]] = 1
        level = np.arange(len(self._leaf_of)) - self._first[self._leaf_of]
        self._needed = level < np.maximum(per_leaf, least)[self._leaf_of]

    def _read(self, page: int) -> tuple[np.ndarray, np.ndarray]:
        records = self._records(page)
        positions = np.full((PAGE, 3), np.nan, np.float32)
        positions[: len(records)] = records["position"] * self._factor @ self._turn.T
        colors = np.zeros((PAGE, *self._shades.shape), np.float32)
        colors[: len(records)] = self._shades.of(records["row"], positions[: len(records)])
        return positions, colors

    def _put(self, page: int, positions: np.ndarray, colors: np.ndarray) -> Page:
        """Into a free slot, or that of a page that is not needed."""
        free = self._page_in < 0
        free |= ~self._needed[np.where(free, 0, self._page_in)]
        slot = int(np.argmax(free))
        if self._page_in[slot] >= 0:
            self._slot_of[self._page_in[slot]] = -1
        self._page_in[slot], self._slot_of[page] = page, slot
        self._number(slot, page)
        self.version += 1
        return Page(slot * PAGE, positions, colors)

    def _records(self, page: int) -> np.ndarray:
        leaf = self._leaf_of[page]
        first = int(self._levels.starts[leaf] + (page - self._first[leaf]) * PAGE)
        return np.asarray(self._levels.records[first : min(first + PAGE, int(self._levels.starts[leaf + 1]))])

    def _number(self, slot: int, page: int) -> None:
        rows = self._records(page)["row"]
        self.numbers[slot * PAGE : (slot + 1) * PAGE] = -1
        self.numbers[slot * PAGE : slot * PAGE + len(rows)] = rows

    def _taken(self, most: int) -> list[tuple[int, np.ndarray, np.ndarray]]:
        with self._changed:
            if self._missing and self._thread is None:
                self._thread = threading.Thread(target=self._work, name="reading points", daemon=True)
                self._thread.start()
            found = [self._ready.popleft() for _ in range(min(most, len(self._ready)))]
            self._changed.notify_all()
            return found

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or (self._missing and len(self._ready) < READY))
                if self._closed:
                    return
                page = self._missing[0]
            found = (page, *self._read(page))
            with self._changed:
                if self._missing and self._missing[0] == page:
                    self._missing.popleft()
                    self._ready.append(found)
