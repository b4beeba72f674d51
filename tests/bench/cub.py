"""CUB's radix sort of pairs, compiled with nvcc where there is one: the fastest sort that CUDA ships."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

SOURCE = r"""
#include <cub/device/device_radix_sort.cuh>
extern "C" int sort_pairs(void* scratch, size_t* bytes, const int* keys, int* keys_out, const int* values,
                          int* values_out, int count) {
    return (int)cub::DeviceRadixSort::SortPairs(scratch, *bytes, keys, keys_out, values, values_out, count);
}
"""


class CubSort:
    """Sorts `keys` with their indices, all int32 of 32 bits on torch's current device; `run` sorts once.

    Skips the test where there is no nvcc.
    """

    def __init__(self, torch: Any, keys: Any, folder: Path):
        if shutil.which("nvcc") is None:
            pytest.skip("compares with CUB, which needs nvcc to be compiled")
        source, library = folder / "cub.cu", folder / "cub.so"
        source.write_text(SOURCE, encoding="utf-8")
        command = ["nvcc", "-O3", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-o", str(library), str(source)]
        subprocess.run(command, check=True)
        self._function = ctypes.CDLL(str(library)).sort_pairs
        self._keys, self.keys = keys, torch.empty_like(keys)
        self._indices = torch.arange(len(keys), dtype=torch.int32, device=keys.device)
        self.indices = torch.empty_like(self._indices)
        self._bytes = ctypes.c_size_t(0)
        self._scratch: Any = None
        self.run()  # without scratch memory it only returns the required size
        self._scratch = torch.empty(self._bytes.value, dtype=torch.uint8, device=keys.device)

    def run(self) -> None:
        """Sort the pairs on the default stream."""
        scratch = None if self._scratch is None else ctypes.c_void_p(self._scratch.data_ptr())
        pairs = (self._keys, self.keys, self._indices, self.indices)
        pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in pairs]
        if error := self._function(scratch, ctypes.byref(self._bytes), *pointers, ctypes.c_int(len(self._keys))):
            raise RuntimeError(f"CUB failed with CUDA error {error}")
