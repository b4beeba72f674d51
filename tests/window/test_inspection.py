"""The panels that inspect a run, in a GUI without a window: input is sent to ImGui directly."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from imgui_bundle import imgui, implot

from vertigrad import ops, resources
from vertigrad.gpu import Gpu, Traffic
from vertigrad.headless.offscreen import FORMAT, Offscreen
from vertigrad.memory import State
from vertigrad.ops.summary import Condition
from vertigrad.panels import Gui, graph, memory, performance, plot_cells, plots, tables, traffic, watch
from vertigrad.panels.base import Panel
from vertigrad.session import Session
from vertigrad.session.commands import AddWatch, InspectTensor, SetParameter
from vertigrad.session.inspector import TensorRange
from vertigrad.session.watches import Watch
from vertigrad.tensor import Tensor

TITLES = ("Performance", "Memory", "Tensors", "Watch", "Graph")
WIDE, SMALL = (1280, 800), (420, 640)


class Desk:
    """A session and its GUI; frames run when the test says so. `positions`: the center of each item that was drawn."""

    def __init__(self, gpu: Gpu, session: Session, size: tuple[int, int], scale: float):
        self.gpu, self.session, self.size, self.scale = gpu, session, size, scale
        self.gui = Gui(gpu, FORMAT, scale)
        self.offscreen = Offscreen(gpu, size)
        self.rects: dict[str, tuple[float, float]] = {}
        self.open()

    def open(self, *titles: str) -> None:
        for title in self.gui.workspace.opened:
            self.gui.workspace.opened[title] = title in titles

    def panel(self, title: str) -> Panel:
        return next(panel for panel in self.gui._panels if panel.title == title)

    def frames(self, count: int = 4) -> None:
        line = self.session.timeline
        for _ in range(count):
            line.begin()
            with self.gpu.frames.frame():
                line.enter("input")
                self.session.apply()
                line.enter("step")
                self.session.advance()
                self.session.request_readbacks()
                line.enter("gui")
                self.gui.build(self.session, self.size, 0.6, self.scale)
                self.gui.draw(self.offscreen.view)
            line.end()

    def run_frames(self, count: int = 20) -> None:
        """Run frames until readbacks have arrived and are displayed."""
        for _ in range(count):
            self.frames(1)
            self.gpu.sync()
            while self.gpu.readback.in_flight:
                self.gpu.poll()

    def click(self, what: str | tuple[float, float]) -> None:
        x, y = self.rects[what] if isinstance(what, str) else what
        io = self.gui.io
        io.add_mouse_pos_event(x, y)
        self.frames(2)
        for down in (True, False):
            io.add_mouse_button_event(0, down)
            self.frames(2)
        io.add_mouse_pos_event(-1.0, -1.0)
        self.frames(2)


@pytest.fixture
def desk(steady: Gpu, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Desk]]:
    """Open a session with its GUI; displayed numbers are updated in every frame."""
    monkeypatch.setattr(tables, "EVERY", 0.0)
    desks: list[Desk] = []

    def open_(
        *titles: str, scene: str = "nbody", sets: tuple[str, ...] = (), size: tuple[int, int] = WIDE, scale: float = 1.0
    ) -> Desk:
        small = {"nbody": ["galaxy.count=512", "view.bloom=0"], "neural_field": ["terrain.resolution=8"]}[scene]
        session = Session(steady, resources.path("scenes", f"{scene}.toml"), [*small, *sets])
        built = Desk(steady, session, size, scale)
        desks.append(built)
        for name in ("button", "small_button", "checkbox", "selectable", "table_header"):
            monkeypatch.setattr(imgui, name, noting(getattr(imgui, name), built.rects))
        built.open(*titles)
        built.frames()
        return built

    yield open_
    for built in desks:
        built.session.close()
        built.gui.close()


def noting(draw: Callable, positions: dict[str, tuple[float, float]]) -> Callable:
    """Draw as before, and record the position."""

    def drawn(label: str, *more: object):
        result = draw(label, *more)
        low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
        positions[label.split("  ")[-1]] = (low.x + high.x) / 2, (low.y + high.y) / 2
        return result

    return drawn


# every panel --------------------------------------------------------------------------------------------------------


@pytest.mark.turns(3)
@pytest.mark.parametrize("title", TITLES)
@pytest.mark.parametrize(
    ("size", "scale"), [(WIDE, 1.0), (SMALL, 1.0), (SMALL, 2.0), ((1900, 900), 2.5), ((90, 60), 1.0)]
)
def test_every_panel_can_be_drawn_at_any_size(desk, title: str, size: tuple[int, int], scale: float):
    one = desk(title, size=size, scale=scale)
    one.session.post(InspectTensor(TensorRange("galaxy.position", 0, 40, column=2)))
    one.session.post(AddWatch(Watch("galaxy.speed", "max", Condition(above=1e6))))
    one.frames(12)
    with one.session.stage.instances["galaxy"].outputs["position"][3] as row:
        ops.assign(row, math.nan)
    one.session.watches.thorough = True
    one.run_frames(6)
    assert one.session.watches.alarm is not None
    assert title in one.gui.workspace.visible_panels or size[0] < 100


@pytest.mark.turns(2)
@pytest.mark.parametrize("title", TITLES)
def test_every_panel_works_after_a_scene_change_and_a_rebuild(desk, title: str, tmp_path: Path):
    one = desk(title)
    one.session.post(InspectTensor(TensorRange("galaxy.star_speed", 0, 40, column=0)))
    one.run_frames(4)
    one.session.post(SetParameter("models.galaxy", "count", 64))
    one.run_frames(4)
    other = resources.path("scenes", "neural_field.toml").read_text("utf-8")
    (tmp_path / "other.toml").write_text(other.replace("resolution = 224", "resolution = 8"), "utf-8")
    one.session.reload(tmp_path / "other.toml")
    one.run_frames(4)
    assert list(one.session.stage.instances) == ["terrain"] and title in one.gui.workspace.visible_panels


def test_panels_without_data_are_empty(desk):
    one = desk(*TITLES)
    for title in TITLES:
        one.gui.workspace.show(title)
        one.frames(2)
    assert one.session.inspector.target is None


@pytest.mark.turns(2)
@pytest.mark.bench
@pytest.mark.parametrize("title", TITLES)
def test_panels_are_cheap(steady: Gpu, title: str):
    """A panel takes at most eight times as long as the menu, the tool bar and the image without panels."""
    session = Session(steady, resources.path("scenes", "nbody.toml"), ["galaxy.count=512"])
    one = Desk(steady, session, WIDE, 1.0)
    session.post(InspectTensor(TensorRange("galaxy.position", 0, 127, column=1)))
    for statistic in ("min", "max", "norm"):
        session.post(AddWatch(Watch("galaxy.speed", statistic)))
    times: dict[bool, list[float]] = {False: [], True: []}
    gc.disable()
    for shown in [False, True] * 20:
        one.open(*([title] if shown else []))
        one.frames(3)
        for _ in range(5):
            begun = time.thread_time()
            one.gui.build(session, WIDE, 1 / 60, 1.0)
            times[shown].append(time.thread_time() - begun)
    gc.enable()
    session.close()
    one.gui.close()
    without, with_it = (1e3 * min(times[shown]) for shown in (False, True))
    print(f"\n{title}: {with_it - without:.2f} ms to build")
    assert with_it - without < 8.0 * without


# performance --------------------------------------------------------------------------------------------------------


def test_percentiles_are_those_of_the_last_frames(desk):
    one = desk()
    for ms in range(1, 101):
        one.session.timeline.wait_ms.append(float(ms))
    one.session.timeline.wait_ms.clear()
    for ms in range(1, 101):
        one.session.timeline.wait_ms.append(float(ms))
    rows = performance.measurements(one.session).rows
    assert rows["wait"] == ["50.50", "95.05", "99.01"]
    assert list(rows) == ["frame", "CPU", "compute", "draw", "present", "wait"]


def test_dropped_frames_are_shown_if_there_is_a_target(desk):
    one = desk()
    assert performance.measurements(one.session).dropped == "–"
    one.session.timeline.refresh_ms, one.session.timeline.dropped, one.session.timeline.shown = 16.7, 5, 95
    shown = performance.measurements(one.session)
    assert (shown.dropped, shown.late) == ("5 · 5.0%", True)


def test_kernels_are_timed_while_enabled(desk, steady: Gpu, monkeypatch: pytest.MonkeyPatch):
    if not steady.timer.available:
        pytest.skip("no timestamp queries here")
    monkeypatch.setattr(steady.timer, "enabled", True)
    steady.timer.submissions.clear()
    one = desk("Performance")
    one.run_frames(3)
    assert not any(group.kernel for group in performance.measurements(one.session).groups)
    one.click("per kernel")
    one.run_frames(3)
    shown = performance.measurements(one.session).groups
    at = [group.name for group in shown].index("galaxy.step")
    assert [(group.name, group.kernel) for group in shown[at + 1 : at + 3]] == [
        ("nbody:drift", True),
        ("nbody:kick", True),
    ]
    assert sum(group.fraction for group in shown if not group.kernel) == pytest.approx(1.0)
    one.click("per kernel")
    assert not steady.timer.each_kernel


def test_a_click_writes_a_trace(desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    one = desk("Performance")
    one.frames(3)
    one.click("Export trace")
    assert [path.name for path in tmp_path.iterdir()] == ["nbody-trace.json"]


# memory -------------------------------------------------------------------------------------------------------------


def test_blocks_are_sorted_and_found(desk, steady: Gpu):
    desk()
    blocks = steady.tracker.blocks.values()
    titles = [name for name, *_ in memory.COLUMNS]
    by_bytes = memory.lines(blocks, "", titles.index("bytes"), True)
    expected = sorted((block.nbytes for block in blocks), reverse=True)
    assert [line.texts[titles.index("bytes")] for line in by_bytes] == [tables.size(nbytes) for nbytes in expected]
    names = [line.texts[:2] for line in memory.lines(blocks, "GALAXY.ACC", 0, False)]
    assert ("galaxy", "accelerations") in names
    assert all(owner == "galaxy" and tensor.startswith("accelerations") for owner, tensor in names)  # snapshots too
    assert memory.parts("a.b.c") == ("a", "b.c") and memory.parts("") == memory.parts("–")
    assert {line.state for line in memory.lines(blocks, "live", 0, False)} >= {State.LIVE}
    for order in range(len(titles)):
        assert len(memory.lines(blocks, "", order, order % 2 == 0)) == len(blocks)


def test_free_blocks_are_counted_by_size(desk, steady: Gpu):
    one = desk()
    for size in (1000, 1000, 70_000):
        Tensor.zeros(size).close()
    steady.wait_idle()
    classes = memory.free_classes(one.session)
    assert sum(capacity * number for capacity, number in classes.items()) == steady.pool.free_bytes
    assert list(classes) == sorted(classes, reverse=True)


def test_bytes_of_a_frame_by_kind_and_direction(desk):
    one = desk()
    frame_traffic = traffic.FrameTraffic()
    frame_traffic.update(one.session)
    one.frames(4)
    frame_traffic.update(one.session)
    assert frame_traffic.total(Traffic.GEOMETRY) == 0 and frame_traffic.per_frame["uniforms"]["host_to_device"] > 0
    one.session.stage.instances["galaxy"].outputs["mass"].numpy()
    one.frames(4)
    frame_traffic.update(one.session)
    extent = one.session.stage.instances["galaxy"].outputs["mass"].extent
    assert frame_traffic.per_frame["geometry"]["device_to_host"] == extent / 4 == frame_traffic.total(Traffic.GEOMETRY)
    one.session.post(SetParameter("models.galaxy", "count", 300))
    one.frames(4)
    frame_traffic.update(one.session)
    assert frame_traffic.total(Traffic.GEOMETRY) == 0, "what was loaded crosses once, not in every frame"


# tensors ------------------------------------------------------------------------------------------------------------


def test_a_click_in_the_list_looks_at_a_tensor(desk):
    one = desk("Tensors")
    one.click("speed##galaxy.speed")
    one.run_frames()
    view, result = one.session.inspector.target, one.session.inspector.result
    assert view is not None and view.tensor == "galaxy.speed" and view.first == 0 and view.last > 0
    assert result is not None and result.shape == (512,)
    assert 0 in one.session.inspector.pages


def test_rows_are_requested_when_they_become_visible(desk):
    one = desk("Tensors")
    panel = one.panel("Tensors")
    panel.show(one.session, "galaxy.position", 400)
    one.run_frames()
    view = one.session.inspector.target
    assert view.first <= 400 <= view.last and view.first > 0
    assert set(one.session.inspector.pages) == {400 // 128}


@pytest.mark.turns(2)
def test_a_click_on_a_heading_plots_its_column(desk):
    one = desk("Tensors")
    one.panel("Tensors").show(one.session, "galaxy.position")
    one.run_frames(6)
    one.click("##3")
    one.run_frames()
    assert one.session.inspector.target.column == 2
    assert one.session.inspector.result.column is not None
    one.click("##1")
    one.run_frames()
    assert one.session.inspector.target.column == 0
    one.click("##1")
    one.run_frames()
    assert one.session.inspector.target.column is None and one.session.inspector.result.column is None


def test_the_tensors_panel_freezes_exports_and_adds_watches(desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    one = desk("Tensors")
    one.panel("Tensors").show(one.session, "galaxy.speed")
    one.run_frames(6)
    one.click("freeze")
    one.run_frames()
    assert one.session.inspector.frozen_at == "galaxy.speed" and one.session.inspector.result.difference is not None
    one.click("thaw")
    assert one.session.inspector.frozen is None
    one.click(".npy")
    assert np.load(tmp_path / "galaxy.speed.npy").shape == (512,)
    one.click("watch")
    assert list(one.session.watches) == [Watch("galaxy.speed")]


# watch --------------------------------------------------------------------------------------------------------------


def test_a_watch_is_added_and_removed(desk):
    one = desk("Watch")
    one.click("watch")
    one.run_frames(6)
    (watched,) = one.session.watches
    assert watched == Watch("galaxy.position", "mean")
    assert len(watch.cells(one.session)) == 1
    (position,) = [key for key in one.rects if "Watch(" in key]
    one.click(position)
    assert not len(one.session.watches)


def test_the_guard_is_enabled_and_disabled(desk):
    one = desk("Watch")
    one.click("stop at NaN or infinity")
    assert not one.session.watches.guarding
    one.click("stop at NaN or infinity")
    assert one.session.watches.guarding


def test_an_alarm_selects_the_row(desk):
    one = desk("Watch")
    with one.session.stage.instances["galaxy"].outputs["velocity"][301] as row:
        ops.assign(row, math.inf)
    one.session.watches.thorough = True
    one.run_frames(4)
    assert not one.session.playing and one.session.watches.alarm is not None
    row = one.session.watches.alarm.row
    one.click(f"show row {row:,}")
    one.run_frames(6)
    assert "Tensors" in one.gui.workspace.visible_panels
    view = one.session.inspector.target
    assert view.tensor == one.session.watches.alarm.tensor and view.first <= row <= view.last
    one.gui.workspace.show("Watch")
    one.frames(3)
    one.click("Dismiss")
    assert one.session.watches.alarm is None


@given(st.lists(st.floats(-1e6, 1e6), max_size=5000), st.integers(0, 3))
def test_a_downsampled_line_keeps_its_ends_and_peaks(values: list[float], seed: int):
    times, array = np.arange(len(values), dtype=float), np.array(values)
    at, shown = plot_cells.thinned(times, array)
    assert len(at) == len(shown) <= 2 * plot_cells.POINTS + 10
    assert (np.diff(at) >= 0).all()
    if values:
        assert (shown.min(), shown.max()) == (array.min(), array.max())
        assert at[0] == times[0]


# graph --------------------------------------------------------------------------------------------------------------


def test_every_edge_of_the_graph_is_one_block(desk):
    one = desk("Graph")
    boxes, wires = graph.graph(one.session)
    assert [(box.title, box.column) for box in boxes] == [("galaxy", 0), ("stars", 1)]
    assert {(wire.start, wire.end) for wire in wires} == {
        ("galaxy.star_position", "> layer stars.position"),
        ("galaxy.star_speed", "> layer stars.color"),
    }
    block = one.session.stage.instances["galaxy"].outputs["star_position"].block.id
    for wire in wires:
        assert wire.same and "the same block" in wire.proof
    assert f"block {block}" in wires[0].proof
    assert len({(wire.tint.x, wire.tint.y, wire.tint.z) for wire in wires}) == 2
    used = {port.label: port.used for port in boxes[0].outputs}
    assert used["star_speed"] and not used["mass"]


def test_a_layer_that_draws_another_block_is_marked(desk, monkeypatch: pytest.MonkeyPatch):
    one = desk("Graph")
    layer = one.session.stage.layers["stars"]
    report = layer.report()
    report["position"] = {**report["position"], "block": 10_000}
    monkeypatch.setattr(layer, "report", lambda: report)
    wires = {wire.end: wire for wire in graph.graph(one.session)[1]}
    assert not wires["> layer stars.position"].same and "NOT the same block" in wires["> layer stars.position"].proof
    assert wires["> layer stars.color"].same
    one.frames(2)


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_the_mouse_is_near_a_line_within_some_points_at_any_scale(monkeypatch: pytest.MonkeyPatch, scale: float):
    monkeypatch.setattr(graph, "scale", lambda: scale)
    line = tuple(imgui.ImVec2(x, 50.0) for x in (100.0, 150.0, 250.0, 300.0))
    reach = graph.NEAR * scale
    for distance, near in ((0.0, True), (reach - 0.5, True), (reach + 0.5, False)):
        assert graph._near(imgui.ImVec2(200.0, 50.0 + distance), line) == near
        assert graph._near(imgui.ImVec2(300.0 + distance, 50.0), line) == near


def test_boxes_do_not_overlap(desk):
    one = desk("Graph")
    one.gui.io  # noqa: B018  its fonts measure the boxes
    boxes, _ = graph.graph(one.session)
    several = tuple(box._replace(column=at % 2, key=str(at)) for at, box in enumerate(boxes * 3))
    imgui.new_frame()
    placed, whole = graph.arranged(several)
    for number, one_box in enumerate(placed):
        assert one_box.corner.x >= 0 and one_box.corner.x + one_box.extent.x <= whole.x
        assert -one_box.corner.y <= whole.y / 2 and one_box.corner.y + one_box.extent.y <= whole.y / 2
        for other in placed[:number]:
            separation = (
                one_box.corner.x + one_box.extent.x <= other.corner.x
                or other.corner.x + other.extent.x <= one_box.corner.x
                or one_box.corner.y + one_box.extent.y <= other.corner.y
                or other.corner.y + other.extent.y <= one_box.corner.y
            )
            assert separation
    imgui.end_frame()


@pytest.mark.turns(2)
def test_a_click_on_an_output_opens_the_tensor(desk):
    one = desk("Graph", scene="neural_field")
    window = next(w for w in one.gui._context.windows if w.name == "Graph")
    left, top = window.pos.x + 40.0, window.pos.y
    for y in range(int(top) + 40, int(top + window.size.y), 12):
        one.click((left + 30.0, float(y)))
        if one.session.inspector.target is not None:
            break
    one.run_frames(4)
    assert one.session.inspector.target is not None
    assert one.session.inspector.target.tensor in ("terrain.position", "terrain.normal", "terrain.elevation")
    assert "Tensors" in one.gui.workspace.visible_panels


# numbers ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "written"),
    [
        *((None, "–"), (0, "0"), (1234567, "1,234,567"), (-3.0, "-3"), (0.1, "0.1"), (1 / 3, "0.33333")),
        *(
            (math.nan, "nan"),
            (math.inf, "inf"),
            (4294967295, "4,294,967,295"),
            (1.5e-12, "1.5e-12"),
            (2.5e9, "2.5e+09"),
        ),
    ],
)
def test_numbers_in_short_form(value: float | None, written: str):
    assert tables.number(value) == written


@given(st.floats(1e-12, 1e12))
def test_an_axis_ends_at_the_next_round_number(value: float):
    top = plots.nice_above(value)
    assert value * (1 - 1e-8) <= top <= 2.5 * value * (1 + 1e-8)
    assert f"{top:.0e}"[0] in "125"


def test_ends_of_an_axis():
    assert plots.ends([]) == (0.0, 1.0)
    assert plots.ends([math.nan, math.inf]) == (0.0, 1.0)
    low, high = plots.ends([2.0, math.nan, 4.0])
    assert 1.5 < low < 2.0 and 4.0 < high < 4.5
    assert plots.ends([3.0, 3.0]) == (3.0 - 0.24, 3.0 + 0.24)
    assert plots.ends([0.0])[1] == 1.0
    assert plots.ends([5.0], from_zero=True)[0] == 0.0


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[float, float]]:
    """The ends of the horizontal axis of each plot as it was drawn last, and the middle of the plot by "@name"."""
    drawn, names = dict[str, tuple[float, float]](), list[str]()
    begin, end = implot.begin_plot, implot.end_plot

    def begun(name: str, *arguments: object) -> bool:
        names.append(name.removeprefix("##"))
        return begin(name, *arguments)

    def noted() -> None:
        found, corner, size = implot.get_plot_limits().x, implot.get_plot_pos(), implot.get_plot_size()
        drawn[names[-1]] = found.min, found.max
        drawn["@" + names[-1]] = corner.x + size.x / 2, corner.y + size.y / 2
        end()

    monkeypatch.setattr(implot, "begin_plot", begun)
    monkeypatch.setattr(implot, "end_plot", noted)
    return drawn


def test_a_plot_is_zoomed_and_panned_until_a_double_click(desk, limits):
    one = desk("Performance")
    io = one.gui.io
    one.frames(8)
    assert limits["frames"] == (-performance.SHOWN, 0.0)
    x, y = limits["@frames"]
    io.add_mouse_pos_event(x, y)
    one.frames(2)
    io.add_mouse_wheel_event(0, 1)
    one.frames(4)
    assert limits["frames"] == (-performance.SHOWN, 0.0), "the wheel alone is for the panel"
    io.add_key_event(imgui.Key.mod_ctrl, True)
    io.add_mouse_wheel_event(0, 1)
    one.frames(4)
    io.add_key_event(imgui.Key.mod_ctrl, False)
    one.frames(4)
    zoomed = limits["frames"]
    assert zoomed[1] - zoomed[0] < 0.95 * performance.SHOWN
    io.add_mouse_button_event(0, True)
    one.frames(2)
    io.add_mouse_pos_event(x + 60, y)
    one.frames(2)
    io.add_mouse_button_event(0, False)
    one.frames(4)
    panned = limits["frames"]
    assert panned[0] < zoomed[0] and panned[1] - panned[0] == pytest.approx(zoomed[1] - zoomed[0])
    io.mouse_single_click_delay, io.mouse_double_click_time = 61.0, 60.0  # frames of a desk are 0.6 s apart
    for down in (True, False, True, False):
        io.add_mouse_button_event(0, down)
    one.frames(8)
    assert limits["frames"] == (-performance.SHOWN, 0.0)


def test_two_guis_plot_each_into_its_own_context(desk):
    first, second = desk("Performance"), desk("Performance")
    for _ in range(3):
        first.frames(1)
        second.frames(1)
    second.gui.close()
    first.frames(2)
    assert first.gui.workspace.visible_panels == {"Performance"}
