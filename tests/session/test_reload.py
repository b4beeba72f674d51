"""Files are edited while the scene runs: changes are applied, all else continues."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vertigrad import resources
from vertigrad.errors import LayoutError, ShaderError
from vertigrad.gpu import Gpu
from vertigrad.gpu import kernel as kernels
from vertigrad.headless.offscreen import FORMAT, Offscreen
from vertigrad.models.reference import neural_field as neural_field_reference
from vertigrad.renderer import pipelines
from vertigrad.renderer.layers.points import PointsLayer
from vertigrad.renderer.renderer import Renderer
from vertigrad.session import STEP, Session, hot_reload
from vertigrad.session.commands import GoTo, Play, Reload, ResetParameters, SetParameter, SetSeed, SetSubsteps
from vertigrad.session.hot_reload import HotReload
from vertigrad.session.saving import save_scene

from .projects import copied_project
from .running import LINKED, SCENE, Rising, run_frame, values

OTHER = '\n[models.other]\ntype = "rising"\n'


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of shaders and scenes to be edited, in place of the packaged ones."""
    with copied_project(tmp_path, monkeypatch) as root:
        yield root


def watched(session: Session) -> Callable[[], None]:
    """Enable file watching; return a function that lets enough time pass for an edit to be detected."""
    clock = Clock()
    session.hot_reload = HotReload(clock)
    session.hot_reload.on = True

    def pass_time() -> None:
        for _ in range(15):
            clock.now += 0.11
            session.apply()

    pass_time()
    return pass_time


@pytest.fixture
def edited(opened, tmp_path: Path):
    """Opens a session of a scene's text; `edit(text)` rewrites it and waits until that is detected."""

    def open_(text: str = SCENE, **options):
        session = opened(text, **options)
        see = watched(session)

        def edit(text: str) -> None:
            (tmp_path / "scene.toml").write_text(text)
            see()

        return session, edit

    return open_


def frames(session: Session, count: int) -> None:
    for _ in range(count):
        run_frame(session)


# the scene file -----------------------------------------------------------------------------------------------------


def test_a_value_changed_in_the_file_moves_the_slider_and_nothing_else(edited):
    session, edit = edited(SCENE.replace('"rising"', '"rising"\nheight = 1.0'))
    frames(session, 5)
    model, camera = session.stage.instances["row"].model, session.camera
    session.camera.orbit(0.3, 0.0)
    session.post(SetParameter("layers.dots", "brightness", 2.0))
    run_frame(session)
    yaw = camera.yaw
    edit(SCENE.replace('"rising"', '"rising"\nheight = 2.5'))
    assert session.messages == {}
    assert session.stage.instances["row"].params.height == 2.5
    assert session.originals()["models.row"].height == 2.5, "it is no tweak: the file has it"
    assert session.stage.instances["row"].model is model and session.frame == 6
    assert session.camera is camera and camera.yaw == yaw
    assert session.stage.layers["dots"].style.brightness == 2.0
    run_frame(session)
    assert values(session, "row.position")[0, 1] == pytest.approx(2.5 + 7 * STEP)


def test_the_view_is_taken_from_the_edited_file(edited):
    session, edit = edited(SCENE)
    edit(SCENE + "\n[view]\nexposure = 0.7\n")
    assert session.view.exposure == 0.7 and not session.unsaved


def test_an_edited_parameter_stays_and_the_value_in_the_file_is_reported(edited):
    session, edit = edited(SCENE)
    session.post(SetParameter("models.row", "height", 3.0))
    session.post(SetParameter("view", "exposure", 1.5))
    run_frame(session)
    edit(SCENE.replace("size = 0.1", "size = 0.3"))
    assert session.stage.instances["row"].params.height == 3.0
    assert session.view.exposure == 1.5
    edit(SCENE.replace('"rising"', '"rising"\nheight = 0.5') + "\n[view]\nexposure = 0.7\n")
    assert session.stage.instances["row"].params.height == 3.0
    assert session.view.exposure == 1.5
    assert session.unsaved
    assert "models.row.height: 3.0 here, 0.5 in the file" in session.messages["edits"]
    assert "view.exposure: 1.5 here, 0.7 in the file" in session.messages["edits"]
    session.post(ResetParameters())
    run_frame(session)
    assert (session.stage.instances["row"].params.height, session.view.exposure) == (0.5, 0.7), "as the file has them"
    assert not session.unsaved


