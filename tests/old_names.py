"""`warned`: the warning that tests of deprecated names expect."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from re import search


@contextmanager
def warned(match: str) -> Iterator[None]:
    """A `FutureWarning` with such a message, that points at the file which uses the old name: the caller's."""
    caller = sys._getframe(2).f_code.co_filename
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield
    matching = [each for each in found if each.category is FutureWarning and search(match, str(each.message))]
    assert matching, f"no warning of {match!r} but {[str(each.message) for each in found]}"
    assert {each.filename for each in matching} == {caller}
