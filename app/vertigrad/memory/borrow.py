"""`Borrow`: host memory lent through the buffer protocol, held so that it can neither move nor vanish."""

from __future__ import annotations

from pickle import PickleBuffer
from typing import Any

from ..errors import BorrowInUse, LayoutError


class Borrow:
    """A view of somebody else's bytes, without copying them.

    The export of the buffer protocol is held: a `bytearray` cannot be resized and an `mmap` cannot be closed under
    it. NumPy can be told to resize regardless (`refcheck=False`); that is noticed at the next use and raised.
    Raises `LayoutError` if the source lends no memory or is not C-contiguous.
    """

    __slots__ = ("_address", "_lent", "_source", "format", "nbytes", "readonly", "shape")

    def __init__(self, source: Any):
        try:
            lent = memoryview(source)
        except (TypeError, ValueError, BufferError) as error:
            raise LayoutError(
                f"from_blob: {type(source).__name__} lends no memory ({error}); give it a NumPy array, bytearray, mmap "
                "or the like, or copy with from_numpy"
            ) from error
        if not lent.c_contiguous:
            lent.release()
            raise LayoutError(
                "from_blob: the source is not C-contiguous, so its bytes cannot be lent as they lie; "
                "pass numpy.ascontiguousarray(source), which copies"
            )
        self.format, self.shape = lent.format, tuple(lent.shape or ())
        self.nbytes, self.readonly = lent.nbytes, lent.readonly
        lent.release()
        self._source = source
        self._address = _address(source)
        # as flat bytes whatever the format; memoryview.cast knows the simple formats only
        self._lent: memoryview | None = PickleBuffer(source).raw()

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
        return self._lent.toreadonly()

    def release(self) -> None:
        """Give the memory back; the owner may resize or close it again. Idempotent."""
        if self._lent is not None:
            self._lent.release()
            self._lent = self._source = None


def _address(source: Any) -> tuple[int, int] | None:
    """Where an array lies and how long it is, for sources that can say so (NumPy and its kin)."""
    interface = getattr(source, "__array_interface__", None)
    return (interface["data"][0], source.nbytes) if interface else None