def test_a_value_that_reshapes_rebuilds_only_that_model(edited):
    session, edit = edited(LINKED + OTHER)
    frames(session, 3)
    other = session.stage.instances["other"].model
    edit(LINKED.replace('"rising"', '"rising"\ncount = 20') + OTHER)
    run_frame(session)
    assert session.stage.instances["other"].model is other
    assert values(session, "other.phase")[0] == pytest.approx(4 * STEP)
    assert values(session, "row.phase").shape == (20,)
    assert values(session, "late.position")[0, 1] == pytest.approx(-2.0 * STEP)
    assert session.time == pytest.approx(4 * STEP), "time continues"


def test_models_and_layers_are_added_and_removed(edited, steady: Gpu):
    session, edit = edited(SCENE)
    frames(session, 4)
    row, dots = session.stage.instances["row"].model, session.stage.layers["dots"]
    live = len(steady.tracker.live)
    edit(SCENE + OTHER + '\n[layers.more]\ntype = "points"\nposition = "other.position"\n')
    assert list(session.stage.instances) == ["row", "other"] and list(session.stage.layers) == ["dots", "more"]
    assert session.stage.instances["row"].model is row and session.stage.layers["dots"] is dots
    run_frame(session)
    edit(SCENE)
    assert list(session.stage.instances) == ["row"] and list(session.stage.layers) == ["dots"]
    assert session.stage.instances["row"].model is row
    steady.wait_idle()
    assert len(steady.tracker.live) == live
    run_frame(session)
    assert values(session, "row.phase")[0] == pytest.approx(6 * STEP)


def test_a_model_of_another_type_or_seed_or_input_is_rebuilt(edited):
    session, edit = edited(LINKED)
    frames(session, 2)
    row, echo = session.stage.instances["row"].model, session.stage.instances["echo"].model
    edit(LINKED.replace('"rising"', '"rising"\nseed = 4'))
    assert session.stage.instances["row"].model is not row
    assert session.stage.instances["echo"].model is not echo, "it takes what that gives"
    assert session.stage.instances["row"].model.seed == 4
    echo = session.stage.instances["echo"].model
    again = LINKED.replace('"rising"', '"rising"\nseed = 4')
    edit(again.replace('source = "echo.position"', 'source = "row.position"'))
    assert session.stage.instances["echo"].model is echo
    run_frame(session)
    assert values(session, "late.position")[1].tolist() == pytest.approx((-values(session, "row.position")[1]).tolist())


def test_a_layer_with_another_source(edited):
    session, edit = edited(LINKED)
    dots = session.stage.layers["dots"]
    edit(LINKED.replace('position = "row.position"', 'position = "echo.position"'))
    assert session.stage.layers["dots"] is dots
    echo = session.stage.instances["echo"].outputs["position"]
    assert dots.report()["position"]["block"] == echo.block.id


def test_seed_and_substeps_that_the_user_changed_stay_and_those_of_the_file_are_reported(edited):
    session, edit = edited(SCENE)
    session.post(SetSeed(9))
    session.post(SetSubsteps("row", 3))
    run_frame(session)
    edit(SCENE.replace("size = 0.1", "size = 0.2"))
    assert session.stage.instances["row"].substeps == 3
    assert session.stage.instances["row"].model.seed == 9
    model = session.stage.instances["row"].model
    edit(SCENE.replace('"rising"', '"rising"\nsubsteps = 2\nseed = 4'))
    assert session.stage.instances["row"].substeps == 3
    assert session.stage.instances["row"].model is model, "nothing is to be built for another seed that is not used"
    assert "models.row.seed: 9 here, 4 in the file" in session.messages["edits"]
    assert "models.row.substeps: 3 here, 2 in the file" in session.messages["edits"]
    session.post(SetParameter("models.row", "count", 9))
    run_frame(session)
    assert session.stage.instances["row"].model.seed == 9
    assert session.stage.instances["row"].substeps == 3


