"""The selection: by a click or by name, its values, and when it is cleared."""

import nibabel
import numpy as np
import pytest

from vertigrad.gpu import Gpu
from vertigrad.headless import Offscreen
from vertigrad.headless.offscreen import FORMAT
from vertigrad.renderer.renderer import Renderer
from vertigrad.session import Session, row_values
from vertigrad.session.commands import Deselect, Pick, Reload, Select, SetParameter

from .running import LINKED, SCENE, run_frame, use_models, values, written

SIZE = (160, 120)


@pytest.fixture
def opened(steady: Gpu, tmp_path, monkeypatch):
    use_models(monkeypatch)
    monkeypatch.setattr(row_values, "EVERY", 0.0)
    drawn = []

    def open_(text=SCENE, *sets):
        session = Session(
            steady, written(tmp_path, text), ["camera.position=[0.4,0,3]", "camera.target=[0.4,0,0]", *sets]
        )
        session.playing = False
        drawn.append(session)
        return session

    yield open_
    for session in drawn:
        session.close()


def run_frames(session, frames=4):
    """Run frames, each finished before the next: readbacks of one have arrived in the next."""
    for _ in range(frames):
        run_frame(session)
        session.gpu.sync()


def cursor(session, point):
    clip = session.camera.projection(SIZE[0] / SIZE[1]) @ session.camera.view() @ [*point, 1]
    return (clip[0] / clip[3] + 1) / 2 * SIZE[0], (1 - clip[1] / clip[3]) / 2 * SIZE[1]


def click(session, point):
    session.post(Pick(cursor(session, point), SIZE))
    run_frames(session)


def known(session):
    return {fact.name: fact.value for fact in session.selection.facts}


def test_a_click_selects_the_visible_row(opened):
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
    run_frames(plain)
    assert [(fact.name, fact.source) for fact in plain.selection.facts[:2]] == [
        ("position", "row.position"),
        ("row.phase", "row.phase"),
    ]
    assert known(plain)["row.phase"] == 0.0


def test_it_follows_the_row_as_the_simulation_moves(opened):
    session = opened()
    session.post(Select("dots", 4))
    run_frames(session)
    assert session.selection.position() == (0.5, 0, 0)
    session.playing = True
    run_frames(session, 30)
    session.playing = False
    run_frames(session)
    position = values(session, "row.position")[4]
    assert position[1] > 0.3
    assert known(session)["position"].tolist() == position.tolist()
    assert known(session)["color"] == pytest.approx(position[1])


def test_values_are_read_only_after_changes_and_without_waiting(opened, steady: Gpu):
    session = opened()
    session.post(Select("dots", 4))
    run_frames(session)
    before = steady.meter.read()
    run_frames(session, 10)
    assert steady.meter.read() == before
    assert not session.selection.pending and session.idle
    geometry = before["geometry"]
    session.playing = True
    run_frames(session, 10)
    assert steady.meter.read()["geometry"] == geometry, "what is read back are diagnostics"


def test_values_are_read_a_few_times_a_second(opened, steady: Gpu, monkeypatch):
    session = opened()
    session.post(Select("dots", 4))
    run_frames(session)
    monkeypatch.setattr(row_values, "EVERY", 1e6)
    session.playing = True
    before = steady.meter.read()["diagnostics"]
    run_frames(session, 10)
    assert steady.meter.read()["diagnostics"] == before


def test_a_row_out_of_range(opened):
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


def test_the_selection_is_cleared(opened, tmp_path):
    session = opened()

    def select(row=6):
        session.post(Select("dots", row))
        run_frames(session)
        assert session.selection.row is not None

    select()
    session.post(Deselect())
    run_frame(session)
    assert session.selection.row is None
    select()
    session.post(SetParameter("models.row", "count", 9))
    run_frames(session)
    assert session.selection.row is not None, "the row is there still"
    assert known(session)["position"][0] == pytest.approx(6 / 9)
    session.post(SetParameter("models.row", "count", 4))
    run_frames(session)
    assert session.selection.row is None and not session.messages
    select(2)
    session.post(Reload(written(tmp_path, LINKED, "linked.toml")))
    run_frame(session)
    assert session.selection.row is None


def test_the_result_of_a_click_for_another_scene_is_dropped(opened, tmp_path):
    session = opened()
    session.post(Pick(cursor(session, (0, 0, 0)), SIZE))
    session.post(Reload(written(tmp_path, LINKED, "linked.toml")))
    run_frames(session)
    assert session.selection.row is None and not session.selection.pending


def test_the_later_of_two_clicks_wins(opened):
    session = opened()
    session.post(Pick(cursor(session, (1 / 8, 0, 0)), SIZE))
    session.post(Pick(cursor(session, (6 / 8, 0, 0)), SIZE))
    session.post(Deselect())
    session.post(Pick(cursor(session, (5 / 8, 0, 0)), SIZE))
    run_frames(session)
    assert session.selection.row.row == 5


