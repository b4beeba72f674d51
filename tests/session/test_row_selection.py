"""Several rows: which of them regions of the image select, and what is done with them: hidden, exported, undone."""

from itertools import pairwise

import numpy as np
import pytest

from vertigrad import resources
from vertigrad.errors import InputError, ParameterError
from vertigrad.gpu import Gpu
from vertigrad.headless import Offscreen
from vertigrad.headless.offscreen import FORMAT
from vertigrad.models.data import point_file, point_levels, point_pages, splat_file
from vertigrad.renderer.renderer import Renderer
from vertigrad.session import Session
from vertigrad.session.commands import (
    CropToSelection,
    Deselect,
    ExportGeometry,
    ExportSelection,
    HideRows,
    HideSelected,
    InvertSelection,
    Redo,
    Select,
    SelectAllRows,
    SelectRegion,
    SelectRows,
    SetParameter,
    SetSelecting,
    SetSelectTool,
    SetTool,
    ShowHidden,
    Undo,
)
from vertigrad.session.region import covered

from .running import run_frame

SIZE = (160, 120)
COUNT = 400
CLOUD = """
version = 1
[camera]
position = [0, 0, 6]
[models.cloud]
type = "point_cloud"
file = "cloud.npy"
size = 0
up = "y"
[layers.dots]
type = "points"
position = "cloud.position"
size = 0.004
[models.wall]
type = "array"
file = "wall.npy"
[layers.wall]
type = "marks"
position = "wall.values"
size = 0.15
"""


@pytest.fixture(scope="module")
def session(gpu: Gpu, tmp_path_factory):
    """Points in a cube, of which a wall of marks at z = 0.5 hides the lower left from the camera."""
    folder = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(5)
    points = np.concatenate([rng.uniform(-1, 1, (COUNT - 2, 3)), [[-1, -1, -1], [1, 1, 1]]]).astype(np.float32)
    np.save(folder / "cloud.npy", points)
    side = np.linspace(-1.2, 0.0, 12, dtype=np.float32)
    x, y = np.meshgrid(side, side)
    np.save(folder / "wall.npy", np.stack([x, y, np.full_like(x, 0.5)], axis=-1).reshape(-1, 3))
    (folder / "cloud.toml").write_text(CLOUD)
    with Session(gpu, folder / "cloud.toml") as session:
        session.playing = False
        run_frame(session)
        yield session


@pytest.fixture(autouse=True)
def at_first(request):
    """Nothing is selected or hidden before each test."""
    if "session" in request.fixturenames:
        session = request.getfixturevalue("session")
        session.carry_out(Deselect())
        session.carry_out(ShowHidden())


def positions(session, layer="dots"):
    return session.stage.layers[layer].attributes.tensors["position"].tensor.numpy()


def pixels(session, points):
    """Where points are on the image: the reference, in float64 and one by one."""
    matrix = session.camera.projection(SIZE[0] / SIZE[1]) @ session.camera.view()
    clip = [matrix @ [*point, 1.0] for point in points.astype(np.float64)]
    return np.array([((x / w + 1) / 2 * SIZE[0], (1 - y / w) / 2 * SIZE[1]) for x, y, _, w in clip])


def in_polygon(point, outline):
    """By the winding angle of the outline around the point, which is another rule than that of the code."""
    angles = np.arctan2(*(np.asarray(outline) - point).T[::-1])
    turns = (np.diff(np.append(angles, angles[0])) + np.pi) % (2 * np.pi) - np.pi
    return abs(turns.sum()) > np.pi


def selected(session):
    rows = session.rows.selected
    return [] if rows is None else np.flatnonzero(rows.mask).tolist()


LASSO = ((30.0, 20.0), (120.0, 10.5), (140.0, 70.0), (90.0, 60.0), (75.5, 110.0), (20.0, 90.0))


def test_a_lasso_takes_the_rows_whose_pixel_is_inside(session):
    spots = pixels(session, positions(session))
    inside = [row for row, spot in enumerate(spots) if in_polygon(np.floor(spot) + 0.5, LASSO)]
    session.carry_out(SelectRegion("lasso", LASSO, SIZE))
    assert session.rows.selected.layer == "dots" and selected(session) == inside and 80 < len(inside) < 350
    assert session.rows.selected.count == len(inside)


def test_a_lasso_that_crosses_itself(session):
    """Its two loops are inside, what is around both is not."""
    mask = covered("lasso", ((10.0, 10.0), (50.0, 50.0), (50.0, 10.0), (10.0, 50.0)), SIZE)
    assert mask[30, 12] and mask[30, 47] and not mask[12, 30] and not mask[47, 30] and not mask[60:].any()


