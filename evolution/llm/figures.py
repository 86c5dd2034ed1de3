"""What a model may know about a parent's results: figures per train fold, beside buy and hold.

A language model has read the past. So there is no symbol here, no date, no price and no amount of money, only ratios
with two digits; and a figure from validation or the vault is an error, not a line that is left out.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from fitness.card import CellResult, Metrics, Scorecard
    from fitness.trades import TradeDigest, TradeGlimpse

_TRAIN_PREFIX = "train-"
_WORST = 3
_COMPARED: tuple[tuple[str, Callable[[Metrics], float | None]], ...] = (
    ("sharpe", lambda metrics: metrics.sharpe),
    ("calmar", lambda metrics: metrics.calmar),
    ("return", lambda metrics: metrics.total_return),
    ("drawdown", lambda metrics: metrics.max_drawdown),
)


def figures(card: Scorecard) -> str:
    """A table, one line per train fold, each figure as ``strategy/buy-and-hold``, averaged over the instruments.

    Below it, how the strategy traded: over all folds, and its worst round trips.

    Raises:
        ValueError: the card holds a cell that is not of a train fold. Such a card must never reach a prompt.
    """
    folds: dict[str, list[CellResult]] = defaultdict(list)
    for cell in card.cells:
        if not cell.fold.startswith(_TRAIN_PREFIX):
            raise ValueError(f"a scorecard with a cell of fold {cell.fold!r}: only train folds may reach a prompt")
        folds[cell.fold].append(cell)
    header = (
        f"{'fold':<10}{''.join(f'{name:>15}' for name, _ in _COMPARED)}{'trades':>9}{'exposure':>10}{'turnover':>10}"
    )
    lines = [header, *(_line(fold, folds[fold]) for fold in sorted(folds))]
    score = f"score {_number(card.score)} against {_number(card.benchmark_score)} of buy and hold"
    lines.append(f"all folds: {card.trades} closed round trips, worst drawdown {_number(card.max_drawdown)}, {score}")
    lines.append(f"beats buy and hold: {'yes' if card.beats_buy_and_hold else 'no'}")
    return "\n".join([*lines, *_trading(card)])


def _trading(card: Scorecard) -> list[str]:
    digests = [cell.trading for cell in card.cells if cell.trading is not None]
    if not digests:
        return []
    worst = sorted((each.worst for each in digests), key=lambda each: each.net_return)[:_WORST]
    return [_habits(digests), *(f"a worst round trip: {_round_trip(each)}" for each in worst)]


def _habits(digests: Sequence[TradeDigest]) -> str:
    count = sum(each.count for each in digests)
    exits: dict[str, int] = defaultdict(int)
    for each in digests:
        for reason, times in each.exits.items():
            exits[reason] += times
    ended = ", ".join(f"{times} by {reason}" for reason, times in sorted(exits.items()))
    wins = sum(each.win_rate * each.count for each in digests) / count
    return (
        f"round trips: {wins:.0%} gain, {_mean(each.mean_win for each in digests)} on average, and the others "
        f"{_mean(each.mean_loss for each in digests)}; held {_mean(each.median_bars for each in digests)} bars; fees take "
        f"{_mean(each.fee_share for each in digests)} of the gains before fees; ended {ended}"
    )


def _round_trip(trade: TradeGlimpse) -> str:
    return (
        f"{trade.net_return:+.1%} over {trade.bars} bars, at worst {-trade.mae:.1%} and at best +{trade.mfe:.1%} on the way, "
        f"ended by {trade.exit_reason}"
    )


def _line(fold: str, cells: Sequence[CellResult]) -> str:
    own = [cell.metrics for cell in cells]
    held = [cell.buy_and_hold for cell in cells]
    compared = (f"{_mean(map(read, own))}/{_mean(map(read, held))}" for _, read in _COMPARED)
    trades = sum(metrics.trades for metrics in own)
    exposure = _mean(metrics.exposure for metrics in own)
    turnover = _mean(metrics.turnover for metrics in own)
    return f"{fold:<10}{''.join(f'{pair:>15}' for pair in compared)}{trades:>9}{exposure:>10}{turnover:>10}"


def _mean(values: Iterable[float | None]) -> str:
    defined = [value for value in values if value is not None]
    return _number(sum(defined) / len(defined) if defined else None)


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"
