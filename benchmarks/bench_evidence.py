"""What the statistics over a long run of nights cost: 2,000 trials of five years of daily bars, on one core.

OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/bench_evidence.py
"""

from __future__ import annotations

import resource
import time
from typing import TYPE_CHECKING

import numpy as np

from fitness import deflated_sharpe, sharpe_sample
from fitness.overfitting import effective_trials, overfitting_probability
from fitness.resampling import sharpe_interval, superior_ability

if TYPE_CHECKING:
    from collections.abc import Callable

BARS, TRIALS = 1_260, 2_000


def main() -> None:
    """Print seconds of CPU for each statistic, and the peak of memory."""
    rng = np.random.default_rng(1)
    returns = 0.01 * rng.standard_normal((BARS, TRIALS)) + 0.008 * rng.standard_normal((BARS, 1))
    statistics: dict[str, Callable[[], object]] = {
        "deflated Sharpe of each trial": lambda: [
            deflated_sharpe(sharpe_sample(column), trials=500, variance=1 / BARS) for column in returns.T
        ],
        "clusters": lambda: effective_trials(returns),
        "probability of overfitting, 16 blocks": lambda: overfitting_probability(returns),
        "superior ability, 1,000 draws": lambda: superior_ability(returns, rng),
        "interval of one trial, 1,000 draws": lambda: sharpe_interval(returns[:, 0], rng),
    }
    total = 0.0
    for name, compute in statistics.items():
        began = time.process_time()
        compute()
        seconds = time.process_time() - began
        total += seconds
        print(f"{name:<40} {seconds:6.2f} s")
    print(f"{'together':<40} {total:6.2f} s; peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
