"""The review asks and never decides: what is typed counts only under a code that an enrolled person's key has signed for just that."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from evolution.pool import Choice, IssuedCode, Pool, keys
from evolution.pool.keys import KeyFiles
from evolution.tables import PersonRow
from flows import review as module
from flows.api import Api
from flows.clock import now
from flows.forms import ReviewRequest
from flows.review import ATTEMPTS, ReviewForm
from flows.reviewcard import card_markdown
from flows.tidings import claim
from runtime.store import open_engine, writing

pytestmark = pytest.mark.slow

PASSPHRASE = "correct horse"


class Review:
    """A review whose form is filled by a script; it is begun anew after each answer, as Prefect does."""

    def __init__(self, home, monkeypatch):
        self.home, self.asked, self.forms = home, [], []
        self.shown, self.told = [], []
        monkeypatch.setenv("TRIGATE_HOME", str(home))
        monkeypatch.delenv("PREFECT_API_URL", raising=False)
        monkeypatch.chdir(home)
        monkeypatch.setattr(module, "suspend_flow_run", self.suspend)
        monkeypatch.setattr(module, "get_run_logger", lambda: self)
        monkeypatch.setattr(module, "create_markdown_artifact", lambda **what: self.shown.append(what["markdown"]))
        monkeypatch.setattr(module, "tell_decision", lambda _home, _entry, decision, but: self.told.append(decision))
        # What makes guessing a passphrase slow makes tests slow.
        monkeypatch.setitem(keys._SCRYPT, "n", 2**10)
        self.pool = Pool(open_engine(home), now=now)
        self.key = KeyFiles(home).make("Ada", PASSPHRASE)

    def enrol(self):
        self.pool.people.enrol("Ada", self.key.public_key)

    def warning(self, *_):
        """Stands in for the run's log."""

    def suspend(self, *, wait_for_input, key):
        number = int(key.removeprefix("attempt-"))
        if number > len(self.forms):
            self.asked.append(wait_for_input._description)
            raise WaitingError
        return self.forms[number - 1]

    def run(self):
        try:
            return module.review.fn(ReviewRequest(entry="p-0001"))
        except WaitingError:
            return None

    def fill(self, **fields):
        self.forms.append(ReviewForm.model_construct(**fields))
        return self.run()

    def code(self, choice=Choice.PROMOTE):
        found = self.pool.codes.issue(1, choice, by="Ada", signer=self.key)
        assert isinstance(found, IssuedCode)
        return found.text

    @property
    def status(self):
        return self.pool.get("p-0001").status.value


class WaitingError(Exception):
    """The flow is suspended."""


@pytest.fixture
def review(here, monkeypatch):
    made = Review(here.home, monkeypatch)
    made.enrol()
    assert made.run() is None
    return made


def test_a_code_promotes_with_the_same_line_in_the_log_as_the_command(review, here):
    """But for what stands behind it, and the hashes that follow from that."""
    state = review.fill(decision="promote", reason="steady on every fold", code=review.code())
    assert (state.name, state.is_completed()) == ("Promoted", True)
    ours = here.run("pool", "show", "p-0001", "--json").document
    (line,) = ours["decisions"]
    assert (line["decision"], line["by"], line["attestation"]) == ("promoted", "Ada", "signed by one-time code")
    assert (line["reason"], line["look"]) == ("steady on every fold", 1)
    assert (ours["looks_left"], ours["status"]) == (9, "promoted")
    assert review.pool.verify_chain().problem is None
    assert [decision.number for decision in review.told] == [1]
    # Asked again, by another review or after a crash, it knows.
    assert review.run().name == "Decided elsewhere"


def test_the_command_writes_that_line_too(here):
    key = {"TRIGATE_PASSPHRASE": PASSPHRASE}
    assert here.run("people", "add", "Ada", **key).code == 0
    words = ("--by", "Ada", "--reason", "steady on every fold", "--json")
    line = here.run("pool", "promote", "p-0001", *words, **key).document["decision"]
    assert (line["decision"], line["by"], line["attestation"]) == ("promoted", "Ada", "signed")
    assert (line["reason"], line["look"]) == ("steady on every fold", 1)


def test_a_code_declines_and_spends_no_look(review):
    state = review.fill(decision="decline", reason="too few trades", code=review.code(Choice.DECLINE))
    assert (state.name, review.status) == ("Declined", "declined")
    assert review.pool.looks_left(review.pool.get("p-0001")) == 10


