"""Points of LAS and LAZ files (ASPRS LAS 1.2 to 1.4), read by laspy; LAZ is decompressed by lazrs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from ....errors import InputError
from .table import PIECE, Piece, PointTable, is_number, needed

RAW = ("X", "Y", "Z")  # integers, before scale and offset
ALLOCATED = PIECE // 4  # rows that laspy allocates, whether the file has them or not
MOST_CHUNK = 1 << 20  # points of a chunk of LAZ; programs write 50,000
HEADER = 375  # bytes of the longest header
EXTRA = "scans"


class LasTable(PointTable):
    """The points of a LAS or LAZ file, with coordinates in float64, by the scale and offset of the file."""

    def __init__(self, path: Path):
        super().__init__(path)
        self._laspy = needed(path, "laspy", EXTRA, "a LAS file")
        _require_sizes(path)
        with self._opened() as reader:
            header = reader.header
            self.count = int(header.point_count)
            types = {one.name: one.dtype for one in header.point_format.dimensions}
            self._compressed = bool(header.are_points_compressed)
            room = (path.stat().st_size - header.offset_to_point_data) // max(header.point_format.size, 1)
            if self._compressed:
                self._require_chunks(reader.header)
        if not self._compressed and self.count > room:
            raise InputError(f"{path}: ends after {max(room, 0):,} of {self.count:,} points; the file is truncated")
        axes = dict.fromkeys(("x", "y", "z"), np.dtype(np.float64))
        others = {name: np.dtype(kind or np.uint8) for name, kind in types.items() if name not in RAW}
        self.columns = axes | {name: kind for name, kind in others.items() if is_number(kind)}

    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        read = 0
        with self._opened() as reader:
            while read < self.count:
                with self._understood():
                    points = reader.read_points(min(ALLOCATED, self.count - read))
                    part = {name: np.asarray(points[name]) for name in names}
                if not len(points):
                    raise InputError(f"{self.path}: ends after {read:,} of {self.count:,} points")
                read += len(points)
                yield part

    def _require_chunks(self, header: Any) -> None:
        """Raise `InputError` for chunks of a LAZ that are larger than the file: lazrs would abort the process."""
        lazrs = needed(self.path, "lazrs", EXTRA, "a LAZ file")
        start, size = header.offset_to_point_data, self.path.stat().st_size
        with self._understood(), self.path.open("rb") as file:
            records = [one for one in header.vlrs if isinstance(one, self._laspy.vlrs.known.LasZipVlr)]
            vlr = lazrs.LazVlr(records[0].record_data)
            at = _signed(file, start)
            at = _signed(file, size - 8) if at == -1 else at
            claimed = int.from_bytes(_bytes(file, at + 4, 4), "little") if start < at < size - 8 else size
            if claimed >= size or vlr.item_size() != header.point_format.size:
                raise InputError(f"{self.path}: its table of chunks is damaged")
            variable, limit = vlr.uses_variable_size_chunks(), max(self.count, MOST_CHUNK)
            if not variable and not 0 < vlr.chunk_size() <= limit:
                raise InputError(f"{self.path}: its chunks would have {vlr.chunk_size():,} points")
            file.seek(start)
            chunks = lazrs.read_chunk_table(file, vlr)
        if sum(nbytes for _, nbytes in chunks) > size or (variable and sum(n for n, _ in chunks) > limit):
            raise InputError(f"{self.path}: its chunks are larger than the file")

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        with self._understood():
            reader = self._laspy.open(self.path, laz_backend=self._laspy.LazBackend.LazrsParallel)
        with reader:
            yield reader

    @contextmanager
    def _understood(self) -> Iterator[None]:
        """What laspy and lazrs raise, as an `InputError`: their errors for damaged files are of many kinds."""
        try:
            yield
        except InputError:
            raise
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":  # of lazrs, in Rust
                raise
            raise InputError(f"{self.path}: not a readable LAS file ({str(error) or type(error).__name__})") from error


def _require_sizes(path: Path) -> None:
    """Raise `InputError` for a file whose header has sizes that it has no bytes for: laspy would allocate them."""
    try:
        with path.open("rb") as file:
            head = file.read(HEADER)
        size = path.stat().st_size
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    if len(head) < 227 or head[:4] != b"LASF":
        raise InputError(f"{path}: not a LAS file: it does not begin with LASF and a header of 227 bytes")
    if head[24] != 1 or head[25] > 4:
        raise InputError(f"{path}: its version is {head[24]}.{head[25]}; LAS 1.0 to 1.4 can be read")
    header, start, records = (int.from_bytes(head[at : at + n], "little") for at, n in ((94, 2), (96, 4), (100, 4)))
    if not 227 <= header <= start <= size:
        raise InputError(f"{path}: its points would begin at byte {start:,}; the file has {size:,}")
    if records * 54 > start - header:
        raise InputError(f"{path}: its header claims {records:,} variable length records, which have no room")
    if head[24:26] >= b"\x01\x04" and len(head) == HEADER:
        extended, count = int.from_bytes(head[235:243], "little"), int.from_bytes(head[243:247], "little")
        if count and (extended > size or count * 60 > size - extended):
            raise InputError(f"{path}: its header claims {count:,} extended records, which have no room")


def _bytes(file: IO[bytes], at: int, count: int) -> bytes:
    file.seek(at)
    return file.read(count)


def _signed(file: IO[bytes], at: int) -> int:
    return int.from_bytes(_bytes(file, at, 8), "little", signed=True)
