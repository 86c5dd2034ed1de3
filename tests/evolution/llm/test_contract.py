"""The system text says what the gates and the engine say, because it is made from their tables."""

import re

from evolution.llm.contract import standard_prompts
from fitness.objectives import ScoreRules
from gates.findings import Rejected
from gates.rules import RULES
from gates.scan import scan
from runtime.indicators import REGISTRY, SOURCES
from runtime.source import StrategySource
from runtime.strategy import INJECTED


def test_every_name_rule_and_indicator_is_in_it(prompts):
    text = prompts.system.text
    words = set(re.findall(r"[\w.]+", text))
    assert set(INJECTED) <= words
    assert {spec.name for spec in REGISTRY.values() if not spec.is_boolean} <= words
    assert set(SOURCES) <= words
    assert [rule.id for rule in RULES if f"`{rule.id}`" not in text] == []


def test_nothing_is_left_unfilled(prompts):
    assert not re.search(r"\$[a-z_]+", prompts.system.text)


def test_the_limits_are_those_of_the_run():
    text = standard_prompts(ScoreRules(max_drawdown=0.2, min_trades=77)).system.text
    assert "at most 20%" in text
    assert "77 closed round trips" in text


def test_the_version_names_the_text_and_follows_its_content(prompts):
    assert re.fullmatch(r"system-\d+\.[0-9a-f]{8}", prompts.system.version)
    assert standard_prompts().system == prompts.system
    assert standard_prompts(ScoreRules(min_trades=77)).system.version != prompts.system.version


def test_its_example_passes_the_gate(prompts):
    (example,) = re.findall(r"^```python\n(class .*?)^```$", prompts.system.text, re.MULTILINE | re.DOTALL)
    assert not isinstance(scan(StrategySource.from_text(example)), Rejected)


def test_the_words_that_a_shown_strategy_keeps_are_the_engine_s_own(prompts):
    assert {"RSI", "BBANDS.upper", "close", "hl2"} <= prompts.words
    assert all(re.fullmatch(r"[A-Za-z0-9_.]{1,30}", word) for word in prompts.words)


def test_the_brief_contract_is_a_fraction_of_the_whole_one_and_names_only_what_exists(prompts):
    from evolution.llm.contract import BRIEF_INDICATORS, standard_prompts
    from runtime.indicators import REGISTRY

    brief = standard_prompts(brief=True)
    assert len(brief.system.text) < len(prompts.system.text) / 6
    assert brief.words == prompts.words
    assert brief.system.version.startswith("brief-")
    for name in BRIEF_INDICATORS:
        assert REGISTRY[name].takes_source
        assert list(REGISTRY[name].params) == ["timeperiod"]