@pytest.mark.parametrize(
    "forged",
    [
        {"decision": "promote", "reason": "r", "code": "11111-22222-33333-44444-55555"},
        {"decision": "promote", "reason": "r", "code": ""},
        {"decision": "promote", "reason": "r", "code": PASSPHRASE},
        {"decision": "promote", "reason": "r"},
        {"decision": "promoted", "reason": "r", "code": "x"},
        {"decision": "promote", "reason": "r" * 2_001, "code": "x"},
        {"decision": "promote", "reason": "r", "code": "x", "by": "Ada"},
        {"decision": ["promote"], "reason": {"r": 1}, "code": None},
    ],
)
def test_what_is_typed_without_a_code_moves_nothing_and_it_stays_waiting(review, forged):
    assert review.fill(**forged) is None
    assert "Not accepted" in review.asked[-1]
    assert review.status == "candidate"
    assert review.pool.decisions() == ()


def test_a_code_is_not_replayed_and_not_turned_around(review):
    code = review.code(Choice.DECLINE)
    assert review.fill(decision="promote", reason="r", code=code) is None
    assert "for decline, not for promote" in review.asked[-1]
    assert review.fill(decision="decline", reason="r", code=code) is None
    assert "is spent" in review.asked[-1]
    assert review.status == "candidate"


def test_a_reason_that_cannot_stand_in_the_log_spends_the_code_all_the_same(review):
    """It has been seen in the clear by then."""
    code = review.code()
    assert review.fill(decision="promote", reason="two\nlines", code=code) is None
    assert "does not show" in review.asked[-1]
    assert review.fill(decision="promote", reason="one line", code=code) is None
    assert review.status == "candidate"


def test_what_is_told_back_shows_a_name_and_does_not_act_on_it(review):
    """The UI reads the description of a form as Markdown, and would fetch an image that a name names."""
    name = "![x](http://10.0.0.1/x) <img src=y>"
    key = KeyFiles(review.home).make(name, PASSPHRASE)
    review.pool.people.enrol(name, key.public_key)
    code = review.pool.codes.issue(1, Choice.PROMOTE, by=name, signer=key).text
    with writing(review.pool.codes.engine) as session:
        session.scalars(select(PersonRow).where(PersonRow.name_key == keys.name_key(name))).one().public_key = "00" * 32
    assert review.fill(decision="promote", reason="r", code=code) is None
    assert "!\\[x\\](http\\://10.0.0.1/x) &lt;img src=y>" in review.asked[-1]


def test_so_many_attempts_and_no_more(review):
    for _ in range(ATTEMPTS - 1):
        assert review.fill(decision="promote", reason="r", code="A" * 25) is None
    state = review.fill(decision="promote", reason="r", code="A" * 25)
    assert state.name == "Refused"
    assert f"{ATTEMPTS} attempts were refused" in state.message


def test_a_code_for_a_candidate_whose_file_was_edited_promotes_nothing(review):
    code = review.code()
    path = review.home / "runs" / "r-20261130-001" / "candidates" / "g000-c000.py"
    path.write_bytes(path.read_bytes() + b"# better\n")
    state = review.fill(decision="promote", reason="r", code=code)
    assert (state.name, review.status) == ("Refused", "candidate")
    assert "it was edited" in state.message


def test_where_the_vault_is_not_there_no_look_is_taken_and_none_is_spent(review):
    """A worker elsewhere has the search's files only."""
    code = review.code()
    (review.home / "data" / "planted-edge" / "vault.npz").unlink()
    state = review.fill(decision="promote", reason="r", code=code)
    assert (state.name, review.status) == ("Refused", "candidate")
    assert "a look is taken where the vault is" in state.message
    assert review.pool.looks_left(review.pool.get("p-0001")) == 10


def test_a_decision_made_elsewhere_ends_it(review):
    review.pool.decline("p-0001", by="Ada", reason="no", signer=review.key)
    state = review.fill(decision="promote", reason="r", code="A" * 25)
    assert state.name == "Decided elsewhere"
    assert "p-0001 is declined: decision 1, by Ada" in state.message


def test_without_keys_there_is_nothing_to_ask(here, monkeypatch):
    """Unsigned decisions are for the terminal."""
    made = Review(here.home, monkeypatch)
    state = made.run()
    assert state.name == "Not possible"
    assert "trigate people add" in state.message
    assert made.asked == []