def test_a_request_of_a_dropped_frame_is_repeated(opened, steady: Gpu):
    session = opened()
    session.selection.pick(cursor(session, (0, 0, 0)), SIZE)
    steady.abandon()
    assert session.selection.pending
    run_frames(session, 2)
    assert not session.selection.pending and session.selection.row is None
    session.selection.select("dots", 1)
    session.selection.follow(session.changes)
    steady.abandon()
    run_frames(session)
    assert not session.selection.pending
    session.playing = True
    run_frames(session)
    assert known(session)["position"] is not None


# in the image -----------------------------------------------------------------------------------------------------


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
def images(opened, steady: Gpu):
    session = opened(SCENE, "view.bloom=0", "view.vignette=0", "layers.dots.size=0.04")
    offscreen, renderer = Offscreen(steady, SIZE), Renderer(steady, FORMAT)
    return session, lambda **options: shot(session, offscreen, renderer, **options)


def test_the_selected_row_has_a_ring_and_nothing_else_changes(images):
    session, image = images
    plain = image()
    session.post(Select("dots", 2))
    marked = image()
    y, x = np.nonzero(np.abs(marked - plain).max(axis=-1) > 3)
    cx, cy = cursor(session, (2 / 8, 0, 0))
    away = np.hypot(x + 0.5 - cx, y + 0.5 - cy)
    radius = 0.04 / (session.camera.pixel(SIZE[1]) * 3)
    assert away.min() > radius and away.max() < radius + 4 + 4
    angles = np.histogram(np.arctan2(y + 0.5 - cy, x + 0.5 - cx), 12, (-np.pi, np.pi))[0]
    assert angles.min() > 0, "all the way round"
    assert (image() == marked).all(), "no flicker"
    assert (image(plain=True) == plain).all()
    session.post(Deselect())
    assert (image() == plain).all()


def test_the_ring_moves_with_the_row_in_the_same_frame(images):
    """It uses the position that the frame is drawn from, not one that was read back."""
    session, image = images
    session.post(Select("dots", 2))
    image()
    session.post(SetParameter("models.row", "height", 0.5))
    with session.gpu.frames.frame():
        session.apply()
        session.advance()
    marked, plain = image(), image(plain=True)
    y, x = np.nonzero(np.abs(marked - plain).max(axis=-1) > 3)
    assert (x.mean(), y.mean()) == pytest.approx(cursor(session, (2 / 8, 0.5, 0)), abs=1.0)


def test_a_row_without_a_finite_position_has_no_ring(images):
    session, image = images
    session.camera.orbit(np.pi, 0.0)
    session.camera.target = (0.4, 0.0, 30.0)
    session.post(Select("dots", 2))
    assert (image() == image(plain=True)).all()


def test_no_selection_costs_no_pass(images, steady: Gpu, monkeypatch):
    session, image = images
    groups = []
    begin = steady.recorder.render_pass

    def noted(group="draw", *arguments, **options):
        groups.append(group)
        return begin(group, *arguments, **options)

    monkeypatch.setattr(steady.recorder, "render_pass", noted)
    image()
    assert groups == ["surfaces", "layers", "post-process"]
    session.post(Select("dots", 2))
    image()
    assert groups[3:] == ["post-process", "highlight"]  # the light is that of the frame before


GRID = """version = 1
[models.scan]
type = "volume"
file = "scan.nii"
[layers.slices]
type = "slices"
values = "scan.values"
across = "z"
low = [-1, -1, -1]
high = [1, 1, 1]
"""


def test_a_click_on_a_slice_shows_the_value_and_its_position_in_the_units_of_the_file(
    steady: Gpu, tmp_path, monkeypatch
):
    monkeypatch.setattr(row_values, "EVERY", 0.0)
    grid = np.random.default_rng(1).normal(size=(4, 5, 6)).astype(np.float32)  # nz, ny, nx
    affine = np.array([[0.5, 0, 0, -20], [0, 0.8, 0, 12], [0, 0, 2.0, 100], [0, 0, 0, 1]])
    image = nibabel.Nifti1Image(grid.transpose(2, 1, 0), affine)
    image.header.set_xyzt_units("mm")
    nibabel.save(image, tmp_path / "scan.nii")
    sets = ["camera.position=[0,0,6]", "camera.target=[0,0,0]", "layers.slices.at=[0.5,0.5,0.6]"]
    with Session(steady, written(tmp_path, GRID), sets) as session:
        session.playing = False
        run_frames(session)
        z, y, x = 2, 1, 4
        click(session, (-1 + (x + 0.5) / 3, -1 + (y + 0.5) / 2.5, 0.2))
        row = session.selection.row
        assert row is not None and row.layer == "slices" and np.unravel_index(row.row, grid.shape) == (z, y, x)
        found = known(session)
        assert found["values"] == grid[z, y, x] and found["index"] == (x, y, z)
        assert np.allclose(found["position [mm]"], (affine @ (x, y, z, 1))[:3], atol=1e-4)
        assert np.allclose(session.selection.position(), (-1 + (x + 0.5) / 3, -1 + (y + 0.5) / 2.5, 0.25), atol=0.05)
        session.post(Select("slices", grid.size - 1))
        run_frames(session)
        assert known(session)["values"] == grid[-1, -1, -1] and not session.messages
        session.post(Select("slices", grid.size))
        run_frames(session)
        assert "has no row 120" in session.messages["selection"]
