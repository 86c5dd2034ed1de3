"""From a proposal to a candidate, against a server that really edits: nothing is lost, mended or passed off."""

import logging
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from evolution.breed import Barren
from evolution.candidate import Candidate
from evolution.llm.breeder import LlmBreeder, Outage
from evolution.operators import canonical_hash
from evolution.proposal import Proposal, ProposalKind
from evolution.trial import TrialOutcome
from gates.findings import Rejected

KEY = "canary-key-7f3a91c2d4"
LASTING = (
    "400",
    "401",
    "402",
    "403-page",
    "404",
    "429-quota",
    "429-spend",
    "error-200-quota",
    "html",
    "redirect",
    "key-echo",
    "compressed",
)
ONE_CALL = ("400-overflow", "huge")
UNREADABLE = {
    "length": "E_TRUNCATED",
    "null": "E_EMPTY",
    "empty": "E_EMPTY",
    "refusal": "E_REFUSED",
    "filter": "E_REFUSED",
    "tool-call": "E_TOOL_CALL",
    "prose": "E_NO_CODE",
    "two-blocks": "E_MANY_BLOCKS",
    "open-block": "E_OPEN_BLOCK",
    "other-language": "E_WRONG_LANGUAGE",
    "curly-quotes": "E_BAD_CHARACTER",
    "duplicate": "E_NOOP",
    "odd-finish": "E_MALFORMED",
}


@pytest.fixture
def parent(make_trial, starters):
    return make_trial(starters["breakout"])


@pytest.fixture
def breeder_for(connect, prompts, new_book):
    """A breeder at a server with a plan: ``breeder, server, records = breeder_for("500")``."""

    def make(*plan, **options):
        client, server = connect(*plan, **options)
        records = new_book()
        return LlmBreeder(client, client.profile, prompts=prompts, book=records), server, records

    return make


def test_a_mutation_is_a_new_strategy_with_an_honest_origin(breeder_for, propose, parent, gate_one):
    breeder, _, records = breeder_for()
    breeding = breeder.breed(propose(parent), [parent], gate_one)
    child = breeding.result
    assert isinstance(child, Candidate)
    assert canonical_hash(child.source) != canonical_hash(parent.candidate.source)
    assert (child.id, child.run_id, child.generation, child.index) == ("g001-c005", "night", 1, 5)
    assert child.provenance.operator == "llm/mutate"
    assert child.provenance.model == "scripted"
    assert child.provenance.parents == ("g000-c000",)
    assert child.provenance.seed == 11
    assert child.provenance.detail
    assert breeding.rounds == breeding.usage.calls == len(records) == 1
    assert breeding.usage.prompt_tokens == records[0].prompt_tokens == 1200
    assert gate_one.asked == [child.source]


def test_a_crossover_joins_two_parents(breeder_for, propose, make_trial, starters, gate_one):
    first, second = (make_trial(starters[name], index=index) for index, name in enumerate(["trend", "breakout"]))
    breeder, server, _ = breeder_for()
    child = breeder.breed(propose(first, second), [first, second], gate_one).result
    assert isinstance(child, Candidate)
    assert child.provenance.operator == "llm/crossover"
    assert child.provenance.parents == ("g000-c000", "g000-c001")
    assert canonical_hash(child.source) not in {canonical_hash(trial.candidate.source) for trial in (first, second)}
    assert "class Trend" in server.seen[0].text
    assert "class Breakout(Strategy):" in server.seen[0].body["messages"][1]["content"]


def test_findings_go_back_and_the_second_source_is_the_candidate(breeder_for, propose, parent, gate_one):
    breeder, server, records = breeder_for("violating")
    breeding = breeder.breed(propose(parent), [parent], gate_one)
    child = breeding.result
    assert isinstance(child, Candidate)
    assert child.provenance.operator == "llm/mutate+repair"
    assert b"import os" not in child.source.data
    assert breeding.rounds == 2
    assert breeding.usage.prompt_tokens == 2400
    refused = gate_one.asked[0]
    finding = gate_one(refused).findings[0]
    question = server.seen[1].body["messages"]
    assert [message["role"] for message in question] == ["system", "user", "assistant", "user"]
    assert refused.text in question[2]["content"]
    for word in (finding.rule, '"line": 1', '"code": "import os"'):
        assert word in question[3]["content"]
    assert "repair-" in records[1].prompt_version


