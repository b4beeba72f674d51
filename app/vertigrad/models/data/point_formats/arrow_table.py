"""Points of CSV and Parquet files, read by pyarrow: a column for each property."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ....errors import InputError
from .table import PIECE, Piece, PointTable, is_number, needed

EXTRA = "scans"
BLOCK = 1 << 22  # bytes of a CSV that are parsed at a time
SEPARATORS = ",;\t| "
LONGEST_LINE = 1 << 16  # bytes


class ArrowTable(PointTable):
    """Columns of pyarrow; missing values are NaN."""

    def __init__(self, path: Path):
        super().__init__(path)
        self._pa = needed(path, "pyarrow", EXTRA, f"a {path.suffix.lower()[1:].upper()} file")

    @abstractmethod
    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Record batches of these columns."""

    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        with self.understood():
            for batch in self.batches(names):
                yield {name: self._numbers(batch.column(name)) for name in names}

    def take_types(self, schema: Any) -> None:
        """Set the columns that can be drawn."""
        for field in schema:
            try:
                dtype = np.dtype(field.type.to_pandas_dtype())
            except (NotImplementedError, TypeError):
                continue
            if is_number(dtype):
                self.columns[field.name] = dtype

    @contextmanager
    def understood(self) -> Iterator[None]:
        """What pyarrow raises, as an `InputError`."""
        try:
            yield
        except (self._pa.ArrowException, OSError, ValueError, KeyError, UnicodeError, MemoryError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(f"{self.path}: cannot be read as {self.path.suffix[1:].upper()} ({reason})") from error

    def _numbers(self, column: Any) -> np.ndarray:
        if column.null_count:
            column = column.cast(self._pa.float64(), safe=False)
        return column.to_numpy(zero_copy_only=False)


class CsvTable(ArrowTable):
    """A text file: a line of names, then a line for each point. The separator is found in the first line.

    `count` is an estimate, by the length of the first lines.
    """

    def __init__(self, path: Path):
        super().__init__(path)
        self._csv = needed(path, "pyarrow.csv", EXTRA, "a CSV file")
        try:
            with path.open("rb") as file:
                start = file.read(LONGEST_LINE)
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror})") from error
        lines = start.splitlines()
        if len(lines) < 2:
            raise InputError(f"{path}: a CSV of points has a line of names, such as x,y,z, and a line for each point")
        head = lines[0].decode("utf-8", "replace")
        self._separator = max(SEPARATORS, key=head.count)
        if len({name.strip() for name in head.split(self._separator)}) != head.count(self._separator) + 1:
            raise InputError(f"{path}: two columns of its first line have the same name")
        self.count = max(1, path.stat().st_size * (len(lines) - 1) // len(start))
        with self.understood(), self._reader() as reader:
            self.take_types(reader.schema)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        with self._reader() as reader:
            for batch in reader:
                yield from (batch.slice(first, PIECE) for first in range(0, batch.num_rows, PIECE))

    def _reader(self) -> Any:
        return self._csv.open_csv(
            self.path,
            read_options=self._csv.ReadOptions(block_size=BLOCK),
            parse_options=self._csv.ParseOptions(delimiter=self._separator),
        )


class ParquetTable(ArrowTable):
    """The columns of a Parquet file."""

    def __init__(self, path: Path):
        super().__init__(path)
        self._parquet = needed(path, "pyarrow.parquet", EXTRA, "a Parquet file")
        with self.understood(), self._opened() as file:
            self.count = int(file.metadata.num_rows)
            self.take_types(file.schema_arrow)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        with self._opened() as file:
            yield from file.iter_batches(PIECE, columns=list(names))

    def _opened(self) -> Any:
        return self._parquet.ParquetFile(self.path)
