"""`Gui`: ImGui's context, the windows of one frame, and the drawing of all of it around and over the viewport."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import wgpu
from imgui_bundle import ImVec2, imgui, implot

from .. import resources
from ..gpu import Gpu
from ..renderer.handles import Handles
from ..session import Session
from ..session.commands import PressKey
from . import plots
from .action_table import ACTIONS, for_panels, for_remote
from .actions import Action, are_free, by_keys, is_modal
from .axes import Axes
from .base import Panel
from .boundary import Boundary, recover
from .camera import CameraPanel
from .capture import CapturePanel, Notices
from .comparison import draw_comparison, scene_panes
from .dialogs import Dialogs
from .docks import Rect, can_dock, dock_new, dock_space, retain_dock_space, scaled
from .drawing import Drawing
from .gizmo import Gizmo
from .graph import GraphPanel
from .help import HelpPanel
from .hits import is_covered
from .hovered_node import draw_hovered_node
from .log import Journal, LogPanel
from .memory import MemoryPanel
from .menu import draw_menu
from .message import draw_message, draw_warnings
from .parameters import ParametersPanel
from .performance import PerformancePanel
from .probe import draw_probe
from .reports import draw_about, draw_failures
from .results import ResultsPanel
from .row_selection import DrawnRegion, draw_region, draw_row_selection
from .run import RunPanel
from .selection import SelectionPanel, draw_selection
from .tensor_captions import draw_captions
from .tensors import TensorsPanel
from .texts import draw_texts
from .theme import add_fonts, set_style
from .thumbnails import Thumbnails
from .tools import draw_brush_circle, draw_tools
from .watch import WatchPanel
from .workspace import Workspace

_log = logging.getLogger("vertigrad")
LOCAL = CapturePanel, ResultsPanel  # panels that read and write files
SETTLING = 2  # frames until every window has its position and size; they are built, but never shown


def panels(gui: Gui) -> tuple[Panel, ...]:
    """One of each kind, in the order of their tabs and of the View menu."""
    tensors = TensorsPanel(gui.workspace)
    return (
        RunPanel(gui.workspace),
        ParametersPanel(gui.workspace),
        LogPanel(gui.journal),
        PerformancePanel(),
        MemoryPanel(),
        tensors,
        WatchPanel(tensors.show),
        GraphPanel(tensors.show),
        CameraPanel(gui.workspace),
        SelectionPanel(),
        CapturePanel(gui.workspace),
        ResultsPanel(gui.workspace, *gui.thumbnails(2)),
        HelpPanel(lambda: gui.actions),
    )


class Gui:
    """The panels, docked around the viewport and drawn in the frame's own encoder. All sizes are pixels of the screen.

    `scale` is the monitor's; the workspace's zoom comes on top of it. With `remote` the user sits at another machine:
    nothing opens files or programs of this one. `viewport` is what the panels leave, as of the last `build`; `panes`
    are the images in it: one, or two while a run is compared with another.
    """

    def __init__(
        self, gpu: Gpu, color_format: str, scale: float = 1.0, workspace: Workspace | None = None, remote: bool = False
    ):
        self._gpu, self.remote = gpu, remote
        self.workspace = workspace or Workspace()
        self._context: Any = imgui.create_context()
        imgui.set_current_context(self._context)
        self._plots = plots.create_context()
        self._boundary = Boundary(self._renew_plots)
        add_fonts()
        self._monitor, self._scale = scale, scale * self.workspace.zoom
        set_style(self._scale)
        self._drawing = Drawing(gpu, color_format)
        self._axes, self._notices, self._gizmo = Axes(), Notices(), Gizmo()
        self.journal = Journal()
        self._panels = tuple(panel for panel in panels(self) if not (remote and isinstance(panel, LOCAL)))
        self._file: Path | None = None  # the scene that was shown last
        self._fresh = True  # nothing was built yet
        for panel in self._panels:
            self.workspace.opened.setdefault(panel.title, panel.opened)
        actions = (*ACTIONS, *for_panels(self._panels))
        self.actions: tuple[Action, ...] = for_remote(actions) if remote else actions
        self._by_keys = by_keys(self.actions)
        io = imgui.get_io()
        io.config_flags |= imgui.ConfigFlags_.docking_enable.value | imgui.ConfigFlags_.nav_enable_keyboard.value
        io.config_windows_move_from_title_bar_only = True
        self.viewport = Rect(0, 0, 0, 0)
        self.panes: tuple[Rect, ...] = (self.viewport,)
        self.region: DrawnRegion | None = None  # that is drawn to select rows
        self._take_layout()
        self._dialogs = Dialogs(Thumbnails(gpu, self._drawing.backend), self.actions)

    @property
    def io(self) -> imgui.IO:
        """Where input goes. Makes this GUI's context the current one."""
        imgui.set_current_context(self._context)
        implot.set_current_context(self._plots)
        return imgui.get_io()

    def thumbnails(self, count: int) -> list[Thumbnails]:
        """Images of files that can be drawn here, `count` sets of one size each."""
        return [Thumbnails(self._gpu, self._drawing.backend) for _ in range(count)]

    @property
    def handles(self) -> Handles | None:
        """The handles to draw into the viewport, if a position is edited there."""
        return self._gizmo.handles

    @property
    def cursor(self) -> int:
        """The shape of the mouse cursor that ImGui requests, an `imgui.MouseCursor_`."""
        return imgui.get_mouse_cursor() if self.io.want_capture_mouse else imgui.MouseCursor_.arrow.value

    def pane(self, x: float, y: float) -> Rect:
        """The image under a pixel of the window; that of the scene if there is none."""
        return next((pane for pane in self.panes if pane.contains(x, y)), self.panes[0])

    def covers(self, x: float, y: float) -> bool:
        """Whether a click at this pixel is for the GUI."""
        if self.io.want_capture_mouse and any(self.io.mouse_down):
            return True
        return is_covered(self._context, x, y) or self._gizmo.holds(x, y)

    def press(self, session: Session, keys: str, repeated: bool = False) -> bool:
        """Perform the action of these keys, written as in the table of actions; returns whether there was one.

        Nothing is while they are typed into a field, or move about in a menu, or while a dialog waits for an answer;
        but the keys that opened the dialog also close it. Keys that a script handles are for the script.
        """
        actions, io = self._by_keys.get(keys, []), self.io
        action = next((one for one in actions if one.possible(session, self.workspace)), None)
        if keys in session.script.keys and are_free(keys, io) and not self.waits(session):
            session.post(PressKey(keys))
            return True
        if action is None or (repeated and not action.repeats) or not are_free(keys, io):
            return False
        closes = action.dialog and action.is_on(session, self.workspace)
        if self.waits(session) and not closes:
            return False
        return action.perform(session, self.workspace)

    def waits(self, session: Session) -> bool:
        """Whether a dialog waits for an answer, or is about to."""
        _ = self.io
        opened = self.workspace.gallery or self.workspace.browser or self._dialogs.browser.is_open
        return is_modal() or session.questions.first is not None or opened

    def build(self, session: Session, size: tuple[int, int], seconds: float, scale: float | None = None) -> None:
        """Make this frame's windows for a window of `size` pixels; `seconds` have passed since the last.

        `scale` is passed if it may have changed.
        """
        if self.remote:
            self.workspace.close_files()
        io = self.io
        self._monitor = scale or self._monitor
        self._rescale()
        io.display_size = ImVec2(*size)
        io.delta_time = max(seconds, 1e-4)
        if self._fresh:
            self._arrange(session, size)
        self._make_windows(session, size)
        self.journal.take_messages(session.messages)
        imgui.render()

    def _arrange(self, session: Session, size: tuple[int, int]) -> None:
        """Build the first frames, which are not shown. A stored layout that ImGui cannot use is dropped."""
        self._fresh = False
        try:
            for _ in range(SETTLING):
                self._make_windows(session, size)
                imgui.end_frame()
        except RuntimeError as error:  # its assertions
            _log.warning("the panels' layout cannot be used (%s); they are docked as at first", error)
            self.workspace.reset_layout = True

    def _make_windows(self, session: Session, size: tuple[int, int]) -> None:
        imgui.new_frame()
        before = imgui.internal.ErrorRecoveryState()
        imgui.internal.error_recovery_store_state(before)
        try:
            self._draw_windows(session, size)
        except BaseException:
            try:
                recover(before)
            finally:
                imgui.end_frame()
            raise

    def _draw_windows(self, session: Session, size: tuple[int, int]) -> None:
        draw = self._boundary.draw
        if self.workspace.visible:
            draw(session, "menu", draw_menu, self.actions, session, self.workspace)
            self.viewport = dock_space(self._panels, self.workspace.reset_layout, self._scale)
            self.workspace.reset_layout = False
            self._draw_panels(session)
        else:
            retain_dock_space()
            self.viewport = Rect(0, 0, *size)
        self.panes = scene_panes(session, self.viewport)
        self._draw_over(session, self.panes[0])
        draw(session, "messages", draw_message, session, self.viewport)
        if not draw(session, "dialogs", self._dialogs.draw, session, self.workspace):
            self._dialogs.close(session, self.workspace)
        draw(session, "about", draw_about, session, self.workspace)
        draw(session, "error report", draw_failures, session)
        self._note_file(session)

    def _draw_over(self, session: Session, pane: Rect) -> None:
        """Draw what is over the image of the scene; without panels only notices of videos and files."""
        draw, workspace = self._boundary.draw, self.workspace
        draw(session, "gizmo", self._gizmo.draw, session, workspace.gizmo if workspace.visible else None, pane)
        if workspace.visible:
            draw(session, "axes", self._axes.draw, session, pane)
            draw(session, "tools", draw_tools, session, pane)
            draw(session, "selected rows", draw_row_selection, self.actions, session, workspace, pane)
            draw(session, "texts", draw_texts, session, pane)
            draw(session, "warnings", draw_warnings, session, pane)
            if SelectionPanel.title not in workspace.visible_panels:
                draw(session, "selection", draw_selection, session, pane)
            draw(session, "comparison", draw_comparison, session, self.panes)
            if GraphPanel.title in workspace.visible_panels:
                draw(session, "captions", draw_captions, session, pane)
            draw(session, "hovered node", draw_hovered_node, session, pane, not imgui.get_io().want_capture_mouse)
        draw(session, "notices", self._notices.draw, session, self.viewport)
        draw(session, "region", draw_region, self.region, pane)
        draw(session, "probe", draw_probe, session, pane, not imgui.get_io().want_capture_mouse)
        draw(session, "brush", draw_brush_circle, session, pane, not imgui.get_io().want_capture_mouse)

    def draw(self, target: wgpu.GPUTextureView) -> None:
        """Record the windows built last over `target`."""
        imgui.set_current_context(self._context)
        self._drawing.draw(target)

    def close(self) -> None:
        """Destroy the context. Idempotent."""
        if self._context is not None:
            self.journal.close()
            self._dialogs.close_files()
            imgui.set_current_context(self._context)
            implot.destroy_context(self._plots)
            imgui.destroy_context(self._context)
            self._context = None

    @property
    def scale(self) -> float:
        """Pixels to a logical pixel."""
        return self._scale

    def layout(self) -> str:
        """Where the panels are docked now, as ImGui writes it."""
        imgui.set_current_context(self._context)
        return imgui.save_ini_settings_to_memory()

    def _renew_plots(self) -> None:
        """A context without the plot that was left open."""
        implot.destroy_context(self._plots)
        self._plots = plots.create_context()

    def _rescale(self) -> None:
        scale = self._monitor * self.workspace.zoom
        if scale == self._scale:
            return
        imgui.load_ini_settings_from_memory(scaled(self.layout(), scale / self._scale))
        self._scale = scale
        set_style(scale)

    def _take_layout(self) -> None:
        """Dock the panels as they were when the program was last closed, and new ones on their own sides."""
        workspace = self.workspace
        layout = scaled(workspace.layout, self._scale / workspace.layout_scale)
        workspace.reset_layout = not can_dock(self._panels, layout)
        if not workspace.reset_layout:
            imgui.load_ini_settings_from_memory(layout)
            dock_new(self._panels, layout)

    def _note_file(self, session: Session) -> None:
        """A scene that was opened and did not come with Vertigrad is remembered."""
        path = session.scene.path
        if path != self._file:
            self._file = path
            if not path.is_relative_to(resources.root()):
                self.workspace.remember(path)

    def _draw_panels(self, session: Session) -> None:
        workspace = self.workspace
        opened, raised, workspace.raised = workspace.opened, workspace.raised, ""
        workspace.visible_panels.clear()
        for panel in self._panels:
            title = panel.title
            if not opened[title]:
                continue
            if title == raised:
                imgui.set_next_window_focus()
            expanded, still_open = imgui.begin(title, True, _FLAGS)
            opened[title] = bool(still_open)
            if expanded:
                workspace.visible_panels.add(title)
                if imgui.is_window_focused(imgui.FocusedFlags_.child_windows.value):
                    workspace.focused = title
                self._boundary.draw_panel(session, title, panel.draw)
            imgui.end()


_FLAGS = imgui.WindowFlags_.no_focus_on_appearing.value
