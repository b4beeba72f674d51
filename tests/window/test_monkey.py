"""Random input at many times the speed of a user: nothing may fail, and nothing may accumulate."""

from __future__ import annotations

import math
import os
import random
import shutil
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from vertigrad import resources
from vertigrad.gpu import Gpu
from vertigrad.headless.offscreen import FORMAT, Offscreen
from vertigrad.panels import Gui, gallery
from vertigrad.renderer.renderer import Renderer
from vertigrad.session import Session
from vertigrad.session.commands import (
    Ask,
    Dismiss,
    Open,
    Orbit,
    Play,
    Reload,
    SetParameter,
    SetRewindMemory,
    SetSpeed,
    Step,
    Zoom,
)
from vertigrad.session.parameters import Key
from vertigrad.session.scene_edits import SceneEdits
from vertigrad.viewer import keys

from .driver import Driver

ACTIONS, EXHAUSTIVE = 4_000, 20_000  # one every tenth of a second would take seven minutes, and half an hour
FOUND = Path(__file__).parent.parent / "fuzz" / "monkey_seeds.txt"  # seeds that failed in `make explore`
SEEDS = [int(seed) for seed in os.environ.get("VERTIGRAD_MONKEY_SEEDS", "1").split(",")]
SEEDS += [int(seed) for seed in FOUND.read_text().split()] if FOUND.exists() else []
WINDOW_SEEDS = [int(seed) for seed in os.environ.get("VERTIGRAD_MONKEY_SEEDS", "3").split(",")]
DRAWN = 0.05  # fraction of frames that are drawn as well as built: drawing takes most of the time
SIZES = [(480, 320), (320, 240), (640, 400), (240, 360), (64, 48), (7, 5)]
SCALES = [1.0, 1.0, 1.0, 1.5, 2.0]
KEYS = [*keys.KEYS.values(), *keys.LETTERS.values(), *keys.MODIFIERS]
HEAVY, SMALL = ("count", "resolution"), 64
TEXTS = ["0.5", "-3", "nan", "1e9", "", "galaxy", "ß∂ 漢", "%s%n", "x" * 300, "../../..", "play", "\t"]
NEVER = {"Quit", "Copy as command line", "Documentation"}