def test_a_brush_takes_what_its_path_comes_near_to(session):
    path, radius = ((20.0, 30.0), (80.0, 60.0), (100.0, 20.0)), 9.0
    spots = np.floor(pixels(session, positions(session))) + 0.5
    passed = np.concatenate([np.linspace(a, b, 4001) for a, b in pairwise(path)])
    near = [row for row, spot in enumerate(spots) if np.linalg.norm(passed - spot, axis=1).min() <= radius]
    session.carry_out(SelectRegion("brush", path, SIZE, radius))
    assert selected(session) == near and len(near) > 40
    session.carry_out(SelectRegion("brush", path[1:2], SIZE, radius))
    dab = [row for row, spot in enumerate(spots) if np.linalg.norm(spot - path[1]) <= radius]
    assert selected(session) == dab and dab


def test_a_box_adds_and_removes(session):
    spots = pixels(session, positions(session))

    def inside(low, high):
        return ((spots >= low) & (spots < np.add(high, 1))).all(axis=1)

    session.carry_out(SelectRegion("box", ((100, 80), (40, 30)), SIZE))
    session.carry_out(SelectRegion("box", ((20, 20), (50, 50)), SIZE, 0.0, "add"))
    session.carry_out(SelectRegion("box", ((60, 50), (80, 70)), SIZE, 0.0, "remove"))
    mask = (inside((40, 30), (100, 80)) | inside((20, 20), (50, 50))) & ~inside((60, 50), (80, 70))
    assert selected(session) == np.flatnonzero(mask).tolist() and mask.any()
    session.carry_out(SelectRegion("box", ((0, 0), (1, 1)), SIZE))
    assert session.rows.selected is None
    session.carry_out(SelectRegion("box", ((0, 0), SIZE), SIZE, 0.0, "remove"))
    assert session.rows.selected is None


def test_hidden_points_are_not_taken_with_visible_only(session):
    """The wall hides what is behind it; before it and next to it all are taken."""
    size = 640, 480
    everything = ((0, 0), size)
    session.carry_out(SelectRows("dots", [0]))
    session.carry_out(SelectRegion("box", everything, size, 0.0, "add", True))
    taken, points = session.rows.selected.mask, positions(session)
    eye = np.linalg.inv(session.camera.view())[:3, 3]
    share = (eye[2] - 0.5) / (eye[2] - points[:, 2])
    crossing = eye[:2] + share[:, None] * (points[:, :2] - eye[:2])
    behind = (points[:, 2] < 0.4) & (crossing < -0.05).all(axis=1) & (crossing > -1.15).all(axis=1)
    free = (points[:, 2] > 0.6) | (crossing > 0.2).any(axis=1)
    assert behind.sum() > 40 and free.sum() > 150
    assert not taken[behind & (np.arange(COUNT) > 0)].any()
    assert taken[free].mean() > 0.97  # some are behind another point
    session.carry_out(SelectRegion("box", everything, size, 0.0, "add"))
    assert session.rows.selected.count == COUNT


def test_what_is_done_with_rows_is_undone(session):
    session.carry_out(SelectRows("dots", [3, 4, 5]))
    session.carry_out(SelectRows("dots", np.arange(COUNT) == 9, "add"))
    session.carry_out(HideSelected())
    assert session.rows.selected is None and np.flatnonzero(np.isnan(positions(session)[:, 0])).tolist() == [3, 4, 5, 9]
    session.carry_out(SelectAllRows())
    assert session.rows.selected.count == COUNT - 4, "hidden rows cannot be selected"
    session.carry_out(InvertSelection())
    assert session.rows.selected is None
    session.carry_out(SelectRows("dots", range(10, 20)))
    session.carry_out(CropToSelection())
    assert np.flatnonzero(np.isfinite(positions(session)[:, 0])).tolist() == list(range(10, 20))
    session.carry_out(InvertSelection())
    assert session.rows.selected is None
    states = [selected(session)]
    for _ in range(8):
        session.carry_out(Undo())
        states.append(selected(session))
    assert [len(rows) for rows in states] == [0, 10, 10, 0, 396, 0, 4, 3, 0] and states[6] == [3, 4, 5, 9]
    assert np.isfinite(positions(session)).all() and not session.rows.hidden
    for _ in range(3):
        session.carry_out(Redo())
    assert session.rows.hidden["dots"].count == 4 and not session.unsaved
    session.carry_out(SetParameter("layers.dots", "roughness", 0.9))
    session.carry_out(SelectRows("dots", [1]))
    session.carry_out(Undo())
    assert session.rows.hidden["dots"].count == 4 and session.unsaved
    session.carry_out(Undo())


