"""Screenshots and videos: the recording indicator, notices of written files, and the panel with the options."""

from __future__ import annotations

import time
from pathlib import Path

from imgui_bundle import ImVec2, ImVec4, imgui
from imgui_bundle import icons_fontawesome_6 as icons

from ..export.layers import can_be_exported
from ..session import Session
from ..session.capture import LARGEST, CaptureRequest, ExportStatus, RecordingOptions, RecordingStatus
from ..session.command_queue import CommandInProgress
from ..session.commands import (
    CancelExport,
    CancelLoading,
    CancelRecording,
    CopyImage,
    StartRecording,
    StopRecording,
    TakeScreenshot,
)
from ..session.files import here
from ..session.loading import Loading
from .base import Panel
from .controls import checkbox_row
from .docks import Rect
from .rows import fact, fitted, labeled, scale, section
from .tables import size
from .theme import DIM, GOOD, LIFTED
from .windows import MARGIN, overlay
from .workspace import Workspace

RED = ImVec4(0.96, 0.30, 0.28, 1.0)
SHOWN = 6.0  # seconds for which a notice is shown
WIDTH = 420.0  # of a notice, in logical pixels
BAR = 120.0  # of a progress bar, in logical pixels
SCALES = (1.0, 2.0, 4.0)  # of the viewport's size
IMAGES = {"PNG": (".png", 16), "EXR, 16 bits": (".exr", 16), "EXR, 32 bits": (".exr", 32)}  # suffix and bits
VIDEOS = {  # suffix and codec by what is shown
    "MP4, H.264": (".mp4", "h264"),
    "MP4, H.265": (".mp4", "h265"),
    "MP4, AV1": (".mp4", "av1"),
    "WebM, VP9": (".webm", "vp9"),
    "WebM, AV1": (".webm", "av1"),
    "GIF": (".gif", ""),
    "WebP": (".webp", ""),
}
TOPICS = "screenshot", "recording", "export"
ICONS = {"screenshot": icons.ICON_FA_IMAGE, "recording": icons.ICON_FA_FILM, "export": icons.ICON_FA_FILE_EXPORT}


class Notices:
    """Drawn at the top center of the viewport: what is recorded, exported and loaded, and files just written."""

    def __init__(self) -> None:
        self._known: dict[str, Path] = {}
        self._news: tuple[str, Path] | None = None
        self._until = 0.0

    def draw(self, session: Session, viewport: Rect) -> None:
        """Draw the notices."""
        self._update(session)
        recording = session.capture.recording if session.capture else None
        at = viewport.at((0.5, 0.0), MARGIN * scale())
        if recording is not None:
            at.y += _draw_recording(session, recording, at) + MARGIN * scale() / 2
        for export in session.capture.exports if session.capture else ():
            at.y += _draw_export(session, export, at) + MARGIN * scale() / 2
        for work in filter(None, (session.loading, session.commands.current)):
            at.y += _draw_loading(session, work, at) + MARGIN * scale() / 2
        if self._news is not None:
            self._draw_news(at, 0.6 * viewport.width, *self._news)

    def _update(self, session: Session) -> None:
        for topic in TOPICS:
            path = session.written.get(topic)
            if path is not None and path != self._known.get(topic):
                self._known[topic] = path
                self._news, self._until = (topic, path), time.perf_counter() + SHOWN
        if time.perf_counter() > self._until:
            self._news = None

    def _draw_news(self, at: ImVec2, widest: float, topic: str, path: Path) -> None:
        with overlay("##news", at, (0.5, 0.0), alpha=1.0, background=LIFTED):
            imgui.text_colored(GOOD, ICONS[topic])
            imgui.same_line()
            imgui.text(fitted(str(path), min(WIDTH * scale(), widest)))
            imgui.same_line()
            if imgui.small_button(f"{icons.ICON_FA_COPY}##copy"):
                imgui.set_clipboard_text(str(path))
            imgui.set_item_tooltip("copy the path")
            if imgui.is_window_hovered():
                self._until = max(self._until, time.perf_counter() + 1.0)


