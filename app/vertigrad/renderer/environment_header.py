"""`size_in_header`: the size of an image of light, from the header of its file alone, before pixels are allocated."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import BinaryIO

from ..errors import InputError

DEMUXERS = {".hdr": "hdr_pipe", ".exr": "exr_pipe"}  # of FFmpeg, by the suffix
LONGEST_HEADER = 1 << 16  # bytes
RUN_PIXELS, DEFLATED_PIXELS = 32, 256  # pixels that a byte can stand for, at most: in runs of RGBE, and deflated
MOST_OVERSCAN = 4  # pixels in the file to those of the image
EXR_MAGIC = b"\x76\x2f\x31\x01"
_RESOLUTION = re.compile(rb"\n[-+]Y (-?\d{1,9}) [-+]X (-?\d{1,9})\n")


def size_in_header(file: BinaryIO, path: Path) -> tuple[int, int]:
    """Width and height in pixels. Raises `InputError` for no such file, and one too short for its pixels."""
    head = file.read(LONGEST_HEADER)
    try:
        width, height, most = (_exr_size if path.suffix.lower() == ".exr" else _hdr_size)(head)
    except (ValueError, struct.error) as error:
        raise InputError(f"{path}: cannot be read as an image of light ({error})") from error
    nbytes = file.seek(0, 2)
    if width * height > most * nbytes:
        raise InputError(f"{path}: damaged: its {nbytes:,} bytes cannot hold {width:,} x {height:,} pixels")
    return width, height


def _hdr_size(head: bytes) -> tuple[int, int, int]:
    found = _RESOLUTION.search(head) if head.startswith(b"#?") else None
    if found is None:
        raise ValueError("no header of Radiance with a line such as -Y 512 +X 1024")
    return int(found[2]), int(found[1]), RUN_PIXELS


def _exr_size(head: bytes) -> tuple[int, int, int]:
    """The display window: that of the data, which the file has, is placed in it."""
    if not head.startswith(EXR_MAGIC):
        raise ValueError("no header of OpenEXR")
    windows: dict[bytes, tuple[int, int]] = {}
    at, most = 8, DEFLATED_PIXELS
    while at < len(head) and head[at]:
        name, kind, rest = head[at:].split(b"\0", 2)
        at += len(name) + len(kind) + 2
        size = struct.unpack_from("<i", rest)[0]
        if size < 0:
            raise ValueError("an attribute of a negative size")
        if kind == b"box2i":
            left, top, right, bottom = struct.unpack_from("<4i", rest, 4)
            windows[name] = right - left + 1, bottom - top + 1
        elif kind == b"compression" and rest[4:5] == b"\0":
            most = 1
        at += 4 + size
    if not {b"dataWindow", b"displayWindow"} <= windows.keys():
        raise ValueError("no dataWindow or displayWindow in its header")
    data, display = windows[b"dataWindow"], windows[b"displayWindow"]
    if min(*data, *display) < 1 or data[0] * data[1] > MOST_OVERSCAN * display[0] * display[1]:
        raise ValueError(f"its dataWindow has {data[0]} x {data[1]} pixels")
    return *display, most
