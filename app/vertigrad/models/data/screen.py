"""`ScreenModel`: footage on the GPU, one frame of it at a time, for networks and layers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from contextlib import ExitStack, closing
from typing import Any, ClassVar

import numpy as np

from ... import ops
from ...gpu import Plan, Traffic, gpu
from ...tensor import Tensor, u8
from ..base import Comparison, DiagnosticSpec, OutputSpec, compare
from ..kernels import Kernels
from ..model_bases import NamedTensorsModel
from ..parts import Parts
from .footage import Footage
from .reader import Reader

SURE = 64  # steps after a jump in time; as many are between a snapshot and a frame that is gone back to, at most
CACHED_BYTES = 256 << 20  # bytes of footage that stay on the GPU; what is longer is uploaded again in each round


class ScreenModel(NamedTensorsModel):
    """A model that shows one frame of footage: subclasses define which footage, and its speed.

    A frame goes to the GPU once, three bytes a pixel, when it is shown first; all stay there if they have room in
    `CACHED_BYTES`.
    """

    saved = ("pixels", "planes")
    scalars = ("time",)  # seconds of the footage
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "mean": DiagnosticSpec("mean of all `pixels`"),
    }

    @staticmethod
    @abstractmethod
    def footage(params: Any) -> Footage:
        """What these parameters name. Raises `InputError`."""

    @classmethod
    def output_specs(cls, params: Any) -> Mapping[str, OutputSpec]:
        footage = cls.footage(params)
        rows, columns = footage.rows, footage.columns
        return {
            "pixels": OutputSpec((rows, columns, 3), "f32", "red, green, blue of each pixel as stored (sRGB), 0 to 1"),
            "planes": OutputSpec((1, 3, rows, columns), "f32", "the same by channel, as networks take it"),
        }

    @property
    def moves(self) -> bool:
        """Whether there is more than one frame."""
        return self._footage.count > 1

    def advance(self, seconds: float) -> None:
        """Record the display of the frame that comes so much later.

        If frames are live and it was not read yet, the one before stays: the window does not wait. After a jump in time
        it does, so that going back shows the same frame.
        """
        self._time = (self._time + seconds) % self._footage.duration
        self._show(wait=self._sure > 0 or not gpu().frames.live)
        self._sure = max(0, self._sure - 1)

    def diagnostics(self) -> dict[str, Tensor]:
        return {"mean": ops.mean(self._tensors["pixels"])}

    def compare_with_reference(self) -> list[Comparison]:
        """The frame next to the same, read from its file a second time."""
        self._show(wait=True)
        with closing(self._footage.frames(self._shown)) as frames:
            reference = next(frames).astype(float) / 255
        return [
            compare("pixels", self._tensors["pixels"].numpy(), reference, 1e-6),
            compare("planes", self._tensors["planes"].numpy(), np.moveaxis(reference, -1, 0)[None], 1e-6),
        ]

    def reset(self) -> None:
        self._time = 0.0
        self._show(wait=True)

    def load_scalar_state(self, scalars: Mapping[str, float]) -> None:
        super().load_scalar_state(scalars)
        self._sure = SURE

    def _create(self, parts: Parts) -> None:
        footage = self._footage = self.footage(self._params)
        self._shown = 0  # the number of the frame that is shown
        self._sure = 0  # steps for which even a window waits
        self._caches = footage.count * footage.nbytes <= CACHED_BYTES
        self._plans: dict[int, tuple[Tensor, Plan]] = {}  # the frames on the GPU, and what shows each
        parts.empty("pixels", footage.rows, footage.columns, 3)
        parts.empty("planes", 1, 3, footage.rows, footage.columns)
        parts.callback(self._forget)
        self._reader = Reader(footage)
        parts.callback(self._reader.close)

    def _show(self, wait: bool) -> None:
        number = self._footage.number_at(self._time)
        if number not in self._plans:
            arrived = self._reader.take(number, wait)
            for one, pixels in arrived if self._caches else arrived[-1:]:
                self._upload(one, pixels)
            number = arrived[-1][0] if arrived else self._shown
        self._plans[number][1].update()
        self._shown = number

    def _upload(self, number: int, pixels: np.ndarray) -> None:
        if number in self._plans:
            return
        with ExitStack() as stack:
            frame = stack.enter_context(Tensor.empty(pixels.shape, u8, f"{self.name}.bytes"))
            gpu().upload(frame.block.buffer, memoryview(pixels.reshape(-1)), traffic=Traffic.IMAGE, unused=True)
            plan = stack.enter_context(Plan(f"{self.name}.step"))
            count = self._footage.rows * self._footage.columns
            kernels = Kernels("models/unpack_rgb.wgsl", self._tensors | {"bytes": frame}, {"count": count})
            kernels.add(plan, "main", count, "pixels", "planes")
            stack.pop_all()
        if not self._caches:
            self._forget()
        self._plans[number] = frame, plan
        if len(self._plans) == self._footage.count:
            self._reader.stop()

    def _forget(self) -> None:
        for frame, plan in self._plans.values():
            plan.close()
            frame.close()
        self._plans.clear()