def test_a_broken_file_changes_nothing_and_is_reported_until_it_is_fixed(edited, steady: Gpu):
    session, edit = edited(LINKED)
    frames(session, 2)
    before = {name: instance.model for name, instance in session.stage.instances.items()}
    live = len(steady.tracker.live)
    edit(LINKED.replace("gain = -1.0", "gain = minus"))
    assert "scene.toml:14" in session.messages["scene"]
    edit(LINKED.replace("gain", "gian"))
    assert 'did you mean "gain"' in session.messages["scene"]
    run_frame(session)
    assert {name: instance.model for name, instance in session.stage.instances.items()} == before
    assert len(steady.tracker.live) == live
    edit(LINKED)
    assert session.messages == {}
    assert {name: instance.model for name, instance in session.stage.instances.items()} == before
    assert session.frame == 3


def test_a_scene_that_cannot_be_built_or_bound_changes_nothing(edited, steady: Gpu, monkeypatch):
    bind = PointsLayer.bind

    def refuse(layer, attributes):
        if layer.name == "echoes" and attributes["position"].shape[0] == 20:
            raise LayoutError("not these")
        bind(layer, attributes)

    session, edit = edited(LINKED)
    frames(session, 2)
    before = dict(session.stage.instances), dict(session.stage.layers), session.scene
    steady.wait_idle()
    live = len(steady.tracker.live)
    edit(LINKED.replace('"rising"', '"rising"\ncount = 20\nforbidden = 20') + OTHER)
    assert "not with 20 points" in session.messages["scene"]
    assert (dict(session.stage.instances), dict(session.stage.layers), session.scene) == before
    monkeypatch.setattr(PointsLayer, "bind", refuse)
    edit(LINKED.replace('"rising"', '"rising"\ncount = 20') + OTHER)
    assert "not these" in session.messages["scene"]
    assert (dict(session.stage.instances), dict(session.stage.layers), session.scene) == before
    assert all(not tensor._closed_in > 0 for tensor in session.stage.instances["row"].outputs.values())
    monkeypatch.setattr(PointsLayer, "bind", bind)
    edit(LINKED)
    steady.wait_idle()
    assert session.messages == {}
    assert len(steady.tracker.live) == live
    run_frame(session)
    assert values(session, "late.position")[0, 1] == pytest.approx(-2.0 * 3 * STEP)


def test_a_symbolic_link_to_another_file_is_an_edit(opened, tmp_path: Path):
    link, one = tmp_path / "link.toml", tmp_path / "one.toml"
    two = tmp_path / "two.toml"
    one.write_text(SCENE)
    two.write_text(SCENE.replace("size = 0.1", "roughness = 0.3"))
    link.symlink_to(one)
    with Session(opened().gpu, link) as session:
        see = watched(session)
        session.post(SetParameter("models.row", "height", 3.0))
        run_frame(session)
        link.unlink()
        link.symlink_to(two)
        see()
        assert session.scene.path == two and session.stage.layers["dots"].style.roughness == 0.3
        assert session.stage.instances["row"].params.height == 3.0 and session.unsaved and not session.messages
        one.write_text("nonsense")
        see()
        assert not session.messages, "that is not the scene any more"
        two.write_text(SCENE.replace("size = 0.1", "roughness = 0.4"))
        see()
        assert session.stage.layers["dots"].style.roughness == 0.4


def test_saving_is_not_detected_as_an_edit(edited, tmp_path: Path):
    """The slider may have moved since then: the saved value must not reset it."""
    session, edit = edited(SCENE)
    session.post(SetParameter("models.row", "height", 1.0))
    run_frame(session)
    save_scene(session)
    session.post(SetParameter("models.row", "height", 2.0))
    session.post(Play(False))
    run_frame(session)
    edit((tmp_path / "scene.toml").read_text())
    assert session.clock.idle, "nothing is to be done for it"
    assert session.stage.instances["row"].params.height == 2.0
    assert session.unsaved


def test_seed_and_substeps_are_saved_with_the_scene(edited, tmp_path: Path):
    session, _ = edited(SCENE)
    session.post(SetSeed(9))
    session.post(SetSubsteps("row", 3))
    run_frame(session)
    assert session.unsaved
    save_scene(session)
    assert not session.unsaved
    written = (tmp_path / "scene.toml").read_text()
    assert "seed = 9" in written and "substeps = 3" in written
    session.post(Reload(restart=True))
    run_frame(session)
    assert (session.stage.instances["row"].model.seed, session.stage.instances["row"].substeps) == (9, 3)


