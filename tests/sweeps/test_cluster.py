"""`Cluster`: the same runs on worker processes of Dask, of which one is killed."""

import os
import shutil
import signal

import pytest

import vertigrad as vg
from vertigrad.errors import InputError
from vertigrad.scene import trust
from vertigrad.sweeps.cluster import Cluster

distributed = pytest.importorskip("distributed")

SCENE = """
version = 1
[models.cloud]
type = "cloud.py:Cloud"
[layers.points]
type = "points"
position = "cloud.position"
"""
MODEL = """
import time
from vertigrad.models import CustomModel
from vertigrad.params import Params, number

class Cloud(CustomModel):
    class Params(Params):
        speed: float = number(1.0)

    tensors = {"position": (64, 3)}

    def start(self, random):
        return {"position": random.normal(size=(64, 3))}

    def advance(self, dt):
        time.sleep(0.02)  # a run is to last until a worker is killed
        self.position += self.params.speed * dt * self.position
"""
MEASURE = """
def spread(run):
    return float(run.outputs["cloud.position"].numpy().std())
"""


@pytest.fixture
def scene(tmp_path):
    folder = tmp_path / "scene"
    folder.mkdir()
    for name, text in {"scene.toml": SCENE, "cloud.py": MODEL, "measures.py": MEASURE}.items():
        (folder / name).write_text(text)
    trust.allow([folder / "cloud.py"])
    yield folder / "scene.toml"
    trust.forget()


class Killing(Cluster):
    """Kills a worker when the first run has ended, and hides the folder of the scene from all of them."""

    killed = 0

    def submit(self, job):
        super().submit(job)
        if job.work.scene.parent.is_dir():
            shutil.move(job.work.scene.parent, job.work.scene.parent.with_name("hidden"))

    def wait(self, report):
        finished = super().wait(report)
        if not self.killed:
            busy = [address for address, keys in self._client.processing().items() if keys]
            self.killed = self._client.run(os.getpid, workers=busy[:1])[busy[0]]
            os.kill(self.killed, signal.SIGKILL)
        return finished


def test_dask_computes_the_same_and_a_worker_that_dies_loses_nothing(steady, scene, tmp_path):
    values = {"cloud.speed": "0:1:8"}
    options = {"frames": 10, "size": (32, 24), "outcomes": [f"{scene.parent}/measures.py:spread", "image"], "seed": 2}
    serial = vg.sweep(scene, values, output=tmp_path / "serial", jobs=0, **options)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster:
        workers = Killing(cluster.scheduler_address)
        found = vg.sweep(scene, values, output=tmp_path / "out", workers=workers, **options)
    assert workers.killed
    assert [run.error for run in found] == [""] * 8
    assert [(run.key, run.outcomes) for run in found] == [(run.key, run.outcomes) for run in serial]
    assert len(set(found["spread"].tolist())) == 8
    for one, other in zip(found, serial, strict=True):
        assert (found.folder / one.files["image"]).read_bytes() == (serial.folder / other.files["image"]).read_bytes()


def test_without_a_scheduler_there_is_an_error(scene, tmp_path, monkeypatch):
    monkeypatch.setattr("vertigrad.sweeps.cluster.CONNECT_S", 1)
    with pytest.raises(InputError, match="no scheduler of Dask answers there"):
        vg.sweep(scene, {"cloud.speed": [0.0]}, output=tmp_path / "out", scheduler="tcp://127.0.0.1:9")
