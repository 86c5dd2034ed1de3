"""How a strategy traded, in a handful of ratios: for whoever wants to improve it. No part of any score.

No price, no stamp and no amount of money: a digest may be shown to somebody who must not guess the instrument.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

from runtime.model import Side

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runtime.kernel.report import Trade


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeGlimpse:
    """One closed round trip."""

    net_return: float
    """Profit after both fees over the value at entry; -0.05 is a loss of 5%."""
    bars: int
    """Bars from entry to exit."""
    mae: float
    """Deepest loss while held, as a fraction of the entry price, >= 0. The strategy's own run reports it."""
    mfe: float
    """Highest gain while held, as a fraction of the entry price, >= 0. The strategy's own run reports it."""
    exit_reason: str
    """As in ``runtime.kernel.report.Trade``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeDigest:
    """The closed round trips of one run. Only made when there is at least one."""

    count: int
    win_rate: float
    """Share of round trips with a profit after fees (0..1)."""
    mean_win: float | None
    """Mean ``net_return`` of those; None when there is none."""
    mean_loss: float | None
    """Mean ``net_return`` of the others, <= 0; None when there is none."""
    median_bars: float
    """Median bars from entry to exit."""
    fee_share: float | None
    """Fees over the profit before fees of the round trips that had one; None when none had."""
    exits: Mapping[str, int]
    """Round trips by exit reason."""
    worst: TradeGlimpse
    """The one with the lowest ``net_return``."""
    short_share: float | None = None
    """Of the bars held in round trips, the share held short (0..1); None in digests of earlier versions."""


def trade_digest(trades: Sequence[Trade]) -> TradeDigest | None:
    """The digest of a run's closed round trips; None without any."""
    if not trades:
        return None
    # Only one of them becomes a glimpse: there are twenty to a run, and a dozen runs to a candidate.
    net = [_net_return(trade) for trade in trades]
    wins = [each for each in net if each > 0]
    losses = [each for each in net if each <= 0]
    held = [trade.exit_row - trade.entry_row for trade in trades]
    short = sum(bars for trade, bars in zip(trades, held, strict=True) if trade.side is Side.SELL)
    gross = sum(max(0.0, trade.pnl + trade.fees) for trade in trades)
    return TradeDigest(
        count=len(trades),
        win_rate=len(wins) / len(trades),
        mean_win=fmean(wins) if wins else None,
        mean_loss=fmean(losses) if losses else None,
        median_bars=float(median(held)),
        fee_share=sum(trade.fees for trade in trades) / gross if gross > 0 else None,
        exits=dict(sorted(Counter([trade.exit_reason for trade in trades]).items())),
        worst=_glimpse(trades[net.index(min(net))]),
        short_share=short / sum(held) if sum(held) else 0.0,
    )


def _glimpse(trade: Trade) -> TradeGlimpse:
    return TradeGlimpse(
        net_return=_net_return(trade),
        bars=trade.exit_row - trade.entry_row,
        mae=trade.mae,
        mfe=trade.mfe,
        exit_reason=trade.exit_reason,
    )


def _net_return(trade: Trade) -> float:
    return trade.pnl / (abs(trade.quantity) * trade.entry_price)