def test_restart_rebuilds_everything(edited):
    session, _ = edited(LINKED)
    frames(session, 3)
    before = dict(session.stage.instances)
    session.post(Reload(restart=True))
    run_frame(session)
    assert not set(before.values()) & set(session.stage.instances.values())
    assert session.frame == 1
    session.post(Reload())
    built = Rising.built
    run_frame(session)
    assert Rising.built == built and session.frame == 2


def test_files_are_watched_only_if_enabled(opened, tmp_path: Path):
    session = opened()
    see = watched(session)
    session.hot_reload.on = False
    (tmp_path / "scene.toml").write_text("nonsense")
    see()
    assert session.messages == {}


# shaders ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def galaxy(steady: Gpu, project: Path):
    with Session(steady, project / "scenes" / "nbody.toml", ["galaxy.count=64"]) as session:
        yield session


def edit_shader(project: Path, name: str, *changes: tuple[str, str], see: Callable[[], None]) -> Path:
    path = project / "shaders" / name
    text = path.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    see()
    return path


STILL = ("drifting[i].xyz + velocity * params.dt", "drifting[i].xyz + velocity * 0.0")


def test_an_edited_kernel_continues_with_the_current_state(galaxy, project):
    see = watched(galaxy)
    frames(galaxy, 4)
    model, before = galaxy.stage.instances["galaxy"].model, values(galaxy, "galaxy.position")
    blocks = [tensor.block.id for tensor in model.state().values()]
    edit_shader(project, "models/nbody.wgsl", STILL, see=see)
    assert galaxy.messages == {}
    velocity = values(galaxy, "galaxy.velocity")
    frames(galaxy, 3)
    assert galaxy.stage.instances["galaxy"].model is model and galaxy.frame == 7
    assert np.array_equal(values(galaxy, "galaxy.position"), before), "bodies stand still now"
    assert not np.array_equal(values(galaxy, "galaxy.velocity"), velocity)
    assert [tensor.block.id for tensor in model.state().values()] == blocks
    edit_shader(project, "models/nbody.wgsl", STILL[::-1], see=see)
    frames(galaxy, 1)
    assert not np.array_equal(values(galaxy, "galaxy.position"), before)


def test_an_edited_kernel_is_untrusted_until_it_is_restored(galaxy, project, monkeypatch):
    compiled: list[bool] = []
    module = kernels._module
    monkeypatch.setattr(kernels, "_module", lambda *arguments: compiled.append(arguments[3]) or module(*arguments))
    see = watched(galaxy)
    edit_shader(project, "models/nbody.wgsl", STILL, see=see)
    assert compiled and not any(compiled)
    compiled.clear()
    edit_shader(project, "models/nbody.wgsl", STILL[::-1], see=see)
    frames(galaxy, 2)
    assert compiled and all(compiled)


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("let i = id.x +", "let i = id.q +", "invalid"),
        ("    dt: f32,", "    dt: f32;", "expected"),
        ("let velocity = velocities[i].xyz +", "let velocity = velocitys[i].xyz +", "no definition in scope"),
        ("//% for i in range(EACH)", "//% for i in range(EACHES)", "not given"),
        ("//% for i in range(EACH)", "//% for i in", "Expected"),
    ],
)
def test_a_broken_kernel_is_reported_with_file_and_line_and_the_last_good_one_continues(
    galaxy, project, old, new, message
):
    see = watched(galaxy)
    frames(galaxy, 2)
    path = project / "shaders" / "models" / "nbody.wgsl"
    line = path.read_text()[: path.read_text().index(old)].count("\n") + 1
    edit_shader(project, "models/nbody.wgsl", (old, new), see=see)
    assert galaxy.messages["shaders"].startswith(f"shaders/models/nbody.wgsl:{line}:")
    assert message in galaxy.messages["shaders"]
    before = values(galaxy, "galaxy.position")
    frames(galaxy, 2)
    assert galaxy.frame == 4 and not np.array_equal(values(galaxy, "galaxy.position"), before)
    galaxy.post(SetParameter("models.galaxy", "count", 40))
    run_frame(galaxy)
    assert galaxy.messages.keys() == {"shaders"}, "other kernels are compiled from the last good text"
    edit_shader(project, "models/nbody.wgsl", (new, old), see=see)
    assert galaxy.messages == {}


