"""A profile is safe to store and to show, and cannot be written so that a key travels in the open."""

from datetime import date

import pytest
from pydantic import ValidationError

from evolution.llm import LlmProfile, Price, Usage


def profile(**changes):
    return LlmProfile.model_validate(
        {"name": "night", "base_url": "https://models.example/v1", "model": "big", **changes}
    )


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"api_key": "sk-canary"}, "not permitted"),
        ({"key_env": "sk-canary-1234"}, "pattern"),
        ({"base_url": "https://me:sk-canary@models.example/v1"}, "no user, password"),
        ({"base_url": "https://models.example/v1?key=sk-canary"}, "no user, password"),
        ({"base_url": "models.example/v1"}, "address like"),
        ({"base_url": "file:///etc/passwd"}, "address like"),
        ({"base_url": "https://models.example:99999/v1"}, "ort"),
        ({"base_url": "http://models.example/v1", "key_env": "KEY"}, "plain http"),
        ({"base_url": "http://127.0.0.1.models.example/v1", "key_env": "KEY"}, "plain http"),
        ({"dialect": "telepathy"}, "openai_chat"),
        ({"constrained": True}, "llamacpp or vllm"),
        ({"constrained": True, "dialect": "llamacpp", "mutate_as": "search_replace"}, "leave mutate_as out"),
        ({"dialect": "ollama"}, "needs context_tokens"),
        ({"dialect": "anthropic", "temperature": 0.5}, "temperature is refused from api_version 2026-10-21 on"),
        ({"dialect": "anthropic", "max_tokens_field": "max_completion_tokens"}, "leave it out with dialect anthropic"),
        ({"mutate_as": "udiff"}, "search_replace"),
        ({"contract": "none"}, "brief"),
        ({"price": {"input_per_million": 1, "output_per_million": 1}}, "as_of"),
        ({"max_tokens": 10}, "256"),
        ({"temperature": 9}, "2"),
        ({"attempts": 0}, "1"),
        ({"timeouts": {"call_s": 0}}, "0"),
        ({"timeouts": {"total_s": 5}}, "not permitted"),
    ],
)
def test_what_is_not_allowed_is_refused_without_repeating_it(changes, says):
    with pytest.raises(ValidationError) as error:
        profile(**changes)
    assert says in str(error.value)
    assert "sk-canary" not in str(error.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/v1", "http://localhost/v1", "http://[::1]:8080/v1"])
def test_plain_http_with_a_key_is_for_this_machine_only(url):
    assert profile(base_url=url, key_env="KEY").base_url == url


def test_plain_http_without_a_key_may_go_anywhere():
    assert profile(base_url="http://models.example/v1/").base_url == "http://models.example/v1"


def test_a_profile_is_frozen_and_survives_a_round_trip():
    one = profile(
        key_env="KEY",
        training_cutoff="2025-06-30",
        price={"input_per_million": 2, "output_per_million": 8, "as_of": "2026-11-01"},
    )
    assert LlmProfile.model_validate_json(one.model_dump_json()) == one
    assert one.training_cutoff == date(2025, 6, 30)
    with pytest.raises(ValidationError):
        one.model = "other"


def test_a_price_is_per_million_tokens():
    price = Price(input_per_million=2, output_per_million=8, as_of=date(2026, 11, 1))
    assert price.cost(Usage(prompt_tokens=500_000, completion_tokens=250_000)) == pytest.approx(3.0)


@pytest.mark.parametrize("port", ["sk-canary-123", "99999", "-1", "\u0663"])
def test_what_stands_for_a_port_is_not_repeated(port):
    with pytest.raises(ValidationError, match=r"port|address") as error:
        LlmProfile(name="p", base_url=f"https://h:{port}/v1", model="m")
    assert port not in str(error.value)


@pytest.mark.parametrize(
    "url",
    ["http://h/v1\t", "http://127.0.0.1:9/v1\n", "http://[v1.a]/v1", "https://xn--/v1", "http://a..b/v1", "https://h[/v1",
     "http://[::1", "https://-/v1", "http://%41/v1", "http://" + "a" * 70 + ".com/v1", "http://h\\x/v1"],
)  # fmt: skip
def test_an_address_that_no_client_takes_is_refused_in_a_sentence(url):
    with pytest.raises(ValidationError, match="must be an address"):
        LlmProfile(name="p", base_url=url, model="m")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8080/v1",
        "http://[::1]:8080/v1",
        "https://api.a-b.example.com/v1",
        "http://my_host:1/v1",
        "HTTP://LOCALHOST:9/v1",
    ],
)
def test_an_address_that_a_profile_takes_opens(url):
    from evolution.llm import open_client

    open_client(LlmProfile(name="p", base_url=url, model="m"), {}).close()


@pytest.mark.parametrize("price", [float("inf"), float("nan"), -1.0])
def test_a_price_is_a_finite_number(price):
    with pytest.raises(ValidationError):
        Price(input_per_million=price, output_per_million=1, as_of=date(2026, 11, 1))