def test_hidden_rows_are_not_drawn_nor_exported(session, tmp_path):
    """The same pixels as if only the others were there; the layer can be bound again meanwhile."""
    renderer, target = Renderer(session.gpu, FORMAT), Offscreen(session.gpu, SIZE)

    def image():
        found = []
        with session.gpu.frames.frame():
            session.apply()
            session.draw(renderer, target.view, SIZE)
            target.read(found.append)
        session.gpu.sync()
        return found[0]

    plain = image()
    session.carry_out(SelectRows("wall", np.arange(144)))
    marked = image()
    session.carry_out(HideSelected())
    hidden = image()
    session.stage.rebind()
    assert (image() == hidden).all()
    session.carry_out(ShowHidden())
    assert (image() == plain).all()
    assert 144 * 12 > (marked != plain).any(axis=-1).sum() > 144 * 2, "a dot at each"
    spots = pixels(session, positions(session, "wall")).astype(int)
    assert (plain != hidden).any(axis=-1)[spots[:, 1], spots[:, 0]].mean() > 0.95


def test_selected_rows_are_exported(session, tmp_path):
    session.carry_out(SelectRows("dots", [2, 3, 4, 7]))
    session.carry_out(ExportSelection(tmp_path / "some.ply"))
    found, all_of_them = point_file.read(tmp_path / "some.ply", 0.0, "y").positions, positions(session)
    np.testing.assert_allclose(found - found[0], (all_of_them[[2, 3, 4, 7]] - all_of_them[2]), atol=1e-6)
    with pytest.raises(InputError, match="holds splats only"):
        session.carry_out(ExportSelection(tmp_path / "some.spz"))
    session.carry_out(HideSelected())
    session.carry_out(ExportGeometry(tmp_path / "rest.ply", ("dots",)))
    assert len(point_file.read(tmp_path / "rest.ply", 0.0, "y").positions) == COUNT - 4
    with pytest.raises(InputError, match="no rows are selected"):
        session.carry_out(ExportSelection(tmp_path / "none.ply"))


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (SelectRegion("circle", ((1, 1),), SIZE), "expected box, lasso, brush"),
        (SelectRegion("box", ((1, 1), (2, 2)), SIZE, 0.0, "other"), "expected replace, add, remove"),
        (SelectRegion("lasso", ((1, np.nan),), SIZE), "finite numbers"),
        (SelectRegion("lasso", (), SIZE), "0 points"),
        (SelectRegion("lasso", ((1.0, 1.0),) * 20_001, SIZE), "20,001 points"),
        (SelectRegion("brush", ((1, 1),), (1 << 20, 120)), "width and height of the image"),
        (SelectRegion("brush", ((1, 1),), SIZE, -1.0), "finite number of pixels"),
        (SelectRows("nothing", [0]), "nothing"),
        (SelectRows("dots", [COUNT]), "has the rows 0 to 399; got 400 to 400"),
        (SelectRows("dots", [-1]), "got -1 to -1"),
        (SelectRows("dots", [0.5]), "expected integers"),
        (HideRows("dots", [[1, 2]]), "expected integers"),
        (SetSelectTool("circle"), "expected box, lasso, brush"),
        (SetSelecting("radius", -1.0), "radius"),
    ],
)
def test_mistakes_are_refused_and_change_nothing(session, command, message):
    session.carry_out(SelectRows("dots", [1, 2]))
    with pytest.raises(ParameterError, match=message):
        session.carry_out(command)
    assert selected(session) == [1, 2] and not session.rows.hidden
    session.carry_out(Deselect())
    for done in (HideSelected(), CropToSelection()):
        with pytest.raises(InputError, match="no rows are selected"):
            session.carry_out(done)


def test_one_tool_at_a_time_and_a_clicked_row_stays(session):
    session.carry_out(SetSelectTool("lasso"))
    assert session.rows.shape == "lasso"
    session.carry_out(SetTool(None))
    assert session.rows.shape is None
    session.carry_out(Select("dots", 3))
    session.carry_out(SelectRows("dots", [5]))
    assert session.selection.row.row == 3 and selected(session) == [5]
    session.carry_out(Deselect())
    assert session.selection.row is None and selected(session) == []


