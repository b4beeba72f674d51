"""A packaged scene, rebuilt while memory runs out: whichever allocation fails, the old scene continues."""

import gc
from collections.abc import Callable

import pytest

from vertigrad import resources
from vertigrad.errors import OutOfMemory
from vertigrad.gpu import Gpu
from vertigrad.headless import Offscreen
from vertigrad.headless.offscreen import FORMAT
from vertigrad.renderer import Renderer
from vertigrad.session import Session
from vertigrad.session.commands import Reload, SetParameter
from vertigrad.tensor import Tensor

from .running import SCENE, run_frame, use_models, written

SCENES = {
    "nbody": ("galaxy.count=64", SetParameter("models.galaxy", "count", 96)),
    "neural_field": ("terrain.resolution=8", SetParameter("models.terrain", "resolution", 12)),
}


@pytest.fixture
def fail_at(steady: Gpu, monkeypatch) -> Callable[[int], list[str]]:
    """Let the n-th allocation from now fail; return the names of those that succeed."""
    take = steady.pool.take

    def fail(number: int) -> list[str]:
        taken: list[str] = []

        def failing(nbytes: int, name: str = "", *more: object):
            taken.append(name)
            if len(taken) == number + 1:
                raise OutOfMemory(f"none left for {name}")
            return take(nbytes, name, *more)

        monkeypatch.setattr(steady.pool, "take", failing)
        return taken

    return fail


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("reload", [False, True], ids=["rebuild", "reload"])
def test_whichever_allocation_fails_the_old_scene_continues(steady: Gpu, fail_at, monkeypatch, name, reload):
    small, rebuild = SCENES[name]
    renderer, offscreen = Renderer(steady, FORMAT), Offscreen(steady, (48, 32))

    def frame(session: Session) -> None:
        with steady.frames.frame():
            session.apply()
            session.advance()
            session.draw(renderer, offscreen.view, offscreen.size)

    with Session(steady, resources.path("scenes", f"{name}.toml"), [small]) as session:
        frame(session)
        steady.wait_idle()
        instances, live, never_closed = (
            session.stage.instances.copy(),
            len(steady.tracker.live),
            steady.tracker.leak_count,
        )
        failed = 0
        while True:
            taken = fail_at(failed)
            session.post(Reload(restart=True) if reload else rebuild)
            frame(session)
            if not session.messages:
                break
            failed += 1
            assert session.messages.popitem()[1].startswith("none left for"), taken
            assert session.stage.instances == instances
            frame(session)
            gc.collect()
            steady.wait_idle()
            assert (len(steady.tracker.live), steady.tracker.leak_count) == (live, never_closed), taken[-1]
        assert failed >= 4
        frame(session)


def test_diagnostics_that_partly_fail_to_allocate_are_all_requested_again(steady: Gpu, tmp_path, monkeypatch):
    use_models(monkeypatch)
    real, asked = Tensor.read_async, []

    def second_fails(tensor: Tensor, *arguments):
        asked.append(1)
        if len(asked) == 2:
            raise OutOfMemory("none left")
        return real(tensor, *arguments)

    with Session(steady, written(tmp_path, SCENE)) as session:
        run_frame(session)
        monkeypatch.setattr(Tensor, "read_async", second_fails)
        with pytest.raises(OutOfMemory):
            session.measure()
        assert not session.diagnostics.pending
        session.measure()
        steady.wait_idle()
        session.apply()
        assert set(session.diagnostics) == {"row.top", "row.bottom"}