def test_a_source_that_stays_refused_is_a_candidate_all_the_same(breeder_for, propose, parent, gate_one):
    breeder, server, _ = breeder_for(model="scripted:stubborn")
    breeding = breeder.breed(propose(parent), [parent], gate_one)
    child = breeding.result
    assert isinstance(child, Candidate)
    assert breeding.rounds == len(server.seen) == 3
    assert child.source == gate_one.asked[-1]
    assert child.provenance.operator == "llm/mutate+repair"
    assert isinstance(gate_one(child.source), Rejected)


def test_a_refused_source_is_kept_when_its_repairs_are_unreadable(breeder_for, propose, parent, gate_one):
    breeder, _, _ = breeder_for("violating", "prose", "null")
    child = breeder.breed(propose(parent), [parent], gate_one).result
    assert isinstance(child, Candidate)
    assert child.source == gate_one.asked[0]
    assert child.provenance.operator == "llm/mutate"


@pytest.mark.parametrize(("mode", "code"), UNREADABLE.items())
def test_an_unreadable_answer_goes_back_with_its_code(breeder_for, propose, parent, gate_one, mode, code):
    breeder, server, records = breeder_for(mode)
    breeding = breeder.breed(propose(parent), [parent], gate_one)
    assert isinstance(breeding.result, Candidate)
    assert breeding.result.provenance.operator == "llm/mutate"
    assert breeding.rounds == len(records) == 2
    assert code in server.seen[1].body["messages"][1]["content"]
    assert len(gate_one.asked) == 1


@pytest.mark.parametrize(("mode", "code"), UNREADABLE.items())
def test_nothing_but_unreadable_answers_leave_the_place_empty(breeder_for, propose, parent, gate_one, mode, code):
    breeder, _, records = breeder_for(model=f"scripted:{mode}")
    breeding = breeder.breed(propose(parent), [parent], gate_one)
    assert isinstance(breeding.result, Barren)
    assert code in breeding.result.reason
    assert breeding.rounds == len(records) == 3
    assert breeding.usage.calls == 3
    assert gate_one.asked == []
    assert breeding.result.as_trial().outcome is TrialOutcome.BARREN


@pytest.mark.parametrize("mode", LASTING)
def test_what_waiting_cannot_mend_is_a_lasting_outage(breeder_for, propose, parent, gate_one, mode):
    breeder, server, _ = breeder_for(model=f"scripted:{mode}")
    result = breeder.breed(propose(parent), [parent], gate_one).result
    assert isinstance(result, Outage)
    assert result.is_lasting
    assert result.reason.startswith("profile test: fatal/")
    assert len(server.seen) == 1


@pytest.mark.parametrize("mode", ["500", "503", "429-seconds", "429-long", "reset", "cut-json"])
def test_an_endpoint_that_is_down_is_an_outage_that_may_pass(breeder_for, propose, parent, gate_one, mode):
    breeder, _, _ = breeder_for(model=f"scripted:{mode}")
    result = breeder.breed(propose(parent), [parent], gate_one).result
    assert isinstance(result, Outage)
    assert not result.is_lasting
    assert gate_one.asked == []


@pytest.mark.parametrize("mode", ONE_CALL)
def test_trouble_with_one_prompt_empties_one_place_and_stops_nothing(breeder_for, propose, parent, gate_one, mode):
    breeder, _, _ = breeder_for(model=f"scripted:{mode}")
    result = breeder.breed(propose(parent), [parent], gate_one).result
    assert isinstance(result, Barren)
    assert "fatal/" in result.reason


