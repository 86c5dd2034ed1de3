"""The stand-in for a model earns its place: it writes real strategies, and it can be started by hand."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from evolution.llm.outcomes import Text
from evolution.llm.parse import Answer, read_answer
from evolution.llm.showing import shown_text
from evolution.operators import canonical_hash
from evolution.seeds import SEED_NAMES
from gates.findings import Rejected
from gates.scan import scan
from runtime.source import StrategySource

SERVER = Path(__file__).parents[2] / "llm_server.py"


@pytest.mark.parametrize("name", SEED_NAMES)
def test_its_edits_are_admissible_strategies_that_differ_from_parent_and_each_other(
    llm_server, prompts, starters, name
):
    parent = StrategySource.from_text(shown_text(StrategySource.from_text(starters[name]), prompts.words))
    children = []
    for seed in range(20):
        code, note = llm_server.edited(parent.text, random.Random(seed))
        children.append(StrategySource.from_text(code))
        assert note != "nothing to change"
        assert not isinstance(scan(children[-1]), Rejected), code
    hashes = {canonical_hash(child) for child in children}
    assert canonical_hash(parent) not in hashes
    assert len(hashes) > 10


def test_its_answers_depend_on_question_and_seed_alone(llm_server, prompts, propose, make_trial, starters):
    parent = make_trial(starters["trend"])
    messages = prompts.task(propose(parent), [parent]).first().messages
    request = {"model": "scripted", "messages": [{"role": m.role.value, "content": m.content} for m in messages]}
    written = []
    for seed in (0, 0, 1):
        with llm_server.ScriptedServer(seed=seed) as server:
            written.append(server.answer("/v1/chat/completions", None, request).body)
    assert written[0] == written[1] != written[2]


def test_a_mode_that_it_does_not_have_is_refused_at_once(llm_server):
    with pytest.raises(ValueError, match="unknown modes"):
        llm_server.ScriptedServer(["explode"])


def test_it_runs_by_hand_and_says_where_it_is(profile_for, held):
    from evolution.llm import LlmRequest, Message, Role, open_client

    question = "```python\nclass S(Strategy):\n    n = param(5, low=2, high=9)\n\n    def on_bar(self, bar):\n        self.close()\n```\n"
    request = LlmRequest(subject="g", prompt_version="v", messages=(Message(Role.USER, question),))
    process = subprocess.Popen([sys.executable, str(SERVER), "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().strip()
        with open_client(profile_for(address), {}, timing=held.timing()) as client:
            outcome = client.complete(request)
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert isinstance(outcome, Text)
    assert isinstance(read_answer(outcome), Answer)
