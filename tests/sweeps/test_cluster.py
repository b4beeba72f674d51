"""`Cluster`: the same runs on a worker process of Dask, which is killed."""

import os
import shutil
import signal

import pytest

import vertigrad as vg
from vertigrad.errors import InputError
from vertigrad.sweeps.cluster import Cluster

distributed = pytest.importorskip("distributed")


class Killing(Cluster):
    """Kills the worker when the first run has ended, and hides the folder of the scene from it."""

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


@pytest.mark.turns(3)
def test_dask_computes_the_same_and_a_worker_that_dies_loses_nothing(steady, cloud, tmp_path):
    values = {"cloud.speed": "0:1:6"}
    options = {"frames": 8, "size": (32, 24), "outcomes": [f"{cloud.parent}/measures.py:spread", "image"], "seed": 2}
    serial = vg.sweep(cloud, values, output=tmp_path / "serial", jobs=0, **options)
    # One worker, so that what it had is nowhere else; Dask starts another one.
    with distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None) as cluster:
        workers = Killing(cluster.scheduler_address)
        found = vg.sweep(cloud, values, output=tmp_path / "out", workers=workers, **options)
    assert workers.killed
    assert [run.error for run in found] == [""] * 6
    assert [(run.key, run.outcomes) for run in found] == [(run.key, run.outcomes) for run in serial]
    assert len(set(found["spread"].tolist())) == 6
    for one, other in zip(found, serial, strict=True):
        assert (found.folder / one.files["image"]).read_bytes() == (serial.folder / other.files["image"]).read_bytes()


def test_without_a_scheduler_there_is_an_error(cloud, tmp_path, monkeypatch):
    monkeypatch.setattr("vertigrad.sweeps.cluster.CONNECT_S", 1)
    with pytest.raises(InputError, match="no scheduler of Dask answers there"):
        vg.sweep(cloud, {"cloud.speed": [0.0]}, output=tmp_path / "out", scheduler="tcp://127.0.0.1:9")
