"""Models that are closed after a test, or after all tests of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor
from vertigrad.gpu import Gpu
from vertigrad.models import registry

Make = Callable[..., Any]


@pytest.fixture
def make(steady: Gpu) -> Iterator[Make]:
    """Create a model of a type from its inputs and parameters: `make("mpm", {"obstacle": array}, gravity=0.0)`."""
    with created() as make_model:
        yield make_model


@pytest.fixture(scope="module")
def make_for_all(gpu: Gpu) -> Iterator[Make]:
    """Create models as `make` does, which all tests of a file share."""
    with created() as make_model:
        yield make_model


@contextmanager
def created() -> Iterator[Make]:
    with ExitStack() as stack:

        def make_model(type_: str, inputs: Mapping[str, Tensor | np.ndarray] | None = None, **values: Any) -> Any:
            tensors = {
                name: stack.enter_context(Tensor.from_numpy(given, name)) if isinstance(given, np.ndarray) else given
                for name, given in (inputs or {}).items()
            }
            kind = registry.types()[type_]
            model = kind("model", kind.Params.parse(values), tensors, 1)
            stack.callback(model.close)
            return model

        yield make_model
