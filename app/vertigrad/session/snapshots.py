"""`Snapshots`: copies of the models' states on the GPU, bounded in bytes, to go back to.

A snapshot is copied at once, into blocks of its own. To clone the tensors and leave the copying to the next write would
move the same bytes, but give the models other blocks in each frame, and so plans and layers other bind groups.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..gpu import Gpu, Traffic
from ..memory import Origin, Owner
from ..scene.stage import Stage

MOST = 1024  # snapshots, however small they are
LEVELS = 6  # old ones are thinned to every 2nd, 4th, …, at last every 64th frame
PAUSE, LONGEST_PAUSE = 60, 3600  # frames without snapshots after memory was short, twice as many each time
SPARSE = 32  # if fewer snapshots have room, not every frame gets one


class Snapshot:
    """The state of all models when they came to `frame`, at `time` [s]."""

    def __init__(self, gpu: Gpu, stage: Stage, frame: int, time: float):
        self.frame, self.time = frame, time
        self._gpu = gpu
        self._scalars, self._extra = stage.scalars(), stage.extra_states()
        self._copies: dict[tuple[str, str], Owner] = {}
        try:
            for key, owner in state(stage):
                self._copies[key] = self._copied(owner)
        except BaseException:
            self.close()
            raise

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        blocks = sum(owner.block.capacity for owner in self._copies.values())
        return blocks + sum(state.nbytes for state in self._extra.values())

    def restore(self, stage: Stage) -> None:
        """Record the restoring of the models' state. They must not have been rebuilt since."""
        gpu = self._gpu
        for key, owner in state(stage):
            gpu.make_writable(owner, keep=False)
            copy, target = self._copies[key].block, owner.block
            gpu.recorder.copy(copy, 0, target, 0, words(copy.nbytes), Traffic.SNAPSHOTS)
        stage.load_scalars(self._scalars)
        stage.load_extra_states(self._extra)

    def close(self) -> None:
        """Free the blocks. Idempotent."""
        copies, self._copies = self._copies, {}
        for owner in copies.values():
            owner.drop()

    def _copied(self, owner: Owner) -> Owner:
        gpu, name, origin = self._gpu, f"{owner.name} in frame {self.frame}", Origin(__file__, 0)
        gpu.make_resident(owner)
        source = owner.block
        copy = Owner(gpu.tracker, gpu.pool.take(source.nbytes, name, origin), name, origin)
        try:
            gpu.recorder.copy(source, 0, copy.block, 0, words(source.nbytes), Traffic.SNAPSHOTS)
        except BaseException:
            copy.drop()
            raise
        return copy


class Snapshots:
    """Snapshots by frame, in its order; none if `limit` is 0.

    All of the last frames are stored, of older ones fewer and fewer, down to every 64th; what has no room after that is
    dropped, oldest first. So few frames are between two snapshots, and the buffer reaches far back.
    """

    def __init__(self, gpu: Gpu, limit: int = 0):
        self._gpu = gpu
        self._limit = limit
        self._by_frame: dict[int, Snapshot] = {}
        self._each = 0  # bytes of a snapshot, once there is one
        self._resumes, self._pause = 0, 0  # the frame at which snapshots resume, and the length of the pause

    @property
    def limit(self) -> int:
        """Bytes that all snapshots may take together."""
        return self._limit

    @limit.setter
    def limit(self, nbytes: int) -> None:
        self._limit = max(0, nbytes)
        self._make_room()

    @property
    def nbytes(self) -> int:
        """Bytes that they take."""
        return self._each * len(self._by_frame)

    @property
    def last(self) -> int:
        """The latest frame that has one; -1 if there is none."""
        return next(reversed(self._by_frame), -1)

    @property
    def room(self) -> int:
        """How many have room, as far as is known."""
        return min(self._limit // self._each, MOST) if self._each else MOST

    @property
    def every(self) -> int:
        """A frame gets a snapshot if its number can be divided by this."""
        return 1 << max(0, (-(-SPARSE // max(self.room, 1)) - 1).bit_length())

    def is_due(self, frame: int) -> bool:
        """Whether `frame` is to get one."""
        if frame < self._resumes or not self._limit or not self.room:
            return False
        return not self._by_frame or frame % self.every == 0

    @property
    def paused(self) -> bool:
        """Whether none are taken for a while, because memory was short."""
        return self._pause > 0

    def shrink(self, frame: int) -> None:
        """Memory is short in `frame`: drop all, and take none for a while."""
        if self._by_frame or frame >= self._resumes:
            self._pause = min(max(PAUSE, 2 * self._pause), LONGEST_PAUSE)
            self._resumes = frame + self._pause
        self.drop_after(-1)

    def take(self, stage: Stage, frame: int, time: float) -> None:
        """Record a copy of the models' state, instead of an older one of this frame, and make room for it."""
        old = self._by_frame.pop(frame, None)
        if old is not None:
            old.close()
        snapshot = Snapshot(self._gpu, stage, frame, time)
        self._each = max(snapshot.nbytes, 1)
        self._by_frame[frame] = snapshot
        self._resumes = self._pause = 0
        self._thin(frame)
        self._make_room()

    def before(self, frame: int) -> Snapshot | None:
        """The last one of at most `frame`."""
        return next((self._by_frame[at] for at in reversed(self._by_frame) if at <= frame), None)

    def drop_after(self, frame: int) -> None:
        """Drop those of later frames."""
        while self.last > frame:
            self._by_frame.popitem()[1].close()

    def clear(self) -> None:
        """Drop all; the next are of other models, or of a new start."""
        self.drop_after(-1)
        self._each = self._resumes = self._pause = 0

    def __len__(self) -> int:
        return len(self._by_frame)

    def __iter__(self) -> Iterator[int]:
        return iter(self._by_frame)

    def _thin(self, now: int) -> None:
        """Drop the frames that have just become too old for their number. O(1) a frame.

        Of those older than `dense` frames every 2nd stays, of those older than twice that every 4th, and so on.
        """
        every = self.every
        dense = max(2 * every, self.room // (1 + LEVELS // 2) * every)
        for level in range(LEVELS):
            frame = now - (dense << level)
            if frame % (2 << level) and frame % every == 0 and frame in self._by_frame:
                self._by_frame.pop(frame).close()

    def _make_room(self) -> None:
        """Drop the oldest until the rest has room; the newest one too if it alone is too large."""
        while self._by_frame and (self.nbytes > self._limit or len(self._by_frame) > MOST):
            self._by_frame.pop(next(iter(self._by_frame))).close()


def state(stage: Stage) -> Iterator[tuple[tuple[str, str], Owner]]:
    """The owner of each tensor of the models' states, once, by model and name."""
    yielded: set[Owner] = set()
    for name, instance in stage.instances.items():
        for key, tensor in instance.model.state().items():
            if tensor.owner not in yielded:
                yielded.add(tensor.owner)
                yield (name, key), tensor.owner


def words(nbytes: int) -> int:
    """`nbytes` rounded up to what can be copied."""
    return -(-nbytes // 4) * 4
