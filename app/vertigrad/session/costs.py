"""`Cost`: how many workgroups of a kernel fit into a frame, learned from how long some of them took."""

from __future__ import annotations

from dataclasses import dataclass

PROBE = 4  # workgroups of a kernel that was never measured, to begin with
GROWTH = 4.0  # times as many as were measured last, at most
APART = 2  # times as many: from there on two measurements tell whether more take longer
SAME = 1.3  # times as long: not longer
EASE = 1.3  # times what the least takes, if that alone is beyond the budget


@dataclass
class Cost:
    """`measured` workgroups in one dispatch took `measured_ms` when they were measured last.

    A GPU may take as long for one as for hundreds: `least_ms` is what it takes in any case, 0 if nothing says so.
    `other` and `other_ms` are an earlier measurement, of many more or fewer.
    """

    measured: int
    measured_ms: float
    least_ms: float = 0.0
    other: int = 0
    other_ms: float = 0.0

    def ms(self, count: int) -> float:
        """What so many are expected to take, at most."""
        return self.measured_ms / self.measured * count

    def affordable(self, left: float, budget: float) -> int:
        """How many fit into `left` ms of `budget`; at least one if that is all of it."""
        if left < budget:
            return max(int(left * self.measured / self.measured_ms), 0)
        factor = min(max(budget, EASE * self.least_ms) / self.measured_ms, GROWTH)
        cost_nothing = self.measured_ms <= SAME * self.least_ms
        if cost_nothing or (not self.other and self.measured_ms <= APART * budget):  # or it is to be found out
            factor = max(factor, float(APART))
        return max(int(self.measured * factor), 1)

    def learn(self, count: int, ms: float) -> None:
        """So many took so long."""
        ms = max(ms, 1e-6)
        if not count / APART < self.measured < count * APART:
            self.other, self.other_ms = self.measured, self.measured_ms
        self.measured, self.measured_ms = count, ms
        if self.other and not count / APART < self.other < count * APART:
            (_, short), (_, long) = sorted([(count, ms), (self.other, self.other_ms)])
            self.least_ms = short if long <= SAME * short else 0.0
