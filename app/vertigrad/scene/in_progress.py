"""`InProgress`: work of the models that is spread over several frames, while the previous step is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..gpu import Gpu
from ..gpu.deferred import Deferred, Grant, Spares

if TYPE_CHECKING:
    from ..gpu.kernel import Kernel
    from ..models import Model


class InProgress:
    """Execute the dispatches that `record` records of `models` in parts, by `proceed`; outputs change at the end.

    The scalars of models change immediately, and `cancel` restores them; `scalars` are the values before. If `record`
    raises, nothing has changed.
    """

    def __init__(self, gpu: Gpu, spares: Spares, models: Mapping[str, Model], record: Callable[[], object]):
        self._models = models
        self.scalars = {name: dict(model.scalar_state()) for name, model in models.items()}
        self._deferred = Deferred(gpu, spares)
        try:
            with self._deferred.recording():
                record()
        except BaseException:
            self._restore()
            raise

    @property
    def lost(self) -> bool:
        """Whether a part was dropped with a frame that failed; then it can only be cancelled."""
        return self._deferred.lost

    def work(self) -> list[tuple[str, Kernel, int]]:
        """(plan, kernel, workgroups) of each dispatch that is left."""
        return list(self._deferred.workgroups())

    def proceed(self, grant: Grant) -> bool:
        """Record as much as is granted; returns whether it has ended, so that the tensors have their new values."""
        if not self._deferred.encode(grant):
            return False
        self._deferred.commit()
        return True

    def cancel(self) -> None:
        """Drop it."""
        self._deferred.cancel()
        self._restore()

    def _restore(self) -> None:
        for name, model in self._models.items():
            model.load_scalar_state(self.scalars[name])