def test_no_single_fault_loses_a_candidate(breeder_for, llm_server, propose, parent, gate_one):
    """Every mode once, then a working server: a child, or an outage after which the same proposal gives one."""
    # A slow drip takes real time; the client's own tests have it.
    for mode in sorted({*llm_server.MODES} - {"drip"}):
        breeder, _, records = breeder_for(mode, timeouts={"read_s": 0.1 if mode == "hang" else 30})
        result = breeder.breed(propose(parent), [parent], gate_one).result
        if mode in ONE_CALL:
            assert isinstance(result, Barren), mode
        elif mode in {*LASTING, "429-long", "429-wait"}:
            assert isinstance(result, Outage), mode
            assert isinstance(breeder.breed(propose(parent), [parent], gate_one).result, Candidate), mode
        else:
            assert isinstance(result, Candidate), (mode, result)
        assert records, mode


def test_a_strategy_that_the_run_has_already_is_sent_back(breeder_for, propose, parent, gate_one):
    breeder, _, _ = breeder_for()
    first = breeder.breed(propose(parent), [parent], gate_one).result
    again, server, _ = breeder_for()
    breeding = again.breed(propose(parent), [parent], gate_one, known={canonical_hash(first.source)})
    assert isinstance(breeding.result, Candidate)
    assert canonical_hash(breeding.result.source) != canonical_hash(first.source)
    assert "E_DUPLICATE" in server.seen[1].text


def test_a_copy_of_the_parent_as_it_was_shown_is_no_child(connect, prompts, propose, make_trial, gate_one):
    """The parent has texts that a prompt masks, so that what was shown and the parent differ."""
    from evolution.llm import LlmProfile
    from evolution.llm.outcomes import Text

    parent = make_trial("class S(Strategy):\n    def on_bar(self, bar):\n        self.target(1.0, tag='mine')\n")

    class Copying:
        def complete(self, request, *, book):
            code = re.search(r"```python\n(.*?)```", request.messages[1].content, re.DOTALL)[1]
            return Text(text=f"```python\n{code}```")

    profile = LlmProfile(name="copy", base_url="http://127.0.0.1:9/v1", model="copy")
    breeder = LlmBreeder(Copying(), profile, prompts=prompts)
    result = breeder.breed(propose(parent), [parent], gate_one).result
    assert isinstance(result, Barren)
    assert "E_NOOP" in result.reason


def test_equal_proposals_ask_the_same_and_get_the_same_in_any_order(breeder_for, propose, parent, gate_one):
    proposals = [propose(parent, seed=seed, index=seed) for seed in range(6)]
    breeder, server, _ = breeder_for()
    alone = [breeder.breed(proposal, [parent], gate_one).result.source for proposal in proposals]
    other, other_server, _ = breeder_for()
    with ThreadPoolExecutor(4) as pool:
        together = [
            b.result.source for b in pool.map(lambda p: other.breed(p, [parent], gate_one), reversed(proposals))
        ]
    assert together == alone[::-1]
    assert sorted(seen.text for seen in server.seen) == sorted(seen.text for seen in other_server.seen)
    assert len(set(alone)) > 3


def test_no_key_symbol_date_money_or_later_figure_is_in_prompt_record_or_log(
    connect, serve, prompts, propose, parent, gate_one, caplog, new_book
):
    caplog.set_level(logging.DEBUG)
    server = serve("violating", "two-blocks", key=KEY)
    client, _ = connect(server=server, environ={"TEST_KEY": KEY}, key_env="TEST_KEY")
    records = new_book()
    breeding = LlmBreeder(client, client.profile, prompts=prompts, book=records).breed(
        propose(parent), [parent], gate_one
    )
    assert isinstance(breeding.result, Candidate)
    assert len(server.seen) == 3
    asked = "\n".join(seen.text for seen in server.seen)
    kept = "\n".join([asked, repr(records), repr(breeding), caplog.text])
    assert KEY not in kept
    for pattern in (r"CORP", r"187.?654", r"\b(19|20)\d\d-\d\d", r"(?i)validation|vault"):
        assert not re.search(pattern, asked), pattern
        assert not re.search(pattern, repr([record.request for record in records])), pattern


