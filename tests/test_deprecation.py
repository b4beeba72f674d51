"""Deprecated names: the warnings, and that they point at the line that uses the name."""

from __future__ import annotations

import inspect
import warnings

import pytest

from vertigrad.deprecation import renamed_arguments, renamed_attribute
from vertigrad.errors import UntrustedCode


class Named:
    lr = 0.5
    rate = renamed_attribute("rate", "lr")

    @renamed_arguments({"mean": "average"}, how="reduction")
    def total(self, reduction: str) -> str:
        return reduction


def test_a_warning_names_the_new_name_and_points_at_the_caller() -> None:
    named = Named()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert named.total(how="mean") == "average"  # pyright: ignore[reportCallIssue]
        assert named.rate == 0.5
        named.rate = 0.25
        first = inspect.currentframe().f_lineno - 3  # pyright: ignore[reportOptionalMemberAccess]
    assert named.lr == 0.25
    assert [str(each.message) for each in found] == [
        "Named.total: how is now called reduction",
        *["Named.rate is now called lr"] * 2,
    ]
    assert [each.lineno for each in found] == [first, first + 1, first + 2]
    assert {each.filename for each in found} == {__file__} and {each.category for each in found} == {FutureWarning}


def test_new_names_give_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Named().total(reduction="mean") == "mean" and Named().lr == 0.5
    with pytest.raises(TypeError, match="unexpected keyword"):
        Named().total(other=1)  # pyright: ignore[reportCallIssue]


def test_an_error_prints_its_message_only() -> None:
    assert str(UntrustedCode("it would run Python", {})) == "it would run Python"
