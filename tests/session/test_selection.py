"""What is selected: by a click or by name, what is known of it, and when it is let go."""

import numpy as np
import pytest

from vertigrad.gpu import Gpu
from vertigrad.headless import Offscreen
from vertigrad.headless.offscreen import FORMAT
from vertigrad.renderer.renderer import Renderer
from vertigrad.session import Session, selection
from vertigrad.session.commands import Deselect, Pick, Reload, Select, SetParameter

from .running import LINKED, SCENE, run_frame, use_models, values, written

SIZE = (160, 120)


@pytest.fixture
def opened(steady: Gpu, tmp_path, monkeypatch):
    use_models(monkeypatch)
    monkeypatch.setattr(selection, "EVERY", 0.0)
    made = []

    def open_(text=SCENE, *sets):
        session = Session(
            steady, written(tmp_path, text), ["camera.position=[0.4,0,3]", "camera.target=[0.4,0,0]", *sets]
        )
        session.playing = False
        made.append(session)
        return session

    yield open_
    for session in made:
        session.close()


def settle(session, frames=4):
    """Frames, each finished before the next: what was asked for in one has arrived in the next."""
    for _ in range(frames):
        run_frame(session)
        session.gpu.sync()


def cursor(session, place):
    clip = session.camera.projection(SIZE[0] / SIZE[1]) @ session.camera.view() @ [*place, 1]
    return (clip[0] / clip[3] + 1) / 2 * SIZE[0], (1 - clip[1] / clip[3]) / 2 * SIZE[1]


def click(session, place):
    session.post(Pick(cursor(session, place), SIZE))
    settle(session)


def known(session):
    return {fact.name: fact.value for fact in session.selection.facts}


def test_a_click_selects_the_row_that_is_seen(opened):
    session = opened()
    for row in (5, 0, 7):
        click(session, (row / 8, 0, 0))
        assert session.selection.row == ("dots", row, None, None)
    click(session, (0.4, 3.0, 0))
    assert session.selection.row is None and session.selection.facts == []


def test_all_attributes_of_the_row_and_of_the_models_other_outputs(opened):
    session = opened()
    click(session, (3 / 8, 0, 0))
    facts = session.selection.facts
    assert [(fact.name, fact.source) for fact in facts] == [
        ("position", "row.position"),
        ("color", "row.phase"),
        ("size", ""),
    ]
    found = known(session)
    assert found["position"].tolist() == [0.375, 0, 0] and found["color"] == 0 and found["size"] == 0.1
    plain = opened(SCENE.replace('color = "row.phase"\nrange = [0, 1]\n', ""))
    plain.post(Select("dots", 2))
    settle(plain)
    assert [(fact.name, fact.source) for fact in plain.selection.facts[:2]] == [
        ("position", "row.position"),
        ("row.phase", "row.phase"),
    ]
    assert known(plain)["row.phase"] == 0.0


def test_it_follows_the_row_as_the_simulation_moves(opened):
    session = opened()
    session.post(Select("dots", 4))
    settle(session)
    assert session.selection.position() == (0.5, 0, 0)
    session.playing = True
    settle(session, 30)
    session.playing = False
    settle(session)
    position = values(session, "row.position")[4]
    assert position[1] > 0.3
    assert known(session)["position"].tolist() == position.tolist()
    assert known(session)["color"] == pytest.approx(position[1])


def test_values_are_read_only_when_something_changed_and_never_wait(opened, steady: Gpu):
    session = opened()
    session.post(Select("dots", 4))
    settle(session)
    before = steady.meter.read()
    settle(session, 10)
    assert steady.meter.read() == before
    assert not session.selection.pending and session.idle
    geometry = before["geometry"]
    session.playing = True
    settle(session, 10)
    assert steady.meter.read()["geometry"] == geometry, "what is read back are diagnostics"


def test_values_are_read_a_few_times_a_second(opened, steady: Gpu, monkeypatch):
    session = opened()
    session.post(Select("dots", 4))
    settle(session)
    monkeypatch.setattr(selection, "EVERY", 1e6)
    session.playing = True
    before = steady.meter.read()["diagnostics"]
    settle(session, 10)
    assert steady.meter.read()["diagnostics"] == before


def test_a_row_that_there_is_not(opened):
    session = opened()
    session.post(Select("dots", 8))
    run_frame(session)
    assert session.messages["selection"] == "dots has no row 8; its rows are 0 to 7"
    session.post(Select("dot", 0))
    run_frame(session)
    assert session.messages["selection"].startswith('unknown layer "dot"')
    session.post(Select("dots", -1))
    run_frame(session)
    assert "no row -1" in session.messages["selection"] and session.selection.row is None
    session.post(Select("dots", 0))
    run_frame(session)
    assert "selection" not in session.messages