def test_each_attempt_is_settled_before_the_gates_see_its_source(connect, prompts, propose, parent, gate_one, new_book):
    client, _ = connect("500", "violating")
    book = new_book()

    def check(source):
        book.steps.append("check")
        return gate_one(source)

    LlmBreeder(client, client.profile, prompts=prompts, book=book).breed(propose(parent), [parent], check)
    ends = [step for step in book.steps if step not in {"begin", "arrived"}]
    assert ends == ["retryable/server", "text", "check", "text", "check"]


def test_a_model_s_own_words_are_kept_short_plain_and_apart(breeder_for, propose, parent, gate_one):
    breeder, _, _ = breeder_for("long-note")
    child = breeder.breed(propose(parent), [parent], gate_one).result
    assert isinstance(child, Candidate)
    assert len(child.provenance.detail) <= 200
    assert child.provenance.detail.isascii()
    assert child.provenance.detail.isprintable()


def test_a_proposal_for_an_offline_operator_is_refused(breeder_for, parent, gate_one):
    breeder, server, _ = breeder_for()
    offline = Proposal(
        id="g001-c001",
        run_id="night",
        generation=1,
        index=1,
        kind=ProposalKind.OFFLINE_MUTATE,
        parents=("g000-c000",),
        seed=1,
    )
    with pytest.raises(ValueError, match="not for a model"):
        breeder.breed(offline, [parent], gate_one)
    assert server.seen == []


def failing(rule, gate=3):
    from gates.findings import Finding

    return lambda source: Rejected(
        source=source,
        gate=gate,
        findings=(Finding(gate=gate, rule=rule, line=1, column=1, message="no", hint="mend it"),),
    )


def test_the_rules_of_run_time_are_rules_of_the_gates():
    from evolution.llm.breeder import RUN_TIME_RULES
    from gates import RULES

    assert {rule.id for rule in RULES} >= RUN_TIME_RULES


@pytest.mark.parametrize(
    ("rule", "rounds"), [("import-not-allowed", 3), ("one-strategy", 3), ("raises", 2), ("killed-in-load", 2)]
)
def test_a_rule_is_repaired_twice_and_what_shows_at_run_time_once(breeder_for, propose, parent, rule, rounds):
    breeder, server, _ = breeder_for()
    breeding = breeder.breed(propose(parent), [parent], failing(rule))
    assert isinstance(breeding.result, Candidate)
    assert breeding.rounds == len(server.seen) == rounds


def test_a_bad_score_is_no_reason_to_ask_again(breeder_for, propose, parent, gate_one):
    """The gates let it pass; whether it is any good is for selection, and better ones are new mutations."""
    breeder, server, _ = breeder_for()
    breeder.breed(propose(parent), [parent], gate_one)
    assert len(server.seen) == 1


def test_each_question_for_a_candidate_has_its_number_and_generation(
    breeder_for, propose, parent, gate_one, monkeypatch
):
    """Two equal flaws make two equal bodies, and still two questions."""
    breeder, _, records = breeder_for("prose", "prose", "edit")
    asked = []
    real = breeder._client.complete
    monkeypatch.setattr(
        breeder._client, "complete", lambda request, book: asked.append(request) or real(request, book=book)
    )
    breeder.breed(propose(parent), [parent], gate_one)
    assert [(request.ordinal, request.generation) for request in asked] == [(1, 1), (2, 1), (3, 1)]
    assert records[1].request == records[2].request


def test_a_share_of_mutations_is_written_from_scratch_and_claims_no_parent(
    connect, prompts, propose, parent, make_trial, starters, gate_one
):
    client, server = connect()
    breeder = LlmBreeder(client, client.profile, prompts=prompts, scratch_share=1.0)
    child = breeder.breed(propose(parent), [parent], gate_one).result
    assert child.provenance.operator == "llm/scratch"
    assert child.provenance.parents == ()
    assert child.provenance.model == "scripted"
    other = make_trial(starters["trend"], index=1)
    crossed = breeder.breed(propose(parent, other), [parent, other], gate_one).result
    assert crossed.provenance.operator == "llm/crossover"
    rarely = LlmBreeder(client, client.profile, prompts=prompts, scratch_share=0.25)
    operators = [
        rarely.breed(propose(parent, seed=seed, index=seed), [parent], gate_one).result.provenance.operator
        for seed in range(40)
    ]
    assert 3 <= operators.count("llm/scratch") <= 20
    assert server.seen