def test_a_kernel_that_no_longer_matches_its_model_is_rejected(galaxy, project):
    see = watched(galaxy)
    edit_shader(project, "models/nbody.wgsl", ("    dt: f32,", "    dt: f32,\n    drag: f32,"), see=see)
    assert "drag" in galaxy.messages["shaders"]
    edit_shader(project, "models/nbody.wgsl", ("    drag: f32,\n", ""), see=see)
    assert galaxy.messages == {}
    change = ("var<storage, read_write> energies", "var<storage, read_write> heat")
    edit_shader(project, "models/nbody.wgsl", change, ("energies[i]", "heat[i]"), see=see)
    assert "energies" in galaxy.messages["shaders"] and "heat" in galaxy.messages["shaders"]
    frames(galaxy, 2)


def test_two_files_that_depend_on_each_other(galaxy, project):
    """Saved one after the other: the first is wrong until the second is there."""
    see = watched(galaxy)
    use = ("struct Params {", '//% include "common/drift.wgsl"\n\nstruct Params {')
    drift = project / "shaders" / "common" / "drift.wgsl"
    drift.write_text("// In: nothing.\n")
    edit_shader(project, "models/nbody.wgsl", use, ("velocity * params.dt", "moved(velocity, params.dt)"), see=see)
    assert "moved" in galaxy.messages["shaders"]
    drift.write_text("fn moved(v: vec3f, t: f32) -> vec3f { return v * t; }\n")
    see()
    assert galaxy.messages == {}
    before = values(galaxy, "galaxy.position")
    drift.write_text("fn moved(v: vec3f, t: f32) -> vec3f { return v * u; }\n")
    see()
    assert "shaders/common/drift.wgsl:1" in galaxy.messages["shaders"], "an included file is looked after, too"
    drift.write_text("fn moved(v: vec3f, t: f32) -> vec3f { return v * t * 0.0; }\n")
    see()
    frames(galaxy, 2)
    assert galaxy.messages == {}
    assert np.array_equal(values(galaxy, "galaxy.position"), before)


def test_rewinding_before_an_edit_restores_snapshots_without_recomputing(galaxy, project):
    galaxy.clock.set_rewind_memory(1 << 24)
    see = watched(galaxy)
    frames(galaxy, 5)
    third = values(galaxy, "galaxy.position")
    frames(galaxy, 1)
    edit_shader(project, "models/nbody.wgsl", STILL, see=see)
    frames(galaxy, 4)
    galaxy.post(GoTo(5))
    galaxy.apply()
    assert galaxy.frame == 5
    assert np.array_equal(values(galaxy, "galaxy.position"), third)
    galaxy.post(Play(True))
    frames(galaxy, 1)
    assert np.array_equal(values(galaxy, "galaxy.position"), third), "the new code continues from there"


def test_frames_before_an_edit_without_a_snapshot_are_not_recomputed_by_other_code(galaxy, project):
    state = galaxy.stage.instances["galaxy"].model.state()
    galaxy.clock.set_rewind_memory(33 * sum(tensor.block.capacity for tensor in state.values()))
    was = {}
    for _ in range(60):
        run_frame(galaxy)
        was[galaxy.frame] = values(galaxy, "galaxy.position")
    see = watched(galaxy)
    edit_shader(project, "models/nbody.wgsl", STILL, see=see)
    missing = next(frame for frame in range(20, 60) if frame not in list(galaxy.clock.rewind.snapshots))
    galaxy.post(GoTo(missing))
    galaxy.apply()
    assert galaxy.frame < missing and galaxy.frame in list(galaxy.clock.rewind.snapshots)
    run_frame(galaxy)
    assert np.array_equal(values(galaxy, "galaxy.position"), was[galaxy.frame])


def test_an_edit_after_a_rewind_discards_later_frames(galaxy, project):
    galaxy.clock.set_rewind_memory(1 << 24)
    see = watched(galaxy)
    frames(galaxy, 6)
    galaxy.post(GoTo(3))
    run_frame(galaxy)
    assert galaxy.clock.rewind.last == 6
    edit_shader(project, "models/nbody.wgsl", STILL, see=see)
    assert galaxy.clock.rewind.last == 3 and list(galaxy.clock.rewind.snapshots)[-1] == 3


