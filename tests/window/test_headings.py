"""Names in panels: headings of many parameters, names of picked tensors, and how the palette closes."""

from __future__ import annotations

import pytest

from vertigrad.panels import plots, run, selection
from vertigrad.panels.parameter_rows import VIEW, found, groups
from vertigrad.renderer.view import View
from vertigrad.session.commands import Play, Select

from .desktop import wait_until


def test_the_parameters_of_the_view_are_under_headings_each_once(shell):
    one = shell()
    of_view = [group for group in groups(one.session) if group.owner == "view"]
    assert [group.title for group in of_view] == [
        "view",
        "light",
        "post-processing",
        "camera",
        "annotations",
        "clipping",
    ]
    names = [row.key.name for group in of_view for row in group.rows]
    assert sorted(names) == sorted(spec.name for spec in View.specs()) and len(of_view[0].rows) <= 4
    assert {name for part in VIEW.values() for name in part} <= set(names), "a heading names what there is"
    assert all({row.key for row in group.rows} == set(group.keys) for group in of_view)
    numbers = [row.number for group in groups(one.session) for row in group.rows]
    assert len(set(numbers)) == len(numbers)
    assert [group.title for group, _ in found(groups(one.session), "shadows")] == ["light"]


def test_escape_closes_the_palette_with_any_text(shell):
    one = shell()
    one.key("Ctrl+P")
    one.type("res")
    assert one.workspace.palette
    one.key("Esc")
    assert not one.workspace.palette and not any("palette" in name for name in one.windows())
    one.key("Ctrl+P")
    assert one.workspace.palette, "and it opens again"


def test_a_picked_row_shows_the_tensor_if_its_name_differs(shell, monkeypatch):
    labels: list[str] = []
    real = selection.fact
    monkeypatch.setattr(selection, "fact", lambda label, *rest: (labels.append(label), real(label, *rest)))
    one = shell("neural_field")
    layer = next(iter(one.session.stage.layers))
    one.session.post(Select(layer, 3))
    one.frames(8)
    sources = {known.name: known.source for known in one.session.selection.facts if known.source}
    assert any(name != source.partition(".")[2] for name, source in sources.items()), "the scene has one such"
    for name, source in sources.items():
        name = name.partition(".")[2] or name
        assert (f"{name} ({source})" if source.partition(".")[2] != name else name) in labels


def test_the_run_panel_shows_steps_per_second_at_any_frame_rate(shell, monkeypatch):
    """Three steps in each frame of a tenth of a second, and then a pause."""
    one, shown = shell(), dict[str, str]()
    real = run.fact
    monkeypatch.setattr(
        run, "fact", lambda label, *rest, **more: (shown.update({label: rest[0]}), real(label, *rest, **more))
    )
    session = one.session
    session.set_pacing({"steps": 3})

    def frames(count: int) -> None:
        for _ in range(count):
            with one.gpu.frames.frame():
                session.apply()
                session.advance()
                one.gui.build(session, one.size, 0.1)

    session.post(Play(True))
    frames(14)
    assert shown["steps"] == "30 /s · 0.5 × real time"
    session.post(Play(False))
    frames(14)
    assert shown["steps"] == "0 /s · 0 × real time"


def test_plots_of_the_watch_panel_show_all_times(shell, monkeypatch):
    one, limits = shell(size=(1000, 700)), list[tuple[float, float]]()
    real = plots.plot
    monkeypatch.setattr(plots, "plot", lambda *args, **kwargs: (limits.append(args[2]), real(*args, **kwargs))[1])
    one.workspace.show("Watch")
    one.session.post(Play(True))

    def passed() -> bool:  # displayed numbers are updated a few times a second
        one.session.measure()
        one.frames(1)
        one.gpu.sync()
        return bool(limits) and one.session.time > 0.6

    assert wait_until(passed)
    (history,) = {id(one): history for history in one.session.diagnostics.history.values()}.values()
    times = history.times.values
    assert 0.0 < times[-1] <= one.session.time and times[0] < times[-1]
    first, last = limits[-1]
    assert first == pytest.approx(times[0], abs=0.01) and first < last <= one.session.time + 0.01
