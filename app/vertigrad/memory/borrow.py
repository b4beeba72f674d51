"""`Borrow`: host memory lent through the buffer protocol, held so that it can neither move nor vanish."""

from __future__ import annotations

from typing import Any

from ..errors import BorrowInUse, LayoutError


class Borrow:
    """A view of somebody else's bytes, without copying them.

    The export of the buffer protocol is held: a `bytearray` cannot be resized and an `mmap` cannot be closed under
    it. NumPy can be told to resize regardless (`refcheck=False`); that is noticed at the next use and raised.
    Raises `LayoutError` if the source is not C-contiguous.
    """

    __slots__ = ("_address", "_lent", "_source", "nbytes", "readonly")

    def __init__(self, source: Any):
        lent = memoryview(source)
        if not lent.c_contiguous:
            lent.release()
            raise LayoutError(
                "from_blob: the source is not C-contiguous, so its bytes cannot be lent as they lie; "
                "pass numpy.ascontiguousarray(source), which copies"
            )
        self._source = source
        self._lent: memoryview | None = lent
        self._address = _address(source)
        self.nbytes = lent.nbytes
        self.readonly = lent.readonly

    @property
    def released(self) -> bool:
        """Whether the memory was given back."""
        return self._lent is None

    def bytes(self) -> memoryview:
        """The lent bytes, read-only. Raises `BorrowInUse` if the source was moved or given back since."""
        if self._lent is None:
            raise BorrowInUse("the borrowed memory was given back; make the tensor again with from_blob")
        if _address(self._source) != self._address:
            raise BorrowInUse(
                "the source of from_blob was moved while lent (numpy.ndarray.resize with refcheck=False?); "
                "its old bytes are gone: make the tensor again with from_blob"
            )
        flat = self._lent.toreadonly()
        return flat.cast("B") if self.nbytes else memoryview(b"")

    def release(self) -> None:
        """Give the memory back; the owner may resize or close it again. Idempotent."""
        if self._lent is not None:
            self._lent.release()
            self._lent = self._source = None


def _address(source: Any) -> tuple[int, int] | None:
    """Where an array lies and how long it is, for sources that can say so (NumPy and its kin)."""
    interface = getattr(source, "__array_interface__", None)
    return (interface["data"][0], source.nbytes) if interface else None
