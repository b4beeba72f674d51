"""`writing_log`: writes the log into a file as well, which remains after a crash."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path

LARGEST, OLDER = 1 << 20, 3  # bytes of a file, and how many older ones are retained
FORMAT = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"

_log = logging.getLogger("vertigrad")


@contextmanager
def writing_log(file: Path) -> Iterator[None]:
    """Append what the loggers of this program and of wgpu report to `file`, tracebacks included.

    The file is created with the first line. If its folder cannot be created, a warning is logged, and there is no file.
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
