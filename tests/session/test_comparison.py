"""A run next to the open scene: the same steps and camera, through pauses, resets and rewinding; and their images."""

from __future__ import annotations

import numpy as np
import pytest

from vertigrad.errors import InputError
from vertigrad.headless.offscreen import FORMAT, Offscreen
from vertigrad.renderer.renderer import Renderer
from vertigrad.session import Session
from vertigrad.session.commands import CompareRuns, GoTo, Play, Reset, Step, StopComparing
from vertigrad.session.comparison import GAP
from vertigrad.session.running import SceneSource

from .running import SCENE, Fault, Rising, run_frame, use_models, values, written

SIZE = 82, 30
LEFT, RIGHT = ("row.height=0.5",), ("row.height=-0.5", "layers.dots.size=0.3")


@pytest.fixture
def compared(steady, tmp_path, monkeypatch):
    use_models(monkeypatch)
    path = written(tmp_path, SCENE + "\n[camera]\nposition = [0.5, 0, 4]\ntarget = [0.5, 0, 0]\n")
    with Session(steady, path) as session:
        session.carry_out(CompareRuns(path, (LEFT, 1), (RIGHT, 2), ("left", "right")))
        yield session


def frames(session: Session, count: int) -> None:
    for _ in range(count):
        run_frame(session)


def heights(session: Session) -> tuple[float, float]:
    """Of the first point, at the left and at the right."""
    assert session.comparison is not None
    outputs = session.comparison.running.stage.instances["row"].outputs
    return float(values(session, "row.position")[0, 1]), float(outputs["position"].numpy()[0, 1])


def drawn(session: Session, plain: bool = False) -> np.ndarray:
    renderer, offscreen = Renderer(session.gpu, FORMAT), Offscreen(session.gpu, SIZE)
    images = []
    with session.gpu.frames.frame():
        (session.draw_to_file if plain else session.draw)(renderer, offscreen.view, SIZE)
        offscreen.read(images.append)
    session.gpu.sync()
    while not images:
        session.gpu.poll()
    return images[0].copy()


def at(frame: int) -> tuple[float, float]:
    return pytest.approx((0.5 + frame / 60, -0.5 + frame / 60), abs=1e-6)


def test_both_are_at_the_same_frame_whatever_the_clock_does(compared):
    session = compared
    assert [
        one.spec.seed for one in (session.stage.instances["row"], session.comparison.running.stage.instances["row"])
    ] == [1, 2]
    frames(session, 4)
    assert (session.frame, heights(session)) == (4, at(4))
    session.post(Play(False))
    frames(session, 2)
    assert heights(session) == at(4)
    assert session.idle
    session.post(Step(3))
    frames(session, 3)
    assert heights(session) == at(7)
    session.post(GoTo(2))
    frames(session, 1)
    assert heights(session) == at(session.frame)
    session.post(Reset())
    frames(session, 1)
    assert heights(session) == at(0)


def test_it_takes_the_length_of_the_steps_from_the_open_scene(compared):
    frames(compared, 1)
    compared.clock.set_speed(4.0)
    frames(compared, 2)
    assert heights(compared) == at(9)
    assert compared.comparison.running.clock.time == pytest.approx(compared.time)


@pytest.mark.parametrize("plain", [False, True])
def test_each_image_is_that_of_the_run_alone_with_the_same_camera(compared, tmp_path, steady, plain):
    frames(compared, 3)
    image = drawn(compared, plain)
    assert (image[:, 40 : 40 + GAP, :3] == 0).all()
    width = (SIZE[0] - GAP) // 2
    for sets, seed, part in ((LEFT, 1, image[:, :width]), (RIGHT, 2, image[:, width + GAP :])):
        with Session(steady, compared.source.path, sets, seed) as alone:
            frames(alone, 3)
            renderer, offscreen, images = Renderer(steady, FORMAT), Offscreen(steady, (width, SIZE[1])), []
            with steady.frames.frame():
                (alone.draw_to_file if plain else alone.draw)(renderer, offscreen.view, offscreen.size)
                offscreen.read(images.append)
            steady.sync()
            assert difference(part, images[0]) <= 2  # dithering depends on the position in the image
    assert difference(image[:, :width], image[:, width + GAP :]) > 50


def difference(one: np.ndarray, other: np.ndarray) -> int:
    return int(np.abs(one.astype(int) - other.astype(int)).max())


def test_it_ends_by_itself_when_another_scene_is_opened_and_by_command(compared):
    session = compared
    session.carry_out(StopComparing())
    assert session.comparison is None
    assert session.pane(SIZE) == SIZE
    session.compare(session.source, session.source)
    session.open(session.source)
    assert session.comparison is None


def test_a_run_that_cannot_be_built_leaves_everything_as_it_was(compared, tmp_path):
    before, good = (compared.running, compared.comparison), compared.source
    bad = SceneSource(good.path, ("row.count=3", "row.forbidden=3"))
    for pair in ((good, bad), (bad, good)):
        with pytest.raises(InputError, match="not with 3 points"):
            compared.compare(*pair)
        assert (compared.running, compared.comparison) == before


def test_if_the_other_run_fails_neither_has_stepped(compared, monkeypatch):
    frames(compared, 2)
    other = compared.comparison.running.stage.instances["row"].model
    step = Rising.step

    def fail(self, dt):
        step(self, dt)
        if self is other and dt:
            raise Fault("the right one fails")

    monkeypatch.setattr(Rising, "step", fail)
    with pytest.raises(Fault):
        frames(compared, 1)
    assert compared.frame == compared.comparison.running.clock.frame == 2
    monkeypatch.setattr(Rising, "step", step)
    frames(compared, 1)
    assert heights(compared) == at(3)
