"""Where orders go: the seam at which another venue than the simulated one would be put.

A venue opens a course for a run, and everything above (guards, plans, tokens, ledger, audit, resume) only knows that. There is one
venue, the kernel's; real money is out of scope.

VenueRefused    there is no such venue; the text is one sentence
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from runtime.paper.driver import Driver

if TYPE_CHECKING:
    from runtime.kernel.report import RunConfig
    from runtime.kernel.session import RunLimits, StrategyHost
    from runtime.model import Instrument

SIMULATED = "simulated"


class VenueRefused(ValueError):  # noqa: N818  # an outcome; the caller says it
    """No order will ever go there."""


class Venue(Protocol):
    """Opens one course per run. Promises: orders fill or are refused bar by bar, in order, and equal bars give equal fills."""

    def open(self, host: StrategyHost, config: RunConfig, instrument: Instrument, limits: RunLimits) -> Driver:
        """A run at this venue, not started."""


class SimulatedVenue:
    """The backtest's own matching. Implements ``Venue``."""

    def open(self, host: StrategyHost, config: RunConfig, instrument: Instrument, limits: RunLimits) -> Driver:
        """A run on paper."""
        return Driver(host, config, instrument, limits)


def find_venue(name: str) -> Venue:
    """The venue of that name.

    Raises:
        VenueRefused: it would need real money.
    """
    if name != SIMULATED:
        raise VenueRefused(
            f"venue {name!r}: real money is out of scope; Trigate trades on paper, at the venue {SIMULATED!r}"
        )
    return SimulatedVenue()
