from typing import TYPE_CHECKING, Any, Callable, Dict, Generic, Protocol, TypeVar, Union, cast

if TYPE_CHECKING:
    from typing import Iterable

T = TypeVar("T")
Number = Union[int, float]


class Window(Generic[T]):
    def __init__(self, size: int) -> None:
        self._size = size
        self._items: list[T] = []

    def push(self, item: T) -> None:
        self._items.append(item)
        if len(self._items) > self._size:
            self._items.pop(0)

    def reduce(self, function: "Callable[[Iterable[T]], Any]") -> Any:
        return function(self._items)

    @property
    def full(self) -> bool:
        return len(self._items) == self._size


class Signal(Protocol):
    def value(self, bar: Bar) -> float: ...


class Body:
    def value(self, bar: Bar) -> float:
        return bar.close - bar.open


class Spread:
    def value(self, bar: Bar) -> float:
        return bar.high - bar.low


class Generalist(Strategy):
    signals: Dict[str, Signal] = {"body": Body(), "spread": Spread()}

    def on_start(self) -> None:
        self.windows: Dict[str, Window[float]] = {name: Window(8) for name in self.signals}

    def on_bar(self, bar: Bar) -> None:
        for name, signal in self.signals.items():
            self.windows[name].push(signal.value(bar))
        if not all(window.full for window in self.windows.values()):
            return
        body = cast(float, self.windows["body"].reduce(sum))
        spread: Number = self.windows["spread"].reduce(max)
        if self.flat and body > spread * 0.5:
            self.buy()
        elif self.long and body < -0.25 * spread:
            self.close()
