"""The C functions of wgpu-native, as wgpu-py loads them.

`libf` are the same functions as `lib` with wgpu-py's check for errors after each; encoding needs none, since what is
wrong in an encoder is raised by its checked `finish()`.
"""

# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

import re
from typing import Any

from wgpu.backends.wgpu_native import ffi, lib
from wgpu.backends.wgpu_native._api import libf, new_struct_p, to_c_string_view

__all__ = ["ffi", "lib", "libf", "new_struct_p", "to_c_string_view"]


def _read_types_quickly(parser: Any) -> None:
    """Let cffi read the name of a C type in 0.2 ms instead of 10 ms.

    It has pycparser read the names of all 300 types of wgpu before each; wgpu-py writes some fifty names until the
    first frame, which took half a second. Only the types that a name mentions can matter.
    """
    parse = parser._parse

    def parse_with_few(source: str) -> Any:
        known, words = parser._declarations, set(re.findall(r"\w+", source))
        parser._declarations = {name: value for name, value in known.items() if name.rpartition(" ")[2] in words}
        try:
            return parse(source)
        finally:
            parser._declarations = known

    parser._parse = parse_with_few


_read_types_quickly(ffi._parser)
