"""A bad setting is told by its name, its value, the rule and the way out, and never in a library's words."""

from __future__ import annotations

import pytest

from flows.problems import UsageProblem
from flows.settings import load_settings

PROFILE = '[llm.a]\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "[search]\npopulation = 2",
            "search.population = 2: must be at least 4; change it, or leave it out for the default",
        ),
        ('[search]\npopulation = "x"', "search.population = 'x': must be a whole number; change it"),
        ("[search]\npopulatoin = 3", "search.populatoin: there is no such setting; did you mean population?"),
        ("[zzz]\npopulation = 3", "zzz: there is no such setting; remove it"),
        ('cage = "ful"', "cage = 'ful': must be 'full' or 'reduced'; change it"),
        ("workers = 0.5", "workers = 0.5: must be a whole number; change it"),
        ("search = 3", "search = 3: must be a section, like [name]; change it"),
        ("[limits]\ncpu_s = 0", "limits.cpu_s = 0: must be above 0; change it"),
        ("[limits]\nwall_s = nan", "limits.wall_s = nan: must be"),
        ("[budget.run]\ntokens = -1", "budget.run.tokens = -1: must be at least 1; change it"),
        ('[budget]\ncurrency = "usd"', "budget.currency = 'usd': must look like ^[A-Z]{3}$; change it"),
        ('[llm.a]\nmodel = "m"', "llm.a.base_url: is needed and is not there; add it"),
        (PROFILE + 'dialect = "y"', "llm.a.dialect: must be 'openai_chat', 'openai_responses'"),
        (PROFILE + 'constrained = "sk-canary"', "llm.a.constrained: must be true or false; change it"),
        (PROFILE + 'canary = "sk-canary"', "llm.a.canary: there is no such setting; remove it"),
        (PROFILE + 'key_env = "sk-canary 1"', "llm.a.key_env: must look like "),
        (PROFILE + "training_cutoff = 7.5", "llm.a.training_cutoff: must be a date, like 2026-11-30; change it"),
        ('[feeds.a]\ndialect = "q"', "feeds.a.dialect: must be one of 'klines', 'json'; change it"),
        ("[feeds.a]\nx = 1", "feeds.a.dialect: is needed and is not there; add it"),
        ('[feeds.a]\ndialect = "klines"\nbase_url = "canary"', "feeds.a.base_url: must be an address like https://"),
        ("llm = 4", "llm: must be a section, like [name]; change it"),
    ],
)
def test_each_kind_of_mistake_has_its_sentence(tmp_path, text, says):
    file = tmp_path / "trigate.toml"
    file.write_text(text)
    with pytest.raises(UsageProblem) as found:
        load_settings(file, tmp_path)
    sentence = str(found.value)
    assert sentence.startswith(f"{file}: {says}")
    assert "\n" not in sentence
    for word in ("Input should", "input should", "Value error", "Extra inputs", "Field required", "sk-canary"):
        assert word not in sentence
