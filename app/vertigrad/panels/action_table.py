"""`ACTIONS`: everything that can be done by name, in one table.

The menu, the command palette, the list of shortcuts, the keys themselves and buttons of panels are made from it. An
action posts a command to the session or changes the workspace; to add one, add a row.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from imgui_bundle import icons_fontawesome_6 as icons
from imgui_bundle import imgui

from ..models.interaction import Gesture
from ..session import Session, commands
from ..session.capture import CaptureRequest
from ..session.command_line import command_line
from ..session.commands import Command, SetParameter
from ..session.questions import Question
from ..session.row_selection import SelectSettings
from ..session.tool import Brush, gestures
from .actions import Action, Menu, flag, switch, tests
from .base import Panel
from .export_actions import EXPORTS, NETWORK_EXPORTS
from .workspace import Workspace

TURNTABLE = 20.0  # degrees a second that its key begins with
RADIUS_STEP = 1.25  # for each press of a key
SIDE_KEYS = {"front": "1", "back": "Shift+1", "right": "3", "left": "Shift+3", "top": "7", "bottom": "Shift+7"}
SELECT_KEYS = {"box": "M", "lasso": "L", "brush": "W"}
TOOL_KEYS = {Gesture.DRAG: "D", Gesture.EMIT: "E", Gesture.CUT: "C", Gesture.PAINT: "P"}
LOCAL = (
    "Documentation",
    "Full screen",
    "Copy image",
)  # actions of other menus that are only for who sits at this machine


_is_loading = tests(lambda session: session.loading is not None or session.commands.current is not None)
_is_unsaved = tests(lambda session: session.unsaved)
_can_undo = tests(lambda session: bool(session.scene_edits.history.done))
_can_redo = tests(lambda session: bool(session.scene_edits.history.undone))
_is_side_b = tests(lambda session: session.scene_edits.extras.side == "B")
_can_go_back = tests(lambda session: session.cameras.can_go_back)
_has_interactions = tests(lambda session: bool(session.clock.interactions.gestures))
_is_selected = tests(lambda session: session.selection.row is not None)
_any_selected = tests(lambda session: session.selection.row is not None or session.rows.selected is not None)
_has_rows = tests(lambda session: session.rows.is_possible)
_rows_selected = tests(lambda session: session.rows.selected is not None)
_rows_hidden = tests(lambda session: bool(session.rows.hidden))
_is_camera = tests(lambda session: session.selection.camera is not None)
_has_keyframes = tests(lambda session: bool(session.scene_edits.extras.keyframes))
_is_keyframe = tests(lambda session: session.clock.heading in session.scene_edits.extras.keyframes)
_has_brush = tests(lambda session: session.tool.gesture is not None or session.rows.shape == "brush")


def _reset_layout(session: Session, workspace: Workspace) -> None:
    workspace.reset_layout = workspace.visible = True


def _quit(session: Session, workspace: Workspace) -> None:
    workspace.closing = True


def _copy_command_line(session: Session, workspace: Workspace) -> None:
    imgui.set_clipboard_text(command_line(session))


def _is_recording(session: Session) -> bool:
    return session.capture is not None and session.capture.recording is not None


def _annotation(name: str, parameter: str, key: str, icon: str, off: Any = False, on: Any = True) -> Action:
    """Sets a parameter of the view to one value or the other; undone like all parameters."""
    return switch(
        "View",
        name,
        lambda session: getattr(session.view, parameter) != off,
        lambda turned: SetParameter("view", parameter, on if turned else off),
        (key,),
        icon,
        group=2,
    )


def _has_legends(session: Session) -> bool:
    return any(layer.colorbar is not None for layer in session.stage.layers.values())


def _shows_bars(session: Session, workspace: Workspace) -> bool:
    shown = session.view.color_bars
    return shown == "all" or (shown == "named" and _has_legends(session))


def _flip_bars(session: Session, workspace: Workspace) -> Command:
    """Those that the scene has; if it has none, one for each layer that could have one."""
    shown = "named" if _has_legends(session) else "all"
    return SetParameter("view", "color_bars", "none" if _shows_bars(session, workspace) else shown)


def _tool(gesture: Gesture, key: str) -> Action:
    return switch(
        "Edit",
        f"{gesture.title()} tool",
        lambda session: session.tool.gesture == gesture,
        lambda on: commands.SetTool(gesture if on else None),
        (key,),
        possible=tests(lambda session: gesture in gestures(session.stage)),
        group=4,
    )


def _brush_radius(name: str, factor: float, key: str) -> Action:
    def change(session: Session, workspace: Workspace) -> Command:
        if session.tool.gesture is not None:
            return commands.SetBrush("radius", _times(session.tool.brush, factor))
        return commands.SetSelecting("radius", _times(session.rows.settings, factor))

    return Action("Edit", name, change, (key,), possible=_has_brush, repeats=True, group=4)


def _times(brush: Brush | SelectSettings, factor: float) -> float:
    """The radius of a brush times a factor, within its limits."""
    spec = next(spec for spec in brush.specs() if spec.name == "radius")
    return min(max(brush.radius * factor, spec.min or 0.0), spec.max or 1.0)


def _select_tool(shape: str, key: str) -> Action:
    return switch(
        "Edit",
        f"{shape.title()} select tool",
        lambda session: session.rows.shape == shape,
        lambda on: commands.SetSelectTool(shape if on else None),
        (key,),
        possible=_has_rows,
        group=3,
    )


def _ui_scale(name: str, steps: int, *keys: str) -> Action:
    return Action("View", name, lambda _, workspace: workspace.change_scale(steps), keys, repeats=True, group=8)


def _cycle_panels(name: str, steps: int, key: str) -> Action:
    return Action("View", name, lambda _, workspace: workspace.cycle_panels(steps), (key,), repeats=True, group=7)


def _panel(menu: Menu, name: str, title: str, keys: tuple[str, ...], icon: str, group: int = 0) -> Action:
    """Opens and closes the panel of this title."""

    def is_open(session: Session, workspace: Workspace) -> bool:
        return workspace.opened[title]

    return Action(menu, name, lambda _, workspace: workspace.toggle(title), keys, icon, on=is_open, group=group)


def for_panels(panels: Iterable[Panel]) -> tuple[Action, ...]:
    """For each panel a row that opens and closes it: by Ctrl and a digit, as long as there are digits."""
    return tuple(
        _panel("View", panel.title, panel.title, (f"Ctrl+{number}",) if number <= 9 else (), panel.icon, group=1)
        for number, panel in enumerate(panels, 1)
    )


def for_remote(actions: Iterable[Action]) -> tuple[Action, ...]:
    """Those for a user at another machine: they read and write no files of this one, and open no programs on it."""
    return tuple(action for action in actions if action.menu != "File" and action.name not in LOCAL)


ACTIONS: tuple[Action, ...] = (
    flag("File", "Gallery…", "gallery", ("Ctrl+G",), icons.ICON_FA_TABLE_CELLS_LARGE, dialog=True),
    flag("File", "Open…", "browser", ("Ctrl+O",), icons.ICON_FA_FOLDER_OPEN, on=None),
    Action("File", "Save", commands.Save(), ("Ctrl+S",), icons.ICON_FA_FLOPPY_DISK, possible=_is_unsaved),
    Action("File", "Save as…", commands.Ask(Question("name", "")), ("Ctrl+Shift+S",), icons.ICON_FA_FLOPPY_DISK),
    Action("File", "Reload file", commands.Reload(restart=True), ("F5",), icons.ICON_FA_ROTATE),
    Action("File", "Cancel loading", commands.CancelLoading(), ("Esc",), icons.ICON_FA_BAN, possible=_is_loading),
    *EXPORTS,
    Action("File", "Quit", _quit, ("Ctrl+Q",), icons.ICON_FA_XMARK, group=9),
    Action("Edit", "Undo", commands.Undo(), ("Ctrl+Z",), icons.ICON_FA_ROTATE_LEFT, possible=_can_undo, repeats=True),
    Action(
        "Edit",
        "Redo",
        commands.Redo(),
        ("Ctrl+Shift+Z", "Ctrl+Y"),
        icons.ICON_FA_ROTATE_RIGHT,
        possible=_can_redo,
        repeats=True,
    ),
    Action("Edit", "Compare A/B", commands.SwitchSide(), ("X",), icons.ICON_FA_RIGHT_LEFT, on=_is_side_b, group=1),
    Action("Edit", "Reset parameters to file", commands.ResetParameters(), icon=icons.ICON_FA_ARROWS_ROTATE, group=1),
    Action("Edit", "Copy image", commands.CopyImage(), ("Ctrl+Alt+C",), icons.ICON_FA_COPY, group=2),
    Action("Edit", "Copy as command line", _copy_command_line, ("Ctrl+Shift+C",), icons.ICON_FA_TERMINAL, group=2),
    flag("View", "Panels", "visible", ("G",), icons.ICON_FA_TABLE_COLUMNS),
    Action("View", "Reset layout", _reset_layout, icon=icons.ICON_FA_BORDER_ALL),
    flag("View", "Full screen", "fullscreen", ("F11",), icons.ICON_FA_EXPAND),
    _ui_scale("Increase UI scale", 1, "Ctrl+Plus", "Ctrl+Shift+Plus", "Ctrl+=", "Ctrl+Shift+="),
    _ui_scale("Decrease UI scale", -1, "Ctrl+Minus"),
    _cycle_panels("Next panel", 1, "F6"),
    _cycle_panels("Previous panel", -1, "Shift+F6"),
    switch("Time", "Play", lambda session: session.playing, commands.Play, ("Space",), icons.ICON_FA_PLAY),
    Action("Time", "Step forward", commands.Step(), ("N",), icons.ICON_FA_FORWARD_STEP, repeats=True),
    Action("Time", "Step back", commands.Step(-1), ("B",), icons.ICON_FA_BACKWARD_STEP, repeats=True),
    Action("Time", "Reset simulation", commands.Reset(), ("R",), icons.ICON_FA_BACKWARD_FAST),
    Action("Camera", "Reset camera", commands.Home(), ("H",), icons.ICON_FA_HOUSE),
    Action("Help", "Documentation", commands.OpenDocumentation(), icon=icons.ICON_FA_BOOK),
    _panel("Help", "Keyboard shortcuts", "Help", ("F1",), icons.ICON_FA_KEYBOARD),
    flag("Help", "Command palette…", "palette", ("Ctrl+P", "Ctrl+Shift+P"), icons.ICON_FA_MAGNIFYING_GLASS, on=None),
    flag("Help", "About Vertigrad", "about", (), icons.ICON_FA_CIRCLE_INFO, group=1),
    # annotations of the viewport
    _annotation("Axes", "axes", "Shift+A", icons.ICON_FA_RULER_COMBINED),
    _annotation("Floor", "floor", "Shift+G", icons.ICON_FA_TABLE_CELLS, "none", "under"),
    _annotation("Scale bar", "scale_bar", "Shift+B", icons.ICON_FA_RULER_HORIZONTAL),
    Action("View", "Color bars", _flip_bars, ("Shift+C",), icons.ICON_FA_PALETTE, on=_shows_bars, group=2),
    switch(
        "View",
        "Probe values",
        lambda session: session.hover.on,
        commands.Probe,
        ("I",),
        icons.ICON_FA_EYE_DROPPER,
        group=2,
    ),
    # captures, selection, camera
    Action("File", "Screenshot", commands.TakeScreenshot(), ("F12",), icons.ICON_FA_CAMERA, group=4),
    Action(
        "File", "Screenshot with panels", commands.TakeScreenshot(CaptureRequest(panels=True)), ("Ctrl+F12",), group=4
    ),
    Action(
        "File", "Screenshot at another size…", lambda _, workspace: workspace.show("Capture"), ("Shift+F12",), group=4
    ),
    switch(
        "File",
        "Record a video",
        _is_recording,
        lambda on: commands.StartRecording() if on else commands.StopRecording(),
        ("F10",),
        icons.ICON_FA_FILM,
        group=4,
    ),
    *(_select_tool(shape, key) for shape, key in SELECT_KEYS.items()),
    Action("Edit", "Select all rows", commands.SelectAllRows(), ("Ctrl+A",), possible=_has_rows, group=3),
    Action("Edit", "Deselect all", commands.Deselect(), ("Esc",), icons.ICON_FA_XMARK, possible=_any_selected, group=3),
    Action(
        "Edit",
        "Invert selection",
        commands.InvertSelection(),
        ("Ctrl+I",),
        icons.ICON_FA_CIRCLE_HALF_STROKE,
        possible=_has_rows,
        group=3,
    ),
    Action(
        "Edit",
        "Hide selected rows",
        commands.HideSelected(),
        ("Del",),
        icons.ICON_FA_EYE_SLASH,
        possible=_rows_selected,
        group=3,
    ),
    Action(
        "Edit",
        "Crop to selection",
        commands.CropToSelection(),
        ("Shift+H",),
        icons.ICON_FA_CROP_SIMPLE,
        possible=_rows_selected,
        group=3,
    ),
    Action(
        "Edit", "Show hidden rows", commands.ShowHidden(), ("Alt+H",), icons.ICON_FA_EYE, possible=_rows_hidden, group=3
    ),
    Action("Camera", "Frame all", commands.FrameAll(), ("F",), icons.ICON_FA_EXPAND),
    Action(
        "Camera",
        "Frame selected",
        commands.FrameSelection(),
        ("Shift+F",),
        icons.ICON_FA_CROSSHAIRS,
        possible=_is_selected,
    ),
    Action("Camera", "Focus on selected", commands.FocusSelection(), ("Shift+D",), possible=_is_selected),
    Action(
        "Camera",
        "Look through selected camera",
        commands.LookThroughCamera(),
        (),
        icons.ICON_FA_CAMERA,
        possible=_is_camera,
    ),
    Action(
        "Camera",
        "Previous view",
        commands.PreviousView(),
        ("Backspace",),
        icons.ICON_FA_ARROW_LEFT,
        possible=_can_go_back,
    ),
    Action("Camera", "Set camera keyframe", commands.SetKeyframe(), ("K",), icons.ICON_FA_KEY, group=3),
    Action("Camera", "Delete camera keyframe", commands.DeleteKeyframe(), ("Shift+K",), possible=_is_keyframe, group=3),
    switch(
        "Camera",
        "Follow camera keyframes",
        lambda session: session.cameras.following,
        commands.FollowKeyframes,
        (),
        possible=_has_keyframes,
        group=3,
    ),
    *(
        Action("Camera", f"View from the {side}", commands.ViewFrom(side), (key,), group=1)
        for side, key in SIDE_KEYS.items()
    ),
    switch(
        "Camera",
        "Orthographic",
        lambda session: session.cameras.heading.orthographic,
        commands.Parallel,
        ("5", "O"),
        icons.ICON_FA_CUBE,
        group=2,
    ),
    switch(
        "Camera",
        "Turntable",
        lambda session: session.cameras.turntable != 0.0,
        lambda on: commands.Turntable(TURNTABLE if on else 0.0),
        ("T",),
        icons.ICON_FA_ARROWS_SPIN,
        group=2,
    ),
    switch(
        "Camera",
        "Fly",
        lambda session: session.cameras.flight_mode,
        commands.FlightMode,
        ("V",),
        icons.ICON_FA_PLANE,
        group=2,
    ),
    # tools that act on the models
    *(_tool(gesture, TOOL_KEYS[gesture]) for gesture in Gesture),
    _brush_radius("Decrease brush radius", 1 / RADIUS_STEP, "["),
    _brush_radius("Increase brush radius", RADIUS_STEP, "]"),
    Action(
        "File",
        "Save interaction recording",
        commands.SaveInteractions(),
        icon=icons.ICON_FA_HAND,
        possible=_has_interactions,
        group=4,
    ),
    *NETWORK_EXPORTS,
)
BY_NAME = {action.name: action for action in ACTIONS}
