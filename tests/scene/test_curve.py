"""Curves as texts of points."""

import numpy as np
import pytest

from vertigrad.errors import ParameterError
from vertigrad.params.curve import curve_text, parse_curve, sampled
from vertigrad.renderer.layers.volume import VolumeStyle


def test_points_are_connected_by_straight_lines():
    x = np.linspace(0, 1, 101)
    text = "0:0.2 0.3:0 0.5:1 0.9:0.4 1:0.6"
    points = np.array(parse_curve(text))
    assert np.allclose(sampled(text, 101), np.interp(x, *points.T), atol=1e-6)
    assert parse_curve(curve_text(parse_curve(text))) == parse_curve(text)
    step = sampled("0:0 0.5:0 0.5:1 1:1", 101)
    assert (step[:50] == 0).all() and (step[50:] == 1).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected 2 to 32 points"),
        ("0:0", "expected 2 to 32 points"),
        ("0:0 1", 'got "0:0 1"'),
        ("0:0 1:x", "expected points"),
        ("0:0 1:nan", "not from 0 to 1"),
        ("0:0 0.5:2 1:1", "not from 0 to 1"),
        ("0:0 0.6:1 0.5:1 1:1", "does not rise"),
        ("0.1:0 1:1", "does not rise"),
    ],
)
def test_other_texts_are_refused(text, message):
    with pytest.raises(ParameterError, match=message):
        parse_curve(text)
    with pytest.raises(ParameterError, match=message):
        VolumeStyle.parse({"opacity_curve": text})
