from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np

from runtime.market.bars import Bars
from runtime.model import Instrument, Timeframe
from runtime.sir.compile import Compiled, compile_document
from runtime.sir.screen import screen
from runtime.sir.vocabulary import Mode

PLANS = Path(__file__).parents[2] / "sir_golden" / "plans"


def bars_of(close: np.ndarray) -> Bars:
    return Bars(
        instrument=Instrument(symbol="X", bars_per_year=252),
        timeframe=Timeframe(86_400),
        ts=np.arange(len(close)) * 86_400,
        open=close,
        high=close,
        low=close,
        close=close,
        volume=np.ones(len(close)),
    )


def test_a_screener_names_who_fires_on_the_last_bar_and_what_is_missing():
    document = json.loads((PLANS / "rsi_daily.json").read_text())
    document = {key: document[key] for key in ("schema_version", "name", "market", "features")} | {
        "signals": {"entry": document["signals"]["entry"]},
        "execution": {"mode": "screen"},
    }
    compiled = compile_document(json.dumps(document).encode(), mode=Mode.SCREEN)
    assert isinstance(compiled, Compiled), compiled
    falling = np.linspace(100.0, 50.0, 60)
    turned = np.concatenate((falling, [62.0]))
    found = {
        each.symbol: each
        for each in screen(
            compiled.plan,
            {
                "FALLS": bars_of(falling),
                "TURNS": bars_of(turned),
                "SHORT": bars_of(falling[:10]),
                "NONE": bars_of(falling[:0]),
            },
        )
    }
    assert [each.fires for each in found.values()] == [False, True, False, False]
    assert found["FALLS"].values[0][1] < 30.0 < found["TURNS"].values[0][1]
    assert found["TURNS"].ts is not None
    assert found["TURNS"].ts.timestamp() == 60 * 86_400
    # 14 bars of warm-up, one with a value, and the one before it for the crossing.
    assert (found["SHORT"].short_of, found["NONE"].short_of, found["FALLS"].short_of) == (6, 16, 0)
    assert not any(math.isnan(value) for _, value in found["FALLS"].values)
