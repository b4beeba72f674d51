"""`CudaGraph` with a graph that does nothing instead of CUDA's: which tensors count as written."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from vertigrad.models.torch_graph import CudaGraph  # noqa: E402


@pytest.fixture
def replays(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """PyTorch as it is with CUDA; one element for each replay. No replay changes a `_version`, like those of CUDA."""
    done: list[int] = []
    stream = SimpleNamespace(wait_stream=lambda _: None)
    monkeypatch.setattr(torch.cuda, "Stream", lambda: stream)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: stream)
    monkeypatch.setattr(torch.cuda, "stream", nullcontext)
    monkeypatch.setattr(torch.cuda, "graph", lambda *_, **__: nullcontext())
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: SimpleNamespace(replay=lambda: done.append(1)))
    return done


def test_a_replay_writes_what_was_written_as_it_was_captured(replays):
    """Copies on the host and uploads follow `_version`, which PyTorch does not change when it replays a graph."""
    graph, tensors = CudaGraph(), {"written": torch.zeros(2), "read": torch.zeros(2)}
    for step in range(5):
        before = tensors["written"]._version
        graph.take("alike", lambda: tensors["written"].add_(tensors["read"]), tensors)
        assert tensors["written"]._version > before
        assert tensors["read"]._version == 0
        assert len(replays) == max(step, 0)


def test_another_key_is_captured_anew(replays):
    graph, tensors = CudaGraph(), {"a": torch.zeros(2), "b": torch.zeros(2)}
    for name in ("a", "a", "a", "b", "b", "b", "b"):
        versions = {key: one._version for key, one in tensors.items()}
        graph.take(name, lambda name=name: tensors[name].add_(1.0), tensors)
        changed = {key for key, one in tensors.items() if one._version != versions[key]}
        assert changed == {name}
    graph.close()
    assert len(replays) == 5
