"""What a person sees of a night in Prefect's UI, in a real browser: runs, generations, candidates with their verdicts, the report.

And what a candidate wrote is text there, too: the UI reads tables as Markdown.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from contextlib import suppress
from datetime import datetime
from types import SimpleNamespace

import pytest

from flows.artifacts import _row

pytestmark = pytest.mark.slow

HOSTILE = (
    "gate 1: <img src=http://evil.example/a onerror=\"document.title='taken'\"> ![x](http://evil.example/b) "
    "[here](http://evil.example/c) http://evil.example/d www.evil.example me@evil.example `code` **bold**"
)


@pytest.fixture(scope="module")
def browser(chromium, tmp_path_factory):
    with chromium.opened(tmp_path_factory.mktemp("chromium"), online=True) as page:
        page.resize(1280, 1000)
        yield page


def shows(page, *texts):
    """Wait until the page shows all of these."""
    for text in texts:
        page.until(f"document.body.innerText.includes({json.dumps(text)})", f"{text!r} on {page.run('location.href')}")


def click(page, text, selector="a"):
    """As a person does: on what bears that text."""
    find = (
        f"[...document.querySelectorAll({json.dumps(selector)})].find(e => e.innerText.trim() === {json.dumps(text)})"
    )
    page.until(f"{find} !== undefined", f"something to click that says {text!r}")
    page.run(f"{find}.click()")


def post(url, path, body):
    request = urllib.request.Request(f"{url}{path}", json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def artifact_of(url, key, night, words=""):
    """The night's artifact with a key and these words: the first since it began, since other homes on this server have runs of that id, too."""
    found = post(url, "/artifacts/filter", {"sort": "KEY_ASC", "artifacts": {"key": {"any_": [key]}}})
    began, run = datetime.fromisoformat(night["created"]), night["id"]
    since = [each for each in found if datetime.fromisoformat(each["created"]) >= began]
    told = {each["id"]: (each["description"] or "") + str(each["data"]).replace("\\", "") for each in since}
    own = [each for each in since if run in told[each["id"]] and words in told[each["id"]]]
    return min(own, key=lambda each: each["created"])


def test_a_person_follows_a_night_from_its_report_to_a_candidates_verdict(browser, night, prefect_url):
    _, document = night
    ui = prefect_url.removesuffix("/api")
    report = artifact_of(prefect_url, "run-report", document)
    browser.open(f"{ui}/artifacts/artifact/{report['id']}")
    shows(
        browser,
        f"Run {document['id']}",
        document["verdict"],
        "finished; from",
        f"trigate report {document['id']} --open",
    )
    (way,) = browser.run(
        "[...document.querySelectorAll('a')].filter(e => e.innerText === 'generation g000').map(e => e.href)"
    )
    browser.open(way)
    shows(browser, "generation g000", "Selected", "evolve us-large-caps")
    click(browser, "Task Runs", "[role=tab], li, button")
    shows(browser, "g000-c000")
    browser.until("/\\b(Scored|Vetoed)\\b/.test(document.body.innerText)", "the verdict of a candidate")
    assert "Failed\n" not in browser.run(
        "[...document.querySelectorAll('.state-badge')].map(e => e.innerText + '\\n').join('')"
    )


def test_the_table_of_a_generation_names_rank_objectives_gate_reason_and_parents(browser, night, prefect_url):
    _, document = night
    table = artifact_of(prefect_url, "generation", document, "generation g001")
    browser.open(f"{prefect_url.removesuffix('/api')}/artifacts/artifact/{table['id']}")
    shows(browser, "8 Items")
    heads = browser.until("[...document.querySelectorAll('th')].map(e => e.innerText.trim())", "the heads of the table")
    assert {"rank", "candidate", "score", "sharpe", "calmar", "turnover", "gate", "reason", "parents"} <= set(heads)


