"""A viewport with an aperture is sharp while it changes, and gathers samples at rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from vertigrad.gpu import Gpu
from vertigrad.renderer.lens import Sample
from vertigrad.session import Session
from vertigrad.session.commands import Orbit, Play, SetParameter
from vertigrad.viewer.viewport_samples import ViewportSamples

from ..session.running import SCENE, use_models, written

SIZE = (64, 48)


def test_a_viewport_gathers_samples_while_it_stays_the_same(
    steady: Gpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_models(monkeypatch)
    with Session(steady, written(tmp_path, SCENE)) as session:
        one = ViewportSamples(session)

        def frame(size: tuple[int, int] = SIZE) -> Sample | None:
            with steady.frames.frame():
                session.apply()
                session.advance()
            one.frame(size)
            return one.sample

        session.post(Play(False))
        assert [frame(), frame()] == [None, None]
        assert not one.pending
        session.post(SetParameter("view", "aperture", 0.1))
        session.post(SetParameter("view", "samples", 3))
        assert frame() is None and one.pending
        assert [frame(), frame()] == [Sample(0, True), Sample(1, True)] and one.pending
        assert frame() == Sample(2, True) and not one.pending
        assert frame() == Sample(3, True)
        for change in (
            Orbit(0.1, 0.0),
            SetParameter("layers.dots", "roughness", 0.9),
            SetParameter("models.row", "height", 1.0),
        ):
            session.post(change)
            assert frame() is None and frame() == Sample(0, True), change
        assert frame((32, 32)) is None
        session.post(Play(True))
        assert [frame(), frame(), frame()] == [None, None, None]


def test_a_viewport_with_taa_continues_while_it_moves_and_begins_anew_after_cuts(
    steady: Gpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_models(monkeypatch)
    with Session(steady, written(tmp_path, SCENE)) as session:
        one = ViewportSamples(session)

        def frame(size: tuple[int, int] = SIZE) -> Sample | None:
            with steady.frames.frame():
                session.apply()
                session.advance()
            one.frame(size)
            return one.sample

        session.post(Play(False))
        session.post(SetParameter("view", "anti_aliasing", "taa"))
        session.post(SetParameter("view", "samples", 2))
        assert frame() == Sample(0, True, moving=True)
        assert [frame(), frame()] == [Sample(0, True), Sample(1, True)] and not one.pending
        session.post(Orbit(0.05, 0.0))
        assert frame() == Sample(2, True, moving=True) and one.pending  # continues the mean
        session.post(Orbit(0.05, 0.0))
        assert frame() == Sample(3, True, moving=True)
        for cut in (
            Orbit(1.0, 0.0),
            SetParameter("view", "exposure", 2.0),
            SetParameter("layers.dots", "roughness", 0.9),
        ):
            session.post(cut)
            assert frame() == Sample(0, True, moving=True), cut
        assert frame((32, 32)) == Sample(0, True, moving=True)
        session.post(Play(True))
        frame((32, 32))
        assert frame((32, 32)).moving and frame((32, 32)).index > 1
