"""`Borrow`: host memory borrowed through the buffer protocol, held so that it can neither move nor vanish."""

from __future__ import annotations

from pickle import PickleBuffer
from typing import Any

from ..errors import BorrowInUse, LayoutError


class Borrow:
    """A view of somebody else's bytes, without copying them.

    The export of the buffer protocol is held: a `bytearray` cannot be resized and an `mmap` cannot be closed under
    it. NumPy can resize regardless (`refcheck=False`); that raises at the next use.
    Raises `LayoutError` if the source has no buffer or is not C-contiguous.
    """

    __slots__ = ("_address", "_source", "_view", "format", "nbytes", "readonly", "shape")

    def __init__(self, source: Any):
        try:
            view = memoryview(source)
        except (TypeError, ValueError, BufferError) as error:
            raise LayoutError(
                f"from_blob: {type(source).__name__} does not support the buffer protocol ({error}); pass a "
                "NumPy array, bytearray, mmap or the like, or copy with from_numpy"
            ) from error
        if not view.c_contiguous:
            view.release()
            raise LayoutError(
                "from_blob: the source is not C-contiguous, so its bytes cannot be borrowed without a copy; "
                "pass numpy.ascontiguousarray(source), which copies"
            )
        self.format, self.shape = view.format, tuple(view.shape or ())
        self.nbytes, self.readonly = view.nbytes, view.readonly
        view.release()
        self._source = source
        self._address = _address(source)
        # as flat bytes whatever the format; memoryview.cast knows the simple formats only
        self._view: memoryview | None = PickleBuffer(source).raw()

    @property
    def released(self) -> bool:
        """Whether the memory was released."""
        return self._view is None

    def bytes(self) -> memoryview:
        """The borrowed bytes, read-only. Raises `BorrowInUse` if the source was moved or released since."""
        if self._view is None:
            raise BorrowInUse("the borrowed memory was released; create the tensor again with from_blob")
        if _address(self._source) != self._address:
            raise BorrowInUse(
                "the source of from_blob was moved while borrowed (numpy.ndarray.resize with refcheck=False?); "
                "its old bytes are gone: create the tensor again with from_blob"
            )
        return self._view.toreadonly()

    def release(self) -> None:
        """Release the memory; its owner may resize or close it again. Idempotent."""
        if self._view is not None:
            self._view.release()
            self._view = self._source = None


def _address(source: Any) -> tuple[int, int] | None:
    interface = getattr(source, "__array_interface__", None)
    return (interface["data"][0], source.nbytes) if interface else None
