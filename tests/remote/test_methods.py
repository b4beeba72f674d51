"""A program drives a session over the socket."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image

from vertigrad.remote import Served

from .driver import Program, Refused, driven


def call(served: Served, method: str, **params):
    def act():
        with Program(served) as program:
            return program.call(method, **params)

    return driven(served, act)


def session(served: Served):
    return served.viewer._session


def test_status(served: Served):
    status = call(served, "status")
    assert status["title"] == session(served).scene.title
    assert (status["time"], status["frame"], status["playing"]) == (0.0, 0, False)
    assert status["messages"] == {} and status["errors"] == []


def test_parameters_are_listed_and_set(served: Served):
    listed = {one["path"]: one for one in call(served, "list_parameters")}
    softening = listed["models.galaxy.softening"]
    assert softening["kind"] == "number" and softening["doc"]
    assert softening["value"] == session(served).parameters()["models.galaxy"].softening  # pyright: ignore
    assert call(served, "set_parameters", values={"galaxy.softening": 0.25}) == {"models.galaxy.softening": 0.25}
    assert session(served).parameters()["models.galaxy"].softening == 0.25  # pyright: ignore
    assert session(served).scene_edits.history.done, "Undo takes it back"


@pytest.mark.parametrize(
    ("values", "reported"),
    [
        ({"galaxy.softening": 0.25, "galaxy.softenin": 1}, "softening"),
        ({"galaxy.softening": "soft"}, "softening"),
        ({"galaxi.softening": 0.1}, "galaxy"),
        ({"softening": 0.1}, "owner"),
    ],
)
def test_values_that_do_not_fit_change_nothing(served: Served, values: dict, reported: str):
    before = session(served).parameters()["models.galaxy"].softening  # pyright: ignore
    with pytest.raises(Refused, match=reported):
        call(served, "set_parameters", values=values)
    assert session(served).parameters()["models.galaxy"].softening == before  # pyright: ignore


def test_steps_are_taken_before_the_answer(served: Served):
    assert call(served, "step", count=3)["frame"] == 3
    assert session(served).frame == 3
    assert call(served, "step")["frame"] == 4
    assert call(served, "reset")["frame"] == 0


def test_play_and_pause(served: Served):
    assert call(served, "play")["playing"]
    assert session(served).playing
    assert not call(served, "pause")["playing"]
    assert not session(served).playing


def test_steps_that_another_ends_early_are_an_error(served: Served):
    def act():
        with Program(served) as one, Program(served) as other:
            one.notify("step", count=100_000)
            one.call("status")
            other.call("reset")
            other.call("pause")
            with pytest.raises(Refused, match="steps early"):
                one.socket.send('{"jsonrpc": "2.0", "id": "long", "method": "step", "params": {"count": 100000}}')
                other.call("status")
                other.call("pause")
                while (message := one.receive()) is None or message.get("id") != "long":
                    pass
                raise Refused(message["error"])

    driven(served, act)


def test_camera(served: Served):
    camera = call(served, "set_camera", view="1,2,3;0,0,0;fov=40")
    assert camera["position"] == pytest.approx([1, 2, 3]) and camera["fov"] == 40
    assert session(served).camera.position == pytest.approx((1, 2, 3))
    assert call(served, "get_camera") == camera
    with pytest.raises(Refused, match="bookmark"):
        call(served, "set_camera", view="behind")


def test_screenshot(served: Served):
    answer = call(served, "screenshot", width=200, height=100)
    image = np.asarray(Image.open(io.BytesIO(base64.b64decode(answer["png"]))))
    assert image.shape == (100, 200, 3) and image.std() > 1.0
    with pytest.raises(Refused, match="width"):
        call(served, "screenshot", width=100_000, height=100)


def test_tensors(served: Served):
    listed = {one["name"]: one for one in call(served, "list_tensors")}
    assert listed["galaxy.position"]["shape"] == [512, 3]
    statistics = call(served, "tensor_statistics", name="galaxy.position")
    values = session(served).stage.instances["galaxy"].outputs["position"].numpy()
    assert statistics["mean"] == pytest.approx(values.mean(), abs=1e-5)
    assert statistics["std"] == pytest.approx(values.std(), rel=1e-3)
    assert (statistics["size"], statistics["nan"]) == (values.size, 0)
    with pytest.raises(Refused, match="position"):
        call(served, "tensor_statistics", name="galaxy.positio")


def test_diagnostics(served: Served):
    session(served).measure()
    session(served).gpu.sync()
    served.frame()
    values = call(served, "diagnostics")["values"]
    assert values and all(name.startswith("galaxy.") for name in values)


def test_an_unknown_method_names_the_nearest(served: Served):
    with pytest.raises(Refused, match="screenshot") as error:
        call(served, "screenshoot")
    assert error.value.code == -32601