class Monkey:
    """Executes random actions on a session and its GUI, and records the last ones."""

    def __init__(self, gpu: Gpu, session: Session, scenes: list[Path], chance: random.Random):
        self.gpu, self.session, self.scenes, self.chance = gpu, session, scenes, chance
        self.gui, self.renderer = Gui(gpu, FORMAT), Renderer(gpu, FORMAT)
        self.images = {size: Offscreen(gpu, size) for size in SIZES}
        self.size, self.scale = SIZES[0], 1.0
        self.done: deque[str] = deque(maxlen=60)
        self.actions_: list[tuple[int, Callable[[], object]]] = [
            (36, self.move),
            (14, self.click),
            (8, self.drag),
            (6, self.wheel),
            (12, self.shortcut),
            (8, self.key),
            (5, self.type),
            (12, self.parameter),
            (8, self.command),
            (4, self.panel),
            (2, self.resize),
            (1, self.scene),
        ]

    def act(self) -> None:
        actions_, actions = zip(*((direction, weight) for weight, direction in self.actions_), strict=True)
        (direction,) = self.chance.choices(actions_, actions)
        outcome = direction()
        self.done.append(f"{direction.__name__} {outcome}")

    def frame(self, drawn: bool = False) -> None:
        offscreen = self.images[self.size]
        with self.gpu.frames.frame():
            self.session.apply()
            self.session.advance()
            self.session.request_readbacks()
            self.gui.build(self.session, self.size, self.chance.choice([0.004, 1 / 60, 0.2]), self.scale)
            if drawn or self.chance.random() < DRAWN:
                left, top, width, height = self.gui.viewport
                self.session.draw(self.renderer, offscreen.view, (width, height), (left, top))
                self.gui.draw(offscreen.view)

    def point(self) -> tuple[float, float]:
        """A random position, mostly within one of the windows."""
        windows = [w for w in self.gui._context.windows if w.active and not w.hidden]
        if not windows or self.chance.random() < 0.2:
            return self.chance.uniform(-20, self.size[0] + 20), self.chance.uniform(-20, self.size[1] + 20)
        one = self.chance.choice(windows)
        return one.pos.x + self.chance.random() * one.size.x, one.pos.y + self.chance.random() * one.size.y

    def move(self) -> object:
        point = self.point()
        self.gui.io.add_mouse_pos_event(*point)
        return point

    def click(self) -> object:
        self.move()
        button = self.chance.choice([0, 0, 0, 0, 1, 2])
        for _ in range(self.chance.choice([1, 1, 1, 2])):
            for down in (True, False):
                self.gui.io.add_mouse_button_event(button, down)
                self.frame()
        return button

    def drag(self) -> object:
        self.move()
        self.gui.io.add_mouse_button_event(0, True)
        for _ in range(self.chance.randrange(1, 5)):
            self.frame()
            self.move()
        self.gui.io.add_mouse_button_event(0, False)
        return ""

    def wheel(self) -> object:
        self.gui.io.add_mouse_wheel_event(self.chance.uniform(-1, 1), self.chance.uniform(-3, 3))
        return ""

    def shortcut(self) -> object:
        action = self.chance.choice([action for action in self.gui.actions if action.name not in NEVER])
        if action.keys and self.chance.random() < 0.6:
            self.gui.press(self.session, self.chance.choice(action.keys), self.chance.random() < 0.2)
        else:
            action.perform(self.session, self.gui.workspace)
        return action.name

    def key(self) -> object:
        key = self.chance.choice(KEYS)
        self.gui.io.add_key_event(key, True)
        self.frame()
        self.gui.io.add_key_event(key, False)
        return key

    def type(self) -> object:
        text = self.chance.choice(TEXTS)
        self.gui.io.add_input_characters_utf8(text)
        return repr(text)

    def parameter(self) -> object:
        owner, params = self.chance.choice(list(self.session.parameters().items()))
        specs = params.specs()
        spec = self.chance.choice([spec for spec in specs if not spec.rebuild or self.chance.random() < 0.1] or specs)
        current = getattr(params, spec.name)
        low = spec.min if spec.min is not None else spec.slider_min if spec.slider_min is not None else -1.0
        high = spec.slider_max if spec.slider_max is not None else 2.0
        value = self.chance.choice([self.chance.uniform(low, high), current, spec.default, math.nan, "x", None, -5])
        if spec.kind == "integer" and isinstance(value, float) and math.isfinite(value):
            value = int(value)
        if spec.kind == "choice":
            value = self.chance.choice(spec.choices)
        self.session.post(SetParameter(owner, spec.name, value))
        return owner, spec.name, value

    def command(self) -> object:
        command = self.chance.choice(
            [
                Play(self.chance.random() < 0.5),
                Step(self.chance.randrange(-4, 5)),
                SetSpeed(self.chance.uniform(-1.0, 3.0)),
                Orbit(self.chance.uniform(-1, 1), self.chance.uniform(-1, 1)),
                Zoom(self.chance.uniform(0.5, 2.0), (0.2, -0.4), 1.3),
                Dismiss(),
                Ask(None),
                Reload(restart=self.chance.random() < 0.5),
            ]
        )
        self.session.post(command)
        return command

    def panel(self) -> object:
        title = self.chance.choice(list(self.gui.workspace.opened))
        self.gui.workspace.toggle(title)
        return title

    def resize(self) -> object:
        self.size, self.scale = self.chance.choice(SIZES), self.chance.choice(SCALES)
        return self.size, self.scale

    def scene(self) -> object:
        path = self.chance.choice([*self.scenes, self.scenes[0].with_name("none.toml"), Path("/mesh.obj")])
        self.session.post(Open(path, discard=self.chance.random() < 0.8))
        return path.name


Live = list[tuple[str, int, int, int]]  # name, bytes, owners and pins of each block


def opened_anew(session: Session, scenes: Iterable[Path], frames: Callable[[int], None]) -> Live:
    """The live blocks after these scenes were opened in turn, with the last one idle after a few steps.

    At its start a model may own fewer blocks, until a diagnostic is read or it steps.
    """
    session.post(Ask(None))
    session.post(Play(False))
    session.post(SetRewindMemory(0))
    for path in scenes:
        session.post(Open(path, discard=True))
        for _ in range(60):  # a long command takes several frames
            frames(1)
            if session.scene.path == path:
                break
        assert session.scene.path == path, session.messages
    session.post(Play(True))
    frames(4)
    session.post(Play(False))
    frames(12)
    session.gpu.wait_idle()
    return sorted((block.name, block.nbytes, block.owners, block.pins) for block in session.gpu.tracker.live)


