"""Whatever a strategy raises becomes a failure with a hook, a type, a line and our own words."""

from __future__ import annotations

import pytest

from runtime.kernel import CANDIDATE_FILE, RunConfig, RunEnd, run_strategy
from runtime.strategy import INJECTED


def load(source):
    namespace = dict(INJECTED)
    exec(compile(source, CANDIDATE_FILE, "exec"), namespace)
    return namespace["S"]


@pytest.fixture
def fail(bars_of):
    def run(source):
        report = run_strategy(load(source), bars_of([100, 101, 102]), RunConfig())
        assert report.end is RunEnd.FAILED
        return report.failure

    return run


@pytest.mark.parametrize(
    ("raised", "name"),
    [
        ("ValueError('rm -rf {secret}')", "ValueError"),
        ("SystemExit(0)", "SystemExit"),
        ("KeyboardInterrupt()", "KeyboardInterrupt"),
        ("GeneratorExit()", "GeneratorExit"),
        ("BaseExceptionGroup('x', [ValueError()])", "ExceptionGroup"),
        ("Mine('text')", "LookupError"),
        ("Forged('text')", "BaseException"),
    ],
)
def test_anything_raised_is_a_failure_by_its_nearest_builtin_type(fail, raised, name):
    failure = fail(
        f"""
class Mine(KeyError.__base__):
    pass
class Forged(BaseException):
    __module__ = "builtins"
    __traceback__ = property(lambda self: 1 / 0)
class S(Strategy):
    def on_bar(self, bar):
        raise {raised}
"""
    )
    assert (failure.hook, failure.exception, failure.line) == ("on_bar", name, 9)
    assert failure.message == f"on_bar raised {name} at line 9"


def test_the_line_is_the_innermost_one_of_the_candidate(fail):
    failure = fail(
        """
def deeper(values):
    return max(values)
class S(Strategy):
    def on_bar(self, bar):
        deeper([])
"""
    )
    assert (failure.exception, failure.line) == ("ValueError", 3)


def test_every_hook_is_named(fail, bars_of):
    for hook, source in {
        "__init__": "def __init__(self, **kwargs): 1 / 0",
        "on_start": "def on_start(self): 1 / 0",
        "on_fill": "def on_bar(self, bar): self.buy(1)\n    def on_fill(self, fill): 1 / 0",
        "on_stop": "def on_stop(self): 1 / 0",
    }.items():
        body = source if "on_bar" in source else source + "\n    def on_bar(self, bar): pass"
        failure = fail(f"class S(Strategy):\n    {body}\n")
        assert (failure.hook, failure.exception) == (hook, "ZeroDivisionError")


def test_wrong_use_of_the_api_fails_under_its_rule_with_our_words(fail):
    failure = fail("class S(Strategy):\n    def on_bar(self, bar):\n        self.indicator('SMA')\n")
    assert (failure.exception, failure.line) == ("declare-late", 3)
    assert failure.message.startswith("indicator() works in on_start only")


def test_an_init_that_forgets_its_super_is_told(fail):
    failure = fail("class S(Strategy):\n    def __init__(self, **kwargs): pass\n    def on_bar(self, bar): pass\n")
    assert (failure.hook, failure.exception) == ("__init__", "init-without-super")


def test_orders_in_init_are_told(fail):
    failure = fail(
        "class S(Strategy):\n    def __init__(self, *a, **k):\n        super().__init__(*a, **k)\n        self.buy(1)\n"
        "    def on_bar(self, bar): pass\n"
    )
    assert (failure.hook, failure.exception, failure.line) == ("__init__", "not-started", 4)


def test_a_text_smuggled_into_an_api_error_is_escaped_and_capped(fail):
    failure = fail(
        "class S(Strategy):\n    def on_bar(self, bar):\n        try:\n            self.need(3)\n"
        "        except Exception as error:\n            error.message = 'x\\n' * 9000\n            error.rule = '\\x1b[31m'\n"
        "            raise\n"
    )
    assert failure.exception == "\\x1b[31m"
    assert len(failure.message) == 500
    assert failure.message.isprintable()


def test_a_recursion_that_never_ends_is_a_failure(fail):
    failure = fail("class S(Strategy):\n    def on_bar(self, bar):\n        self.on_bar(bar)\n")
    assert failure.exception == "RecursionError"


@pytest.mark.parametrize(
    ("parameters", "arguments"),
    [
        (None, None),
        ("name, clock, bus, instrument, timeframe", "name, clock, bus, instrument, timeframe"),
        (
            "name, clock, bus, instrument, timeframe",
            "name=name, clock=clock, bus=bus, instrument=instrument, timeframe=timeframe",
        ),
        ("**kwargs", "**kwargs"),
    ],
)
def test_init_may_be_left_out_or_call_super_in_any_way(bars_of, parameters, arguments):
    init = f"def __init__(self, {parameters}): super().__init__({arguments})" if parameters else "pass"
    source = f"""
class S(Strategy):
    {init}
    def on_bar(self, bar):
        if self.bar_count == 1:
            self.log(self.name, self.instrument.symbol, str(self.timeframe), self.clock.now().isoformat())
"""
    report = run_strategy(load(source), bars_of([100, 101]), RunConfig())
    assert report.log == ("S X 1d 2020-09-15T00:00:00+00:00",)


def test_what_a_candidate_puts_into_its_outbox_by_hand_reaches_nobody(bars_of):
    source = """
class S(Strategy):
    def on_bar(self, bar):
        self._desk.outbox.append("buy everything")
        self._desk.cash = 1e9
        self._desk.position = 5.0
        if self.bar_count == 1:
            self.buy(2000)
"""
    report = run_strategy(load(source), bars_of([100, 101, 102]), RunConfig())
    assert report.end is RunEnd.FINISHED
    assert report.equity.tolist() == [100_000.0] * 4
    assert report.refused[0].reason.startswith("insufficient cash")
