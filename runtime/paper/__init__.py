"""Paper trading: the file that was backtested, on closed bars as they come, with nobody in the chair and everything written down.

``run_paper`` runs one deployment on one symbol until its end. The session is the kernel's own, so equal bars give the backtest's fills;
the strategy lives wherever the caller's host puts it (in a cage, in ours). One transaction per bar holds the bar, fills, ledger,
decisions, plans, tokens, orders and the audit line, and a resume replays all of it, bit for bit, or stops.

Inside, from what is signed to what is seen: ``deployment``, ``runs``, ``plans``; ``feed``, ``live_feed``, ``clocks``; ``driver``,
``venue``; ``risk``, ``locks``, ``screen``; ``lease``, ``tokens``, ``journal``, ``audit``; ``resume``, ``runner``; ``watching``. ``tables``
holds the rows. This face imports nothing: paper trading needs a database, and what only reads the names of things should not.
"""

__all__: list[str] = []