def at_rest(monkey: Monkey) -> Live:
    def frames(count: int) -> None:
        for _ in range(count):
            monkey.frame(drawn=True)

    return opened_anew(monkey.session, (monkey.scenes[1], monkey.scenes[0]), frames)


def window_at_rest(driver: Driver, scene: Path) -> Live:
    return opened_anew(driver.session, (resources.path("scenes", "nbody.toml"), scene), driver.frames)


def copies(folder: Path) -> list[Path]:
    created = []
    for name, old, new in (("nbody", "count = 8192", "count = 64"), ("neural_field", "= 224", "= 16")):
        text = resources.path("scenes", f"{name}.toml").read_text()
        assert old in text
        (folder / f"{name}.toml").write_text(text.replace(old, new))
        created.append(folder / f"{name}.toml")
    return created


def bounded(change: Callable[..., None]) -> Callable[..., None]:
    """Limit counts: the monkey can drag a slider to a million bodies, minutes a step on a software adapter."""

    def change_less(self: SceneEdits, values: dict[Key, Any], *rest: Any, **more: Any) -> None:
        small = {
            key: min(value, SMALL) if key.name in HEAVY and isinstance(value, int) else value
            for key, value in values.items()
        }
        change(self, small, *rest, **more)

    return change_less


@pytest.fixture(autouse=True)
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SceneEdits, "change", bounded(SceneEdits.change))
    monkeypatch.setattr(gallery, "packaged", lambda: [])  # their counts are those of a hardware GPU


@pytest.mark.turns(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_actions_in_any_order(
    steady: Gpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config, seed: int
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    scenes, chance = copies(tmp_path), random.Random(seed)
    with Session(steady, scenes[0]) as session:
        monkey = Monkey(steady, session, scenes, chance)
        for _ in range(30):
            monkey.frame()
        before = at_rest(monkey)
        try:
            for _ in range(EXHAUSTIVE if pytestconfig.getoption("exhaustive") else ACTIONS):
                monkey.act()
                if chance.random() < 0.15:
                    monkey.frame()
        except Exception as error:
            error.add_note("\n".join([f"done last, with seed {seed}:", *monkey.done]))
            raise
        monkey.size, monkey.scale = SIZES[0], 1.0
        copies(tmp_path)  # the monkey may have saved something
        assert at_rest(monkey) == before
        monkey.gui.close()


@pytest.mark.turns(3)
@pytest.mark.parametrize("seed", WINDOW_SEEDS)
def test_random_actions_in_a_window(opened: Callable[..., Driver], tmp_path: Path, monkeypatch, seed: int):
    """With real events at full speed, many of them within a frame."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    chance = random.Random(seed)
    scene = Path(shutil.copy(copies(tmp_path)[0], tmp_path / "mine.toml"))
    driver = opened(scene, size=(640, 400), playing=True)
    before, done = window_at_rest(driver, scene), deque[str](maxlen=80)
    driver.session.post(Play(True))
    names = [
        "space",
        "n",
        "b",
        "r",
        "h",
        "g",
        "f",
        "x",
        "5",
        "Tab",
        "Return",
        "Escape",
        "Down",
        "Left",
        "Up",
        "F1",
        "F6",
    ]
    names += [f"ctrl+{key}" for key in ("p", "z", "y", "g", "o", "plus", "minus", "1", "2", "3")]
    try:
        for _ in range(40):
            events: list[object] = []
            for _ in range(30):
                point = ["mousemove", chance.randrange(640), chance.randrange(400)]
                kinds = [point, [*point, "click", chance.choice([1, 1, 1, 2, 3, 4, 5])], ["key", chance.choice(names)]]
                kinds += [[*point, "mousedown", 1], [*point, "mouseup", 1]]
                events += chance.choice(kinds)
            events += ["mouseup", 1]
            done.append(" ".join(map(str, events)))
            driver.desktop.xdotool(*events)
            if chance.random() < 0.2:
                driver.desktop.resize(driver.window, *chance.choice([(640, 400), (500, 300), (300, 420), (30, 20)]))
            driver.frames(6)
            assert not driver.viewer.closed
    except Exception as error:
        error.add_note(f"done last, with seed {seed}:\n" + "\n".join(done))
        raise
    driver.desktop.resize(driver.window, 640, 400)
    shutil.copy(copies(tmp_path)[0], scene)  # the monkey may have saved something
    assert window_at_rest(driver, scene) == before
