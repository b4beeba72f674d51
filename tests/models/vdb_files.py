"""OpenVDB files that OpenVDB itself has written; what they contain is in `test_vdb.py`."""

from __future__ import annotations

import lzma
from pathlib import Path

FOLDER = Path(__file__).parent / "vdb"


def vdb_file(name: str) -> bytes:
    """The content of the file of this name, such as "fog"."""
    return lzma.decompress((FOLDER / f"{name}.vdb.xz").read_bytes())