def test_an_edited_kernel_copies_shared_blocks_on_write(galaxy, project):
    see = watched(galaxy)
    frames(galaxy, 2)
    edit_shader(project, "models/nbody.wgsl", ("// Gravitating", "// gravitating"), see=see)
    frames(galaxy, 1)
    with galaxy.stage.instances["galaxy"].outputs["position"].clone() as clone:
        before = clone.numpy()
        frames(galaxy, 2)
        assert np.array_equal(clone.numpy(), before)
        assert not np.array_equal(values(galaxy, "galaxy.position"), before)


def make_red(path: Path) -> None:
    text = path.read_text()
    body = text.index("{\n", text.index("fn post_processed")) + 2
    path.write_text(text[:body] + "    if true { return vec4f(1.0, 0.0, 0.0, 1.0); }\n" + text[body:])


def test_a_file_that_compiles_for_drawing_only_is_an_error(steady: Gpu, project, monkeypatch):
    def refuse(files):
        raise ShaderError("not these")

    with Session(steady, project / "scenes" / "nbody.toml", ["galaxy.count=64"]) as session:
        session.post(Play(False))
        renderer, offscreen = Renderer(steady, FORMAT), Offscreen(steady, (64, 48))
        first = image(session, renderer, offscreen)
        see = watched(session)
        monkeypatch.setattr(hot_reload, "replace_kernels", refuse)
        make_red(project / "shaders" / "draw" / "post_process.wgsl")
        see()
        assert session.messages == {"shaders": "not these"}
        assert np.array_equal(image(session, renderer, offscreen), first)


def test_a_paused_model_shows_the_edit(steady: Gpu, project):
    with Session(steady, project / "scenes" / "neural_field.toml", ["terrain.resolution=8"]) as session:
        session.post(Play(False))
        see = watched(session)
        run_frame(session)
        before = values(session, "terrain.elevation")
        edit_shader(
            project, "models/neural_field.wgsl", ("params.metres_per_unit", "2.0 * params.metres_per_unit"), see=see
        )
        assert session.messages == {}
        assert not session.idle
        run_frame(session)
        assert not np.array_equal(values(session, "terrain.elevation"), before)
        assert session.frame == 0 and session.idle


def image(session: Session, renderer: Renderer, offscreen: Offscreen) -> np.ndarray:
    taken: list[np.ndarray] = []
    with session.gpu.frames.frame():
        session.apply()
        session.advance()
        session.draw(renderer, offscreen.view, offscreen.size)
        offscreen.read(lambda pixels: taken.append(pixels.copy()))
    session.gpu.sync()
    while not taken:
        session.gpu.poll()
    return taken[0]


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("name", "good", "broken"),
    [
        ("draw/points.wgsl", "fn solid_fragment(", "fn solid_fragments("),
        ("draw/points.wgsl", "fn distant_vertex(", "fn distant_vertices("),
        ("draw/post_process.wgsl", "fn post_processed(", "fn post_process("),
        ("draw/bloom.wgsl", "fn shrink(", "fn shrunk("),
        ("common/fullscreen.wgsl", "vec4f(", "vec4q("),
    ],
)
def test_draw_shaders_are_edited_too(steady: Gpu, project, name, good, broken):
    with Session(steady, project / "scenes" / "nbody.toml", ["galaxy.count=64"]) as session:
        session.post(Play(False))
        renderer, offscreen = Renderer(steady, FORMAT), Offscreen(steady, (64, 48))
        first = image(session, renderer, offscreen)
        see = watched(session)
        edit_shader(project, name, (good, broken), see=see)
        assert f"shaders/{name}" in session.messages["shaders"]
        assert np.array_equal(image(session, renderer, offscreen), first)
        edit_shader(project, name, (broken, good), see=see)
        assert session.messages == {}
        assert np.array_equal(image(session, renderer, offscreen), first)


def test_an_edited_image_is_shown(steady: Gpu, project):
    with Session(steady, project / "scenes" / "nbody.toml", ["galaxy.count=64"]) as session:
        session.post(Play(False))
        renderer, offscreen = Renderer(steady, FORMAT), Offscreen(steady, (64, 48))
        first = image(session, renderer, offscreen)
        see = watched(session)
        path = project / "shaders" / "draw" / "post_process.wgsl"
        text = path.read_text()
        make_red(path)
        see()
        assert session.messages == {}
        assert (image(session, renderer, offscreen)[:, :, :3] == [255, 0, 0]).all()
        path.write_text(text)
        see()
        assert np.array_equal(image(session, renderer, offscreen), first)