class CapturePanel(Panel):
    """Screenshots in any size, with or without a background, videos, and geometry."""

    title = "Capture"
    icon = icons.ICON_FA_CAMERA
    side = "right"

    def __init__(self, workspace: Workspace) -> None:
        self._workspace, self._layer = workspace, ""
        self._choice, self._width, self._height = 0, 3840, 2160
        self._panels = self._transparent = self._depth = False
        self._image = 0
        self._folder = ""
        self._video, self._rate, self._quality, self._frames = 0, 0.0, 0, 0
        self._run_frames = 120

    def draw(self, session: Session) -> None:
        if session.capture is None:
            imgui.text_disabled("there is no window to capture")
            return
        with labeled("folder", "where screenshots and videos are saved"):
            _, self._folder = imgui.input_text_with_hint("##folder", str(here()), self._folder)
        if section("screenshot"):
            self._draw_screenshot(session)
        if section("video"):
            self._draw_video(session)
        if section("geometry"):
            self._draw_geometry(session)
        for topic in TOPICS:
            if topic in session.written:
                path = session.written[topic]
                fact(f"last {topic}", fitted(path.name, 0.6 * imgui.get_content_region_avail().x), DIM, str(path))

    def _draw_screenshot(self, session: Session) -> None:
        width, height = session.viewport_size
        sizes = [f"{round(width * times)} × {round(height * times)}" for times in SCALES]
        words = [*(f"{text}   {times:.0f} ×" for text, times in zip(sizes, SCALES, strict=True)), "custom"]
        imgui.begin_disabled(self._panels)
        with labeled("size", "in pixels; a size above the window's shows more detail"):
            _, self._choice = imgui.combo("##size", self._choice, words)
        if self._choice == len(SCALES):
            with labeled("pixels"):
                _, (self._width, self._height) = imgui.input_int2("##pixels", [self._width, self._height])
        with labeled("format", "EXR: linear light before tone mapping, for compositing"):
            _, self._image = imgui.combo("##image format", self._image, list(IMAGES))
        if checkbox_row("transparent", "no background; a file with alpha", self._transparent) is not None:
            self._transparent = not self._transparent
        if self._image and checkbox_row("depth", "a channel Z: the distance from the camera", self._depth) is not None:
            self._depth = not self._depth
        imgui.end_disabled()
        if checkbox_row("include panels", "the whole window with its panels", self._panels) is not None:
            self._panels = not self._panels
        if imgui.button(f"{icons.ICON_FA_CAMERA}  Take screenshot", ImVec2(imgui.get_content_region_avail().x, 0.0)):
            session.post(TakeScreenshot(self._request()))
        if imgui.button(f"{icons.ICON_FA_COPY}  Copy to clipboard", ImVec2(imgui.get_content_region_avail().x, 0.0)):
            session.post(CopyImage(self._request()))

    def _draw_video(self, session: Session) -> None:
        recording = session.capture.recording if session.capture else None
        width = imgui.get_content_region_avail().x
        if recording is None:
            self._draw_video_options()
            if imgui.button(f"{icons.ICON_FA_CIRCLE}  Record", ImVec2(width, 0.0)):
                session.post(StartRecording(self._recording_options()))
            imgui.set_item_tooltip("each frame lasts 1/60 s in the video, however long it takes to render (F10: MP4)")
        else:
            fact("length", f"{recording.seconds:.1f} s · {size(recording.nbytes)}")
            _draw_part(recording.part, width)
            if imgui.button(f"{icons.ICON_FA_STOP}  Stop", ImVec2(width, 0.0)):
                session.post(StopRecording())
            if imgui.button(f"{icons.ICON_FA_XMARK}  Cancel", ImVec2(width, 0.0)):
                session.post(CancelRecording())
            imgui.set_item_tooltip("end without a file")

    def _draw_video_options(self) -> None:
        with labeled("format", "of the file, and how it is encoded"):
            _, self._video = imgui.combo("##format", self._video, list(VIDEOS))
        with labeled("frame rate", "frames per second; fewer than 60 leave out frames, and it lasts as long"):
            changed, rate = imgui.input_float("##rate", self._rate, format="%.0f" if self._rate else "usual")
            self._rate = min(max(rate, 0.0), 60.0) if changed else self._rate
        with labeled("quality", "1: smallest file, 100: best; of a GIF, percent of 256 colors"):
            _, self._quality = imgui.slider_int("##quality", self._quality, 0, 100, "%d" if self._quality else "usual")
        with labeled("frames", "how many frames of 1/60 s to record"):
            changed, frames = imgui.input_int("##frames", self._frames)
            self._frames = max(frames, 0) if changed else self._frames
            if not self._frames:
                imgui.set_item_tooltip("0: until it is stopped")

    def _recording_options(self) -> RecordingOptions:
        suffix, codec = list(VIDEOS.values())[self._video]
        return RecordingOptions(self._target_folder(), suffix, self._rate, codec, self._quality, self._frames)

    def _draw_geometry(self, session: Session) -> None:
        names = [name for name, layer in session.stage.layers.items() if can_be_exported(layer)]
        words = ["all layers", *names]
        with labeled("layer", "what to export: its points, lines, triangles or splats"):
            chosen = names.index(self._layer) + 1 if self._layer in names else 0
            _, chosen = imgui.combo("##layer", chosen, words)
            self._layer = words[chosen] if chosen else ""
        imgui.begin_disabled(not names)
        if imgui.button(f"{icons.ICON_FA_FILE_EXPORT}  Export…", ImVec2(imgui.get_content_region_avail().x, 0.0)):
            self._workspace.exporting, self._workspace.export_layer = "geometry", self._layer
        imgui.set_item_tooltip("to a PLY, OBJ or GLB file")
        with labeled("frames", "how many frames of 1/60 s to record as USD"):
            changed, frames = imgui.input_int("##run frames", self._run_frames)
            self._run_frames = max(frames, 0) if changed else self._run_frames
            if not self._run_frames:
                imgui.set_item_tooltip("0: until it is stopped")
        imgui.begin_disabled(session.capture is None or session.capture.recording is not None)
        if imgui.button(f"{icons.ICON_FA_CIRCLE}  Record as USD", ImVec2(imgui.get_content_region_avail().x, 0.0)):
            chosen_layers = (self._layer,) if self._layer else ()
            session.post(
                StartRecording(
                    RecordingOptions(self._target_folder(), ".usdc", frames=self._run_frames, layers=chosen_layers)
                )
            )
        imgui.set_item_tooltip("the geometry of every frame, and the camera, for Blender, Houdini and others")
        imgui.end_disabled()
        imgui.end_disabled()

    def _request(self) -> CaptureRequest:
        custom = self._choice == len(SCALES)
        width, height = (min(max(side, 1), LARGEST) for side in (self._width, self._height))
        pixels = (width, height) if custom else None
        times = 1.0 if custom else SCALES[self._choice]
        if self._panels:
            return CaptureRequest(panels=True, folder=self._target_folder())
        suffix, bits = list(IMAGES.values())[self._image]
        return CaptureRequest(
            *(times, pixels),
            transparent=self._transparent,
            folder=self._target_folder(),
            suffix=suffix,
            bits=bits,
            depth=self._depth,
        )

    def _target_folder(self) -> Path | None:
        return Path(self._folder.strip()) if self._folder.strip() else None