def test_selected_splats_are_saved(gpu: Gpu, tmp_path):
    """Without those that the crop of the layer leaves out; the others as they are drawn."""
    text = resources.path("scenes", "splats.toml").read_text(encoding="utf-8")
    (tmp_path / "splats.toml").write_text(text.replace("[view]", "crop_low = [-9, -9, 0]\n[view]"))
    with Session(gpu, tmp_path / "splats.toml") as session:
        run_frame(session)
        session.carry_out(SelectRegion("box", ((0.0, 0.0), (80.0, 120.0)), SIZE))
        rows, outputs = session.rows.selected, session.stage.instances["knot"].outputs
        position = outputs["position"].numpy()
        assert 100 < rows.count < len(position) and position[rows.mask][:, 2].min() >= 0.0
        session.carry_out(ExportSelection(tmp_path / "part.ply"))
        found = splat_file.read(tmp_path / "part.ply")
        np.testing.assert_allclose(np.ptp(found.position, axis=0), np.ptp(position[rows.mask], axis=0), rtol=1e-5)
        np.testing.assert_allclose(found.harmonics, outputs["harmonics"].numpy()[rows.mask], atol=1e-6)


LARGE = """
version = 1
[camera]
position = [0, 0, 6]
[models.scan]
type = "point_cloud"
file = "scan.npz"
size = 0
up = "y"
color = "height"
resident = 4096
[layers.dots]
type = "points"
position = "scan.position"
color = "scan.color"
size = 0.01
"""


def test_rows_of_a_cloud_of_which_a_part_is_in_memory(gpu: Gpu, tmp_path, monkeypatch):
    """They are points of the file: also those that are read later are selected, hidden and exported."""
    monkeypatch.setattr(point_levels, "LEAF", 1500)
    monkeypatch.setattr(point_pages, "PAGE", 64)
    points = np.random.default_rng(2).uniform(-1, 1, (12_000, 3))
    points[:2] = (-1, -1, -1), (1, 1, 1)  # the middle is the origin
    np.savez(tmp_path / "scan.npz", points=points)
    (tmp_path / "large.toml").write_text(LARGE)
    with Session(gpu, tmp_path / "large.toml") as session:
        session.look(SIZE)
        run_frame(session)
        spots = pixels(session, points)
        inside = [row for row, spot in enumerate(spots) if in_polygon(np.floor(spot) + 0.5, LASSO)]
        session.carry_out(SelectRegion("lasso", LASSO, SIZE))
        assert set(selected(session)) ^ set(inside) <= set(near_an_edge(spots))
        assert session.rows.selected.rows == 12_000 and len(inside) > 4096
        session.carry_out(ExportSelection(tmp_path / "part.ply"))
        assert len(point_file.read(tmp_path / "part.ply", 0.0, "y").positions) == session.rows.selected.count
        hidden = session.rows.selected.mask
        session.carry_out(HideSelected())
        before = session.stage.instances["scan"].model.part_of_data().numbers.copy()
        for distance in (6.0, 1.5):
            session.camera.distance, session.camera.target = distance, (0.8, 0.2, 0.0)
            session.look(SIZE)
            run_frame(session)
            numbers = session.stage.instances["scan"].model.part_of_data().numbers
            expected = (numbers >= 0) & ~hidden[numbers]
            assert (np.isfinite(positions(session)[:, 0]) == expected).all() and expected.sum() > 500
        assert (numbers != before).any()
        session.carry_out(SelectRows("dots", [5, 11_999]))
        session.carry_out(SelectRegion("box", ((0, 0), SIZE), SIZE, 0.0, "replace", True))
        assert set(selected(session)) <= set(numbers[expected].tolist()) and session.rows.selected.count > 100


def near_an_edge(spots):
    """Rows whose pixel may differ: positions are f32."""
    return np.flatnonzero((np.abs(spots - np.round(spots)) < 1e-3).any(axis=1)).tolist()


def test_positions_are_read_once_until_they_are_written(session, gpu: Gpu):
    """So a region does not wait for the GPU then; nor does the first one while a tool is chosen."""

    def read(act):
        before = gpu.meter.read()["diagnostics"]["device_to_host"]
        act()
        return gpu.meter.read()["diagnostics"]["device_to_host"] - before

    def select():
        session.carry_out(SelectRegion("lasso", LASSO, SIZE))

    select()
    source = session.stage.instances["cloud"].outputs["position"]
    first = source.numpy()
    source[...] = first
    assert read(select) == 12 * COUNT and read(select) == read(lambda: session.carry_out(SelectAllRows())) == 0
    session.carry_out(SetSelectTool("box"))
    run_frame(session)
    source[...] = first * np.float32(0.9)
    assert read(lambda: run_frame(session)) == 0, "it was written in this frame, and may be in each"
    assert read(lambda: run_frame(session)) == 12 * COUNT and read(select) == 0
    spots = pixels(session, 0.9 * first)
    assert selected(session) == [row for row, spot in enumerate(spots) if in_polygon(np.floor(spot) + 0.5, LASSO)]
    session.carry_out(SetSelectTool(None))
    source[...] = first