def test_it_is_let_go(opened, tmp_path):
    session = opened()

    def select(row=6):
        session.post(Select("dots", row))
        settle(session)
        assert session.selection.row is not None

    select()
    session.post(Deselect())
    run_frame(session)
    assert session.selection.row is None
    select()
    session.post(SetParameter("models.row", "count", 9))
    settle(session)
    assert session.selection.row is not None, "the row is there still"
    assert known(session)["position"][0] == pytest.approx(6 / 9)
    session.post(SetParameter("models.row", "count", 4))
    settle(session)
    assert session.selection.row is None and not session.messages
    select(2)
    session.post(Reload(written(tmp_path, LINKED, "linked.toml")))
    run_frame(session)
    assert session.selection.row is None


def test_a_click_whose_scene_is_gone_when_it_arrives(opened, tmp_path):
    session = opened()
    session.post(Pick(cursor(session, (0, 0, 0)), SIZE))
    session.post(Reload(written(tmp_path, LINKED, "linked.toml")))
    settle(session)
    assert session.selection.row is None and not session.selection.pending


def test_the_later_of_two_clicks_counts(opened):
    session = opened()
    session.post(Pick(cursor(session, (1 / 8, 0, 0)), SIZE))
    session.post(Pick(cursor(session, (6 / 8, 0, 0)), SIZE))
    session.post(Deselect())
    session.post(Pick(cursor(session, (5 / 8, 0, 0)), SIZE))
    settle(session)
    assert session.selection.row.row == 5


def test_what_was_asked_for_in_a_frame_that_was_dropped(opened, steady: Gpu):
    session = opened()
    session.selection.pick(cursor(session, (0, 0, 0)), SIZE)
    steady.abandon()
    assert session.selection.pending
    settle(session, 2)
    assert not session.selection.pending and session.selection.row is None
    session.selection.select("dots", 1)
    session.selection.follow(session.changes)
    steady.abandon()
    settle(session)
    assert not session.selection.pending
    session.playing = True
    settle(session)
    assert known(session)["position"] is not None


# in the picture -----------------------------------------------------------------------------------------------------


def shot(session, offscreen, renderer, plain=False):
    got = []
    with session.gpu.frames.frame():
        session.apply()
        (session.draw_to_file if plain else session.draw)(renderer, offscreen.view, SIZE)
        offscreen.read(got.append)
    session.gpu.sync()
    while not got:
        session.gpu.poll()
    return got[0][..., :3].astype(int)


@pytest.fixture
def pictures(opened, steady: Gpu):
    session = opened(SCENE, "view.bloom=0", "view.vignette=0", "layers.dots.size=0.04")
    offscreen, renderer = Offscreen(steady, SIZE), Renderer(steady, FORMAT)
    return session, lambda **options: shot(session, offscreen, renderer, **options)


def test_a_ring_around_the_row_and_nowhere_else(pictures):
    session, picture = pictures
    plain = picture()
    session.post(Select("dots", 2))
    marked = picture()
    y, x = np.nonzero(np.abs(marked - plain).max(axis=-1) > 3)
    cx, cy = cursor(session, (2 / 8, 0, 0))
    away = np.hypot(x + 0.5 - cx, y + 0.5 - cy)
    radius = 0.04 / (session.camera.pixel(SIZE[1]) * 3)
    assert away.min() > radius and away.max() < radius + 4 + 4
    angles = np.histogram(np.arctan2(y + 0.5 - cy, x + 0.5 - cx), 12, (-np.pi, np.pi))[0]
    assert angles.min() > 0, "all the way round"
    assert (picture() == marked).all(), "no flicker"
    assert (picture(plain=True) == plain).all()
    session.post(Deselect())
    assert (picture() == plain).all()


def test_the_ring_moves_with_the_row_in_the_very_picture(pictures):
    """It reads the position that the picture is drawn from, not one that was read back."""
    session, picture = pictures
    session.post(Select("dots", 2))
    picture()
    session.post(SetParameter("models.row", "height", 0.5))
    with session.gpu.frames.frame():
        session.apply()
        session.advance()
    marked, plain = picture(), picture(plain=True)
    y, x = np.nonzero(np.abs(marked - plain).max(axis=-1) > 3)
    assert (x.mean(), y.mean()) == pytest.approx(cursor(session, (2 / 8, 0.5, 0)), abs=1.0)


def test_a_row_that_is_nowhere_has_no_ring(pictures):
    session, picture = pictures
    session.camera.orbit(np.pi, 0.0)
    session.camera.target = (0.4, 0.0, 30.0)
    session.post(Select("dots", 2))
    assert (picture() == picture(plain=True)).all()


def test_no_selection_costs_no_pass(pictures, steady: Gpu, monkeypatch):
    session, picture = pictures
    groups = []
    begin = steady.recorder.render_pass

    def noted(group="draw", *arguments, **options):
        groups.append(group)
        return begin(group, *arguments, **options)

    monkeypatch.setattr(steady.recorder, "render_pass", noted)
    picture()
    assert groups == ["layers", "post-process"]
    session.post(Select("dots", 2))
    picture()
    assert groups[2:] == ["layers", "post-process", "highlight"]