def test_shaders_are_edited_of_which_only_pipelines_in_use_are_left(steady: Gpu, project):
    """All else that was created from them was dropped from the cache, for what was used later."""

    def drop_all() -> None:
        for number in range(pipelines.CACHED):
            pipelines.draw_cache(steady).get(("another", number), object)

    name, good, broken = "draw/post_process.wgsl", "fn post_processed(", "fn post_process("
    with Session(steady, project / "scenes" / "nbody.toml", ["galaxy.count=64"]) as session:
        session.post(Play(False))
        renderer, offscreen = Renderer(steady, FORMAT), Offscreen(steady, (64, 48))
        first = image(session, renderer, offscreen)
        see = watched(session)
        drop_all()
        edit_shader(project, name, (good, broken), see=see)
        assert f"shaders/{name}" in session.messages["shaders"]
        assert np.array_equal(image(session, renderer, offscreen), first)
        edit_shader(project, name, (broken, good), see=see)
        assert session.messages == {} and np.array_equal(image(session, renderer, offscreen), first)
        drop_all()
        make_red(project / "shaders" / name)
        see()
        assert session.messages == {}
        assert (image(session, renderer, offscreen)[:, :, :3] == [255, 0, 0]).all()


# weights ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def terrain(steady: Gpu, tmp_path: Path):
    """A paused session whose weights are in the scene's folder."""
    shutil.copy(resources.path("scenes", "neural_field.toml"), tmp_path / "scene.toml")
    weights = tmp_path / "weights.safetensors"
    shutil.copy(resources.path("assets", "weights", "neural_field.safetensors"), weights)
    text = (tmp_path / "scene.toml").read_text()
    (tmp_path / "scene.toml").write_text(
        text.replace("resolution = 224", 'resolution = 12\nweights = "weights.safetensors"')
    )
    with Session(steady, tmp_path / "scene.toml") as session:
        session.post(Play(False))
        run_frame(session)
        yield session, weights


def rewrite(weights: Path, scale: float, **metadata: str) -> None:
    from safetensors import safe_open
    from safetensors.numpy import save_file

    with safe_open(weights, "numpy") as file:
        metadata_ = {**file.metadata(), **metadata}
        tensors = {name: file.get_tensor(name) * np.float32(scale) for name in file.keys()}  # noqa: SIM118
    save_file(tensors, weights, metadata_)


def test_weights_are_uploaded_into_the_existing_tensors(terrain, steady: Gpu):
    session, weights = terrain
    see = watched(session)
    model = session.stage.instances["terrain"].model
    block, before = model._weights.block, values(session, "terrain.elevation")
    frames(session, 2)
    rewrite(weights, 0.5)
    see()
    run_frame(session)
    assert session.messages == {}
    assert session.stage.instances["terrain"].model is model
    assert model._weights.block is block
    after = values(session, "terrain.elevation")
    assert not np.array_equal(after, before)
    reference = model.compare_with_reference()
    assert all(found.holds for found in reference), [str(found) for found in reference]


def test_a_broken_file_of_weights_keeps_the_old_ones(terrain):
    session, weights = terrain
    see = watched(session)
    before, good = values(session, "terrain.elevation"), weights.read_bytes()
    weights.write_bytes(good[:100])
    see()
    assert str(weights) in session.messages[f"file {weights}"]
    run_frame(session)
    assert np.array_equal(values(session, "terrain.elevation"), before)
    weights.write_bytes(good)
    see()
    assert session.messages == {}


def test_weights_of_other_shapes_rebuild_the_model(terrain):
    session, weights = terrain
    see = watched(session)
    model = session.stage.instances["terrain"].model
    field = neural_field_reference.load(weights)
    rewrite(weights, 1.0, activation="relu" if field.activation == "sine" else "sine")
    see()
    run_frame(session)
    assert session.messages == {}
    assert session.stage.instances["terrain"].model is not model
    assert all(found.holds for found in session.stage.instances["terrain"].model.compare_with_reference())
