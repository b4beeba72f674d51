"""`writing_log`: what the program reports goes into a file as well, which outlives a crash."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path

LARGEST, OLDER = 1 << 20, 3  # bytes of a file, and how many older ones are kept
FORMAT = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"

_log = logging.getLogger("vertigrad")


@contextmanager
def writing_log(file: Path) -> Iterator[None]:
    """Append what the loggers of this program and of wgpu report to `file`, tracebacks included.

    The file is made with the first line. Where its folder cannot be, the program says so and goes on without it.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _log.warning("%s: no log can be written there (%s)", file, error.strerror)
        yield
        return
    handler = RotatingFileHandler(file, maxBytes=LARGEST, backupCount=OLDER, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter(FORMAT))
    loggers = [logging.getLogger(name) for name in ("vertigrad", "wgpu")]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
        handler.close()