@pytest.mark.parametrize(
    ("scope", "kind"),
    [("call", Barren), ("candidate", Barren), ("generation", Outage), ("run", Outage), ("day", Outage)],
)
def test_a_ceiling_ends_a_place_or_stops_the_run(propose, parent, gate_one, prompts, scope, kind):
    from evolution.llm import LlmProfile, Scope
    from evolution.llm.outcomes import Held

    class Holding:
        def complete(self, request, *, book):
            return Held(scope=Scope(scope), reason=f"[budget.{scope}] tokens = 5: reached")

    profile = LlmProfile(name="held", base_url="http://127.0.0.1:9/v1", model="m")
    result = LlmBreeder(Holding(), profile, prompts=prompts).breed(propose(parent), [parent], gate_one).result
    assert isinstance(result, kind)
    assert f"[budget.{scope}]" in result.reason
    if kind is Outage:
        assert (result.is_lasting, result.scope) == (True, Scope(scope))


def test_a_source_that_was_refused_before_the_ceiling_is_the_candidate(propose, parent, prompts):
    from evolution.llm import LlmProfile, Scope
    from evolution.llm.outcomes import Held, Text

    class Once:
        answers = (Text(text="```python\nimport os\n```"), Held(scope=Scope.CANDIDATE, reason="reached"))

        def complete(self, request, *, book):
            return self.answers[request.ordinal - 1]

    profile = LlmProfile(name="held", base_url="http://127.0.0.1:9/v1", model="m")
    breeding = LlmBreeder(Once(), profile, prompts=prompts).breed(
        propose(parent), [parent], failing("import-not-allowed", 1)
    )
    assert breeding.result.source.text == "import os\n"


def test_a_constrained_profile_holds_every_question_to_the_grammar(breeder_for, propose, parent, gate_one):
    breeder, server, _ = breeder_for("prose", dialect="llamacpp", constrained=True)
    breeder.breed(propose(parent), [parent], gate_one)
    assert [seen.body["grammar"].startswith("root ::= ") for seen in server.seen] == [True, True]


@pytest.mark.parametrize(
    ("modes", "is_spent"),
    [
        (["500"] * 4, False),
        (["429-seconds"] * 4, False),
        (["reset"] * 4, True),
        (["cut-json"] * 4, True),
        (["reset", "500", "500", "500"], True),
        (["400"], True),
        (["401"], False),
        (["404"], False),
    ],
)
def test_an_outage_says_whether_its_question_may_have_been_paid_for(
    breeder_for, propose, parent, gate_one, modes, is_spent
):
    breeder, _, _ = breeder_for(*modes)
    assert breeder.breed(propose(parent), [parent], gate_one).result.is_spent is is_spent


def test_an_outage_carries_the_wait_that_was_asked_for(breeder_for, propose, parent, gate_one):
    breeder, _, _ = breeder_for(model="scripted:429-wait")
    assert breeder.breed(propose(parent), [parent], gate_one).result.after_s == 1_800


@pytest.mark.parametrize("mode", ["odd-finish", "cut-json", "reset", "not-json"])
def test_an_answer_that_is_always_broken_is_paid_for_a_few_times_and_not_for_a_night(
    breeder_for, propose, parent, gate_one, mode
):
    from evolution.llm.team import Patience, Team

    breeder, server, _ = breeder_for(model=f"scripted:{mode}")
    pauses = []
    team = Team([breeder], places=dict, patience=Patience(900, pause=pauses.append))
    result = team.breed(propose(parent), [parent], gate_one, known=())
    assert isinstance(result, Outage | Barren)
    assert len(server.seen) <= 4
    assert pauses == []


def test_a_fresh_sample_after_an_unreadable_repair_is_no_repair(breeder_for, propose, parent, gate_one):
    breeder, server, _ = breeder_for("violating", "prose", "edit")
    child = breeder.breed(propose(parent), [parent], gate_one).result
    assert child.provenance.operator == "llm/mutate"
    assert "import os" not in server.seen[2].text
