"""The C functions of wgpu-native, as wgpu-py loads them.

`libf` are the same functions as `lib` with wgpu-py's check for errors after each; encoding needs none, since what is
wrong in an encoder is raised by its checked `finish()`.
"""

# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

from wgpu.backends.wgpu_native import ffi, lib
from wgpu.backends.wgpu_native._api import libf, new_struct_p, to_c_string_view

__all__ = ["ffi", "lib", "libf", "new_struct_p", "to_c_string_view"]
