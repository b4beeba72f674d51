import pytest

from .fake import FakeGpu


@pytest.fixture
def fake() -> FakeGpu:
    return FakeGpu()
