"""The kernel: one closed bar after the other through one strategy.

``run_strategy`` runs a strategy class over bars in this process (cage it first), ``buy_and_hold`` runs the benchmark
through the same code. Both give a ``RunReport``; ``encode_report`` and ``decode_report`` carry one out of a process
that nobody trusts. ``RemoteHost`` and ``serve_strategy`` are the two ends of a run whose strategy lives in another process and
sees one bar at a time. ``Session`` is what they share with a live clock: it drives any ``StrategyHost``. The rules of
trading are in ``venue`` (order of things inside a bar), ``matching`` (prices), ``costs`` and ``portfolio`` (the books).
"""

from runtime.kernel.backtest import run_host, run_strategy
from runtime.kernel.buy_and_hold import buy_and_hold
from runtime.kernel.local import CANDIDATE_FILE, LocalHost, failure_of
from runtime.kernel.remote import LOST, RemoteHost, serve_strategy
from runtime.kernel.report import (
    AccountKind,
    Costs,
    Failure,
    OrderEntry,
    Refusal,
    RunConfig,
    RunEnd,
    RunReport,
    Trade,
)
from runtime.kernel.session import Account, Declaration, RunLimits, Session, StrategyHost
from runtime.kernel.wire import ReportError, decode_report, encode_report

__all__ = [
    "CANDIDATE_FILE",
    "LOST",
    "Account",
    "AccountKind",
    "Costs",
    "Declaration",
    "Failure",
    "LocalHost",
    "OrderEntry",
    "Refusal",
    "RemoteHost",
    "ReportError",
    "RunConfig",
    "RunEnd",
    "RunLimits",
    "RunReport",
    "Session",
    "StrategyHost",
    "Trade",
    "buy_and_hold",
    "decode_report",
    "encode_report",
    "failure_of",
    "run_host",
    "run_strategy",
    "serve_strategy",
]
