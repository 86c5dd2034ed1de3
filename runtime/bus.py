"""A message bus that ends at its owner: a strategy may use it to structure its own code, and reaches nobody else."""

from __future__ import annotations

from collections.abc import Callable

from runtime.desk import StrategyError

Listener = Callable[[object], object]

MAX_LISTENERS = 100
MAX_DEPTH = 16


class MessageBus:
    """Publish and subscribe among one strategy's own methods.

    The engine neither publishes here nor listens: a forged event changes nothing but the strategy's own view.

    >>> bus, seen = MessageBus(), []
    >>> bus.subscribe("exit", seen.append)
    >>> bus.publish("exit", 3)
    >>> seen
    [3]
    """

    __slots__ = ("_depth", "_listeners")

    def __init__(self) -> None:
        self._listeners: dict[str, list[Listener]] = {}
        self._depth = 0

    def subscribe(self, topic: str, handler: Listener) -> None:
        """Call ``handler(message)`` for each later message on ``topic``.

        Raises:
            StrategyError: the topic is no text, the handler cannot be called, or there are 100 handlers already.
        """
        if type(topic) is not str or not callable(handler):
            raise StrategyError("bus-subscribe", "bus.subscribe(topic, handler) takes a text and a function")
        if sum(map(len, self._listeners.values())) >= MAX_LISTENERS:
            raise StrategyError("bus-full", f"a bus takes at most {MAX_LISTENERS} handlers")
        self._listeners.setdefault(topic, []).append(handler)

    def unsubscribe(self, topic: str, handler: Listener) -> None:
        """Stop calling ``handler`` for ``topic``; unknown pairs are ignored."""
        self._listeners[topic] = [known for known in self._listeners.get(topic, []) if known != handler]

    def publish(self, topic: str, message: object = None) -> None:
        """Hand ``message`` to the handlers of ``topic``, in order of subscription, before returning.

        Raises:
            StrategyError: handlers that publish in turn are nested more than 16 deep.
        """
        if self._depth >= MAX_DEPTH:
            raise StrategyError("bus-depth", f"messages that cause messages are nested more than {MAX_DEPTH} deep")
        self._depth += 1
        try:
            for handler in tuple(self._listeners.get(topic, ())):
                handler(message)
        finally:
            self._depth -= 1
