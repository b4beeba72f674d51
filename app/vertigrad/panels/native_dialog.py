"""`NativeDialog`: the desktop's own file dialog, shown by portable-file-dialogs."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from imgui_bundle import portable_file_dialogs

PROGRAMS = ("zenity", "matedialog", "qarma", "kdialog")  # one of these shows the dialogs on Linux
INSTANTLY = 0.3  # seconds; nobody cancels a dialog sooner than this, so it was never shown


def available() -> bool:
    """Whether this desktop has file dialogs that another program can show."""
    return sys.platform in ("win32", "darwin") or any(map(shutil.which, PROGRAMS))


class NativeDialog:
    """Opens on `folder`; `name` is proposed for a file to save. `kinds` are suffixes, all if empty."""

    def __init__(self, title: str, folder: Path, kinds: Iterable[str], saving: bool, name: str = ""):
        patterns = " ".join(f"*{kind}" for kind in sorted(kinds))
        filters = ["Vertigrad", patterns, "All files", "*"] if patterns else ["All files", "*"]
        start = f"{folder}{os.sep}{name}"
        self._shown_at = time.monotonic()
        self._dialog = (
            portable_file_dialogs.save_file(title, start, filters, portable_file_dialogs.opt.force_overwrite)
            if saving  # whether a file is replaced is asked by the session
            else portable_file_dialogs.open_file(title, start, filters)
        )

    @property
    def ready(self) -> bool:
        """Whether it was answered or closed."""
        return self._dialog.ready(0)

    def result(self) -> Path | None:
        """The chosen file; None if there is none."""
        chosen = self._dialog.result()
        path = chosen if isinstance(chosen, str) else next(iter(chosen), "")
        return Path(path) if path else None

    @property
    def failed(self) -> bool:
        """Whether it ended so soon that it cannot have been on the screen."""
        return time.monotonic() - self._shown_at < INSTANTLY

    def close(self) -> None:
        """Close it without an answer."""
        self._dialog.kill()
