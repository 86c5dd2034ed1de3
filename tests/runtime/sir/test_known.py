"""What is remembered between programs changes nothing but the time that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sir_worlds import markets, programs

from runtime import indicators
from runtime.kernel import RunConfig, RunReport
from runtime.sir import known as known_module
from runtime.sir.known import Known
from runtime.sir.vector import run_vector

if TYPE_CHECKING:
    from runtime.market.bars import Bars


@settings(phases=(Phase.explicit, Phase.reuse, Phase.generate), max_examples=30)
@given(st.lists(programs(), min_size=2, max_size=4), markets(step=3_600))
def test_programs_that_share_a_memory_run_as_each_would_alone(several, bars: Bars) -> None:
    known = Known(bars)
    for program in several:
        shared, alone = run_vector(program, bars, RunConfig(), known=known), run_vector(program, bars, RunConfig())
        assert shared.order_log == alone.order_log
        both = [run.equity if isinstance(run, RunReport) else run.curve.equity for run in (shared, alone)]
        assert both[0].tobytes() == both[1].tobytes()


@given(markets())
def test_a_series_is_computed_once_until_there_are_too_many(bars: Bars) -> None:
    calls = [indicators.check("SMA", "close", {"timeperiod": period}) for period in range(2, 7)]
    known = Known(bars)
    assert known.series(calls[0]) is known.series(calls[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_module, "_MOST_VALUES", len(bars))
        kept = [known.series(call) for call in calls]
        again = known.series(calls[0])
        assert again is not kept[0]
        assert np.array_equal(again, kept[0], equal_nan=True)


@given(markets())
def test_tables_are_kept_until_they_are_too_large(bars: Bars) -> None:
    known = Known(bars)
    assert known.lows(5) is known.lows(7)
    assert known.lows(5) is not known.falls(5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_module, "_MOST_IN_TABLES", 0)
        assert known.lows(20) is not known.lows(20)
