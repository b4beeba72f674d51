"""Matrices of 4 bits as GPTQ stores them (Frantar et al., "GPTQ", 2022; the files of AutoGPTQ and GPTQModel).

For a matrix of so many inputs and outputs: `qweight` (inputs / 8, outputs), eight weights of a column in an i32, the
lowest bits first; `scales` (groups, outputs), f16; `qzeros` (groups, outputs / 8), eight zeros of a row in an i32, each
one less than it means; `g_idx` (inputs,), the group of each input. A weight is scale · (q − zero).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from .packing import Quantized

_SHIFTS = np.arange(0, 32, 4, dtype=np.uint32)


@dataclass(frozen=True)
class Gptq:
    """How the matrices of a checkpoint are quantized."""

    group: int
    offset: int  # that is added to zeros
    source: str

    @staticmethod
    def of(table: Mapping[str, Any] | None, source: str) -> Gptq | None:
        """What `quantization_config` says; None without one. Raises `InputError` for other methods and sizes."""
        if table is None:
            return None
        method, bits, group = (table.get(name) for name in ("quant_method", "bits", "group_size"))
        if method != "gptq" or bits != 4:
            raise InputError(f"{source}: quantized by {method!r} to {bits} bits; gptq with 4 bits is supported")
        if type(group) is not int or group < 32 or group % 32:
            raise InputError(f"{source}: quantization_config: group_size {group!r}; expected a multiple of 32")
        offset = 0 if table.get("checkpoint_format") == "gptq_v2" else 1
        return Gptq(group, offset, source)

    def expected(self, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
        """Shapes of a checkpoint's tensors, those of the layers' matrices as they are quantized."""
        found: dict[str, tuple[int, ...]] = {}
        for name, shape in shapes.items():
            if len(shape) != 2 or not name.startswith("layers."):
                found[name] = shape
                continue
            rows, inner = shape
            stem, groups = name.removesuffix(".weight"), -(-inner // self.group)
            found[f"{stem}.qweight"] = (inner // 8, rows)
            found[f"{stem}.qzeros"] = (groups, rows // 8)
            found[f"{stem}.scales"] = (groups, rows)
            found[f"{stem}.g_idx"] = (inner,)
        return found

    def matrix(self, arrays: Mapping[str, np.ndarray], name: str) -> Quantized:
        """The matrix `name`. Raises `InputError` for groups that are not in order, and scales that are not finite."""
        words, zeros, scales, order = (arrays[f"{name}.{part}"] for part in ("qweight", "qzeros", "scales", "g_idx"))
        if not np.array_equal(order, np.arange(len(order)) // self.group):
            raise InputError(f"{self.source}: {name}.g_idx: inputs in another order (desc_act) are not supported")
        scale = np.ascontiguousarray(scales.T).astype(np.float32)
        if not np.isfinite(scale).all() or np.abs(scale).max() > 2000:
            raise InputError(f"{self.source}: {name}.scales: not finite, or too large for f16")
        inner, rows = len(order), words.shape[1]
        q = (words.view(np.uint32)[:, None, :] >> _SHIFTS[:, None] & 15).astype(np.uint8).reshape(inner, rows)
        zero = (zeros.view(np.uint32)[:, :, None] >> _SHIFTS & 15).reshape(zeros.shape[0], rows).T + self.offset
        return Quantized(
            np.ascontiguousarray(q.T), scale.astype(np.float16), (-scale * zero.astype(np.float32)).astype(np.float16)
        )
