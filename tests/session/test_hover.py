"""Values under the cursor: those of the data, in the units of their file, of the row that is visible there."""

import nibabel
import numpy as np
import pytest

from vertigrad.gpu import Gpu
from vertigrad.session import Session, hover, row_values
from vertigrad.session.commands import Deselect, MoveProbe, Probe, SetParameter

from .running import run_frame, written

SIZE = (160, 120)
SCENE = """version = 1
[camera]
position = [0, 0, 8]
[models.scan]
type = "volume"
file = "scan.nii"
[layers.slices]
type = "slices"
values = "scan.values"
across = "z"
at = [0.5, 0.5, 0.6]
low = [-1, -1, -1]
high = [1, 1, 1]
[models.photo]
type = "array"
file = "photo.npy"
[layers.photo]
type = "image"
pixels = "photo.values"
center = [2, 0, 0]
width = 1.5
[models.cloud]
type = "array"
file = "cloud.npy"
[models.heat]
type = "array"
file = "heat.npy"
[layers.cloud]
type = "points"
position = "cloud.values"
color = "heat.values"
size = 0.15
"""
AFFINE = np.array([[0.5, 0, 0, -20], [0, 0.8, 0, 12], [0, 0, 2.0, 100], [0, 0, 0, 1]])
rng = np.random.default_rng(1)
GRID = rng.normal(size=(4, 5, 6)).astype(np.float32)  # nz, ny, nx
PHOTO = rng.uniform(size=(4, 5)).astype(np.float32)
CLOUD = np.float32([[-2.5, 0, 0], [-2, 1, 0], [-2, -1, 0]])
HEAT = np.float32([7.5, -3.25, 11])


@pytest.fixture(scope="module")
def session(gpu: Gpu, tmp_path_factory):
    folder = tmp_path_factory.mktemp("probed")
    image = nibabel.Nifti1Image(GRID.transpose(2, 1, 0), AFFINE)
    image.header.set_xyzt_units("mm")
    nibabel.save(image, folder / "scan.nii")
    for name, array in (("photo", PHOTO), ("cloud", CLOUD), ("heat", HEAT)):
        np.save(folder / f"{name}.npy", array)
    with Session(gpu, written(folder, SCENE)) as session, pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_values, "EVERY", 0.0)
        patch.setattr(hover, "EVERY", 0.0)
        session.playing = False
        run_frames(session, 1)
        session.carry_out(Probe(True))
        yield session


def run_frames(session, frames=4):
    for _ in range(frames):
        run_frame(session)
        session.gpu.sync()


def probe(session, point):
    """What is found at a point in world space."""
    clip = session.camera.projection(SIZE[0] / SIZE[1]) @ session.camera.view() @ [*point, 1]
    cursor = (clip[0] / clip[3] + 1) / 2 * SIZE[0], (1 - clip[1] / clip[3]) / 2 * SIZE[1]
    session.post(MoveProbe(cursor, SIZE))
    run_frames(session)
    return {fact.name: fact.value for fact in session.hover.facts}


def test_the_value_of_a_slice_is_that_of_the_file_at_its_position(session):
    z, y, x = 2, 1, 4
    point = -1 + (x + 0.5) / 3, -1 + (y + 0.5) / 2.5, 0.2
    found = probe(session, point)
    assert session.hover.row.layer == "slices" and found["values"] == GRID[z, y, x] and found["index"] == (x, y, z)
    np.testing.assert_allclose(found["position [mm]"], (AFFINE @ (x, y, z, 1))[:3], atol=1e-4)
    np.testing.assert_allclose(session.hover.position, point, atol=0.05)


def test_the_pixel_of_an_image(session):
    for row, column in ((0, 0), (3, 4), (1, 2)):
        found = probe(session, (2 + 1.5 * ((column + 0.5) / 5 - 0.5), 1.2 * (0.5 - (row + 0.5) / 4), 0.0))
        assert session.hover.row.layer == "photo" and found["pixel"] == (column, row)
        assert found["pixels"] == PHOTO[row, column]


def test_the_row_of_a_point_and_its_scalar(session):
    for row, position in enumerate(CLOUD):
        found = probe(session, position)
        assert session.hover.row.layer == "cloud" and session.hover.row.row == row
        assert found["color"] == HEAT[row] and found["position"].tolist() == position.tolist()
        assert session.hover.position[2] == pytest.approx(0.15, abs=0.02), "on the sphere"


def test_nothing_is_there_and_nothing_is_drawn_without_need(session, monkeypatch):
    passes = []
    begin = session.gpu.recorder.render_pass

    def noted(*given, **more):
        passes.append(given)
        return begin(*given, **more)

    monkeypatch.setattr(session.gpu.recorder, "render_pass", noted)
    assert probe(session, CLOUD[0]) and passes
    passes.clear()
    run_frames(session)
    assert not passes and not session.hover.pending, "neither cursor nor camera nor tensors have changed"
    assert probe(session, (0.0, 2.0, 0.0)) == {} and session.hover.row is None
    probe(session, CLOUD[0])
    session.camera.orbit(1.0, 0.0)
    run_frames(session)
    assert session.hover.row is None, "the camera moved on"
    session.camera.orbit(-1.0, 0.0)
    run_frames(session)
    assert session.hover.row is not None
    session.carry_out(Deselect())
    assert session.hover.row is not None
    session.post(MoveProbe(None, SIZE))
    run_frames(session, 1)
    assert session.hover.row is None and session.hover.facts == []
    probe(session, CLOUD[0])
    session.carry_out(Probe(False))
    passes.clear()
    session.carry_out(SetParameter("layers.cloud", "roughness", 0.9))
    run_frames(session)
    assert not passes and session.hover.row is None
    session.carry_out(Probe(True))
