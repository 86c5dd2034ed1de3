"""The limits of the risk guards, as configuration. The rules that hold to them are in ``runtime.paper.risk``."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(gt=0, le=1)]
Minutes = Annotated[float, Field(gt=0, le=525_600)]


class RiskLimits(BaseModel):
    """``[paper.guards]``: each rule with its limit; None switches a rule off, and at least one must be on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    order_notional: Annotated[float, Field(gt=0)] | None = 250_000.0
    """Most that one order may be worth, quote currency; set it to your own size (the default account begins with 100,000)."""
    price_deviation: Share | None = 0.2
    """Furthest that a limit or stop may lie from the last close, as a fraction of it."""
    exposure: Annotated[float, Field(gt=0, le=20)] | None = 1.05
    """Largest position after the order, waiting ones included, as a multiple of equity; a little over 1, for prices move until the fill."""
    max_drawdown: Share | None = 0.15
    """Fall from the highest equity within ``drawdown_minutes`` that locks the account for as long."""
    drawdown_minutes: Minutes = 1_440
    daily_loss: Share | None = 0.05
    """Fall since the trading day began that locks the account until the next one."""
    stop_losses: Annotated[int, Field(ge=1)] | None = 5
    """So many stop losses within ``stop_minutes`` lock the symbol for as long."""
    stop_minutes: Minutes = 60
    cooldown_minutes: Minutes | None = 5
    """Time after a losing round trip in which its side is not opened again."""
    low_profit: Annotated[float, Field(ge=-1, le=1)] | None = -0.05
    """Sum of the round trips' returns within ``profit_minutes`` below which the symbol is locked for as long."""
    profit_minutes: Minutes = 720
    trades_per_day: Annotated[int, Field(ge=1)] | None = 50
    """Orders that open or add, in one trading day."""
    market_hours: bool = True
    """Open only while the market trades (bars under a day)."""

    @property
    def is_empty(self) -> bool:
        """Whether no rule is on: that is no guard."""
        switched = (
            self.order_notional,
            self.price_deviation,
            self.exposure,
            self.max_drawdown,
            self.daily_loss,
            self.stop_losses,
            self.cooldown_minutes,
            self.low_profit,
            self.trades_per_day,
        )
        return all(each is None for each in switched) and not self.market_hours