def test_what_a_candidate_wrote_stays_text_in_a_table(browser, prefect_url):
    trial = SimpleNamespace(
        candidate=SimpleNamespace(
            id="g000-c000", provenance=SimpleNamespace(operator=f"llm/{HOSTILE}", parents=("g000-c001",))
        ),
        outcome=SimpleNamespace(value="rejected"),
        scorecard=None,
        gate=1,
        reason=HOSTILE,
    )
    made = post(prefect_url, "/artifacts/", {"key": "hostile", "type": "table", "data": json.dumps([_row(1, trial)])})
    browser.requests.clear()
    browser.open(f"{prefect_url.removesuffix('/api')}/artifacts/artifact/{made['id']}")
    shows(browser, "gate 1: <img src=http://evil.example/a", "[here](http://evil.example/c)", "**bold**")
    assert browser.run("document.querySelectorAll('td img, td a, td strong, td code').length") == 0
    assert browser.run("document.title") != "taken"
    assert not [each for each in browser.requests if "evil" in each]


def execute(environment, flow_run):
    """Run a flow run in a process of its own, as a worker does; it ends when the flow suspends."""
    given = environment | {"PREFECT__FLOW_RUN_ID": flow_run}
    words = [sys.executable, "-m", "prefect.engine"]
    return subprocess.run(
        words, env=given, cwd=environment["TRIGATE_HOME"], capture_output=True, text=True, check=False
    )


def fill(page, label, text):
    """Fill in the field of a form that bears a label, as its own script expects to hear it."""
    field = (
        f"[...document.querySelectorAll('[role=dialog] .schema-form-property')]"
        f".find(e => e.querySelector('label').innerText.includes({json.dumps(label)}))?.querySelector('select, textarea, input')"
    )
    page.until(f"{field} != null", f"a field {label!r}")
    page.run(
        f"(field => {{ field.value = {json.dumps(text)};"
        f" for (const kind of ['input', 'change']) field.dispatchEvent(new Event(kind, {{bubbles: true}})) }})({field})"
    )


def hand_in(page, values, story):
    """Fill in the form and submit it; again where it stays open, as a person does.

    The form has its server check what is in it, and an answer to what it held a moment ago can arrive after the button was pressed.
    """
    for _ in range(5):
        for label, text in values.items():
            fill(page, label, text)
        click(page, "Submit", "[role=dialog] button")
        with suppress(AssertionError):
            return page.until("document.querySelector('[role=dialog]') === null", "its end", patience_s=60)
    raise AssertionError(f"the form was not taken; {story}; it says: {page.run('document.body.innerText')[-1_000:]}")


def test_a_person_decides_in_the_form_of_a_suspended_review(browser, here, prefect_url):
    """With a code from the command line; the log then says what it says after a decision at the command line."""
    key = {"TRIGATE_PASSPHRASE": "correct horse"}
    assert here.run("people", "add", "Ada", **key).code == 0
    flow = post(prefect_url, "/flows/", {"name": "review"})["id"]
    deployment = post(
        prefect_url, "/deployments/", {"name": "form", "flow_id": flow, "entrypoint": "flows.review.review"}
    )["id"]
    flow_run = post(
        prefect_url, f"/deployments/{deployment}/create_flow_run", {"parameters": {"request": {"entry": "p-0001"}}}
    )["id"]
    environment = here.environment | {"PREFECT_API_URL": prefect_url, "PREFECT_HOME": str(here.home / "prefect")}
    asked = execute(environment, flow_run)
    browser.open(f"{prefect_url.removesuffix('/api')}/runs/flow-run/{flow_run}")
    shows(browser, "review p-0001", "Suspended")
    click(browser, "Resume", "button")
    shows(browser, "One-time code", "Never type a passphrase here", "stored in the clear")
    words = ("people", "code", "p-0001", "--decision", "promote", "--by", "Ada")
    code = here.run(*words, **key).out.strip()
    hand_in(browser, {"Decision": "promote", "Reason": "steady on every fold", "One-time code": code}, asked.stderr)
    decided = execute(environment, flow_run)
    browser.open(f"{prefect_url.removesuffix('/api')}/runs/flow-run/{flow_run}")
    shows(browser, "Promoted")
    found = here.run("pool", "show", "p-0001", "--json").document
    assert (found["status"], len(found["decisions"])) == ("promoted", 1), decided.stderr
    line = found["decisions"][0]
    assert (line["decision"], line["by"], line["reason"]) == ("promoted", "Ada", "steady on every fold")
    assert (line["attestation"], line["look"]) == ("signed by one-time code", 1)