def test_the_card_shows_the_evidence_once_and_nothing_in_it_is_markup(review, here):
    entry = review.pool.get("p-0001")
    assert review.shown[0].startswith("# p-0001, a candidate\n")
    for check in entry.card.checks:
        assert check.sentence.split(":")[0].split("(")[0] in review.shown[0]
    from dataclasses import replace

    from runtime.source import StrategySource

    nasty = "x = '```\x1b[2J'\n<script>alert(1)</script>\n"
    hostile = replace(entry, models=("<img src=x>[a](b)",), source=StrategySource(nasty.encode()))
    card = card_markdown(hostile, looks_left=1, obstacle="<b>no</b>")
    assert "<img" not in card
    assert "<b>" not in card
    assert "\x1b" not in card
    fence = card[card.index("## Source") :].split("\n")[2]
    assert fence == "````"
    assert card.count(f"\n{fence}\n") == 2


def test_the_form_tells_what_is_kept_in_the_clear_and_where_codes_come_from():
    fields = ReviewForm.model_json_schema()["properties"]
    assert fields["decision"]["enum"] == ["promote", "decline"]
    assert "in the clear" in fields["reason"]["description"]
    assert "trigate people code" in fields["code"]["description"]


def test_a_code_is_asked_for_at_the_command_line(here):
    key = {"TRIGATE_PASSPHRASE": PASSPHRASE}
    words = ("people", "code", "p-0001", "--decision", "promote", "--by", "Ada")
    nobody = here.run(*words, **key)
    assert (nobody.code, nobody.out) == (
        1,
        "Ada has no signing key, and a code is signed with one; trigate people add 'Ada' makes it\n",
    )
    assert here.run("people", "list", "--json").document == []
    assert here.run("people", "add", "Ada", **key).code == 0
    given = here.run(*words, **key)
    assert given.code == 0
    assert len(given.out.strip().replace("-", "")) == 25
    assert "promote p-0001 in the name of Ada, once, until" in given.err
    wrong = here.run(*words, "--json", TRIGATE_PASSPHRASE="correct house")
    assert (wrong.code, wrong.document["verdict"]) == (1, "refused")
    asked = here.run(*words)
    assert (asked.code, "run this on a terminal" in asked.err) == (2, True)
    odd = here.run("people", "code", "p-0001", "--decision", "retire", "--by", "Ada", **key)
    assert (odd.code, "write promote or decline" in odd.err) == (2, True)
    assert here.run("people", "code", "p-0099", "--decision", "decline", "--by", "Ada", **key).code == 2


def test_the_command_ends_reviews_that_wait_for_it(here, prefect_url, monkeypatch, tmp_path):
    """Those of its own store: others on the same server have a p-0001, too."""
    api = Api(url=prefect_url, auth=None)

    def call(path, body):
        answer = api.call(path, body)
        assert answer.is_good, answer
        return answer.body

    flow = call("flows/", {"name": "review"})["id"]
    paused = {"type": "PAUSED", "name": "Suspended"}

    def waits(entry, home):
        body = {"flow_id": flow, "parameters": {"request": {"entry": entry}}, "state": paused}
        run = call("flow_runs/", body | {"tags": ["mine"]})["id"]
        with monkeypatch.context() as on_server:
            on_server.setenv("PREFECT_API_URL", prefect_url)
            claim(home, run, ["mine"])
        return run

    waiting, other = waits("p-0001", here.home), waits("p-0002", here.home)
    elsewhere = waits("p-0001", tmp_path / "another")
    done = here.run("pool", "decline", "p-0001", "--by", "Ada", "--reason", "no", "--json", PREFECT_API_URL=prefect_url)
    assert done.document["verdict"] == "declined"
    assert "1 waiting review of p-0001 ended by this decision" in done.err
    states = {
        each["id"]: each
        for each in call("flow_runs/filter", {"flow_runs": {"id": {"any_": [waiting, other, elsewhere]}}})
    }
    assert "mine" in states[waiting]["tags"]
    assert states[waiting]["state_name"] == "Decided elsewhere"
    assert "p-0001 is declined: decision 1, by Ada" in states[waiting]["state"]["message"]
    assert {states[other]["state_type"], states[elsewhere]["state_type"]} == {"PAUSED"}
    # A server that does not answer takes nothing from a decision.
    retired = here.run(
        "pool", "retire", "p-0001", "--by", "Ada", "--reason", "x", PREFECT_API_URL="http://127.0.0.1:9/api"
    )
    assert retired.code == 1