def clock(seconds: float) -> str:
    """`1:07.3`."""
    tenths = round(seconds * 10)
    return f"{tenths // 600}:{tenths // 10 % 60:02}.{tenths % 10}"


def _draw_recording(session: Session, recording: RecordingStatus, at: ImVec2) -> float:
    """Returns its height."""
    with overlay("##recording", at, (0.5, 0.0), alpha=1.0, background=LIFTED):
        imgui.align_text_to_frame_padding()
        imgui.text_colored(RED, icons.ICON_FA_CIRCLE)
        imgui.same_line()
        imgui.text(clock(recording.seconds))
        imgui.same_line()
        pixels = recording.size  # a USD file is written at the end
        imgui.text_colored(DIM, f"{pixels[0]} × {pixels[1]}   {size(recording.nbytes)}" if pixels else "USD")
        imgui.same_line()
        if recording.part is not None:
            _draw_part(recording.part, BAR * scale())
            imgui.same_line()
        if imgui.button(f"{icons.ICON_FA_STOP}##stop"):
            session.post(StopRecording())
        imgui.set_item_tooltip(f"stop (F10)\n{recording.path}")
        imgui.same_line()
        if imgui.button(f"{icons.ICON_FA_XMARK}##cancel recording"):
            session.post(CancelRecording())
        imgui.set_item_tooltip("cancel: end without a file")
        return imgui.get_window_size().y


def _draw_export(session: Session, export: ExportStatus, at: ImVec2) -> float:
    """Returns its height."""
    with overlay(f"##export {export.path}", at, (0.5, 0.0), alpha=1.0, background=LIFTED):
        if _draw_progress(export.path.name, export.part, export.path, "cancel export"):
            session.post(CancelExport(export.path))
        return imgui.get_window_size().y


def _draw_loading(session: Session, work: Loading | CommandInProgress, at: ImVec2) -> float:
    """Returns its height."""
    with overlay(f"##{type(work).__name__}", at, (0.5, 0.0), alpha=1.0, background=LIFTED):
        if _draw_progress(work.what, work.fraction, work.path, "cancel loading", "Esc"):
            session.post(CancelLoading())
        return imgui.get_window_size().y


def _draw_progress(name: str, part: float | None, path: Path, button: str, key: str = "") -> bool:
    """A line with a name, a bar, and a button to cancel; returns whether that was clicked."""
    imgui.align_text_to_frame_padding()
    imgui.text(fitted(name, WIDTH * scale()))
    imgui.same_line()
    _draw_part(part, BAR * scale())
    imgui.same_line()
    clicked = imgui.button(f"{icons.ICON_FA_XMARK}##{button}")
    imgui.set_item_tooltip(f"cancel{key and f' ({key})'}\n{path}")
    return clicked


def _draw_part(part: float | None, width: float) -> None:
    """A progress bar, if it is known how much there is."""
    if part is not None:
        imgui.progress_bar(part, ImVec2(width, 0.0), f"{100 * part:.0f} %")
