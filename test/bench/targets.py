# SPDX-License-Identifier: BSL-1.0
"""What the benchmarks are to reach."""
import dataclasses

ASIO, WHEEL = "asio", "wheel"


@dataclasses.dataclass(frozen=True)
class Target:
    """How many times `base` is as much as `ours`, and at least `must`; or at most, if `at_most`."""

    name: str
    workload: str
    n: int
    must: float
    aim: float | None = None
    base: str = ASIO
    ours: str = WHEEL
    without: str | None = None  # a subject whose share is taken off both
    at_most: bool = False  # ours as so many times the base
    quick: bool = True
    unit: str = "x"

    def measure(self, results):
        """None if a part of it was not measured."""
        subjects = results.get((self.workload, self.n), {})
        try:
            base, ours = subjects[self.base].median, subjects[self.ours].median
            if self.without:
                base -= subjects[self.without].median
                ours -= subjects[self.without].median
        except KeyError:
            return None
        return ours / base if self.at_most else base / ours

    def reached(self, value):
        return value <= self.must if self.at_most else value >= self.must


def size(n):
    for unit, name in ((1_000_000, "M"), (1_000, "k")):
        if n >= unit and n % unit == 0:
            return f"{n // unit}{name}"
    return str(n)


def at_sizes(name, workload, sizes, musts, aims, **options):
    return [
        Target(f"{name}, {size(n)}", workload, n, must, aim, **options)
        for n, must, aim in zip(sizes, musts, aims)
    ]


UP_TO_1M = (1_000, 100_000, 1_000_000)
TARGETS = [
    *at_sizes("arm + wait + cancel, before all others", "arm_cancel", UP_TO_1M, (6,) * 3, (10,) * 3),
    *at_sizes("re-arm a random timer", "rearm", UP_TO_1M, (1.2, 1.3, 1.5), (1.5, 2, 3)),
    *at_sizes("touch against re-arm", "touch", UP_TO_1M, (4, 10, 15), (5, 15, 25)),
    Target("deadline of an operation that ends at once, 1k", "cancel_after", 1_000, 8, 15,
           without="no deadline"),
    *at_sizes("mass expiry", "mass_expiry", (100_000, 1_000_000), (1, 1.3), (1.5, 2)),
    Target("stream of expiries, 100k in 1 s", "stream", 100_000, 4, 8),
    Target("two threads re-arm, 20k each", "two_threads", 20_000, 2, 4),
    Target("heap bytes per armed timer, 1M", "memory", 1_000_000, 0.85, 0.6, at_most=True),
    Target("timerfd_settime calls for 10 000 arm + cancel", "timer_calls", 2, 20, 1, base="one call",
           ours="wheel, by its counter", at_most=True, unit=""),
    # The least that any structure can do is to unlink a node and to append it elsewhere.
    Target("bare wheel, insert, times list relink, 1M", "bare_vs_list", 1_000_000, 10 / 16,
           base="relink", ours="insert", at_most=True),
    Target("bare wheel, re-file, times list relink, 1M", "bare_vs_list", 1_000_000, 40 / 16,
           base="relink", ours="refile", at_most=True),
    Target("bare wheel, expire, times list relink, 1M", "bare_vs_list", 1_000_000, 260 / 16,
           base="relink", ours="expire", at_most=True),
    Target("compile time of <timewheel/steady_timer.hpp>", "compile", 0, 1.3, 1.15, at_most=True),
    Target("growth, arm + cancel from 10k to 10M", "growth_arm_cancel", 10_000_000, 3, base="10k",
           ours="10M", at_most=True, quick=False),
]
