"""The page is whole, well-formed and quiet: whatever a model or a candidate wrote stays text."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from evolution.llm.spending import ProfileSpending, Spending
from evolution.llm.usage import Usage
from evolution.morning import GENERATOR, LARGEST_PAGE, render_page
from evolution.trial import TrialOutcome

HOSTILE = {
    "script": "</script><script>alert(1)</script>",
    "style": "</style><style>*{display:none}</style><base href=//evil.example>",
    "image": "\"><img src=x onerror=alert(1)>'",
    "svg": "</title></text></svg><svg onload=alert(1)>",
    "template": "{{ 7 * 191 }}{% raw %}${7*191}",
    "comment": "--><!-- ]]><![CDATA[",
    "entity": "&lt;b&gt; &#60;i&#62; javascript:alert(1)",
    "bidi": "abc\u202eevil\u2066x\u2069\u200f\u200b\ufeff",
    "terminal": "\x1b[31mred\x1b]8;;http://evil.example\x07\x9b2J",
    "null": "a\x00b\x07\x08\x7f\x85\ud800\U000e0041",
    "lines": "a\r\nb\u2028c\x0bd\x0ce",
    "long": "x<" * 500_000,
    "empty": "",
}
VOID = {"meta", "br", "img", "link", "base", "input"}


class Outline(HTMLParser):
    """What a browser would see: elements, attributes and headings; fails on anything that is not closed in order."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.open = []
        self.elements = []
        self.ids = []
        self.levels = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    @property
    def tags(self):
        return {tag for tag, _ in self.elements}


def hostile_night(make, text):
    """A text of somebody else's in every field that is not an id of ours."""
    seed = make.trial(0, 0, operator=text, detail=text, code=text, symbol=text, fold=text, score=0.2)
    child = make.trial(
        1,
        0,
        operator=text,
        detail=text,
        code=text + "\nmore\n" + text,
        parents=("g000-c000", text),
        score=0.7,
        symbol=text,
        fold=text,
    )
    refused = make.trial(1, 1, parents=("g000-c000",), code=text * 2, score=0.6)
    fallen = [
        make.trial(1, 2, outcome=TrialOutcome.REJECTED, gate=1, reason=text, findings=(make.finding(text, rule=text),)),
        make.trial(1, 3, outcome=TrialOutcome.FAILED, reason=text),
        make.trial(1, 4, outcome=TrialOutcome.VETOED, reason=text, vetoes=(text,)),
    ]
    spent = [
        ProfileSpending(profile=text, model=text, usage=Usage(calls=1, prompt_tokens=5), money=1.0, currency=text)
        for _ in range(2)
    ]
    arm = {**make.arm, "run_id": text}
    return make.night(
        trials=(seed, child, refused, *fallen),
        entries=(make.entry(1, child, sentence=text, models=(text,), note=text),),
        refusals=(make.refusal(refused, check=text, sentence=text, figure=None),),
        story={"end": text, "heritage": text, "stop": {"generation": 1, "reason": text}, "arms": {text: arm}},
        note=text,
        dataset=text,
        profile=text,
        spending=Spending(profiles=tuple(spent)),
    )


def test_the_page_is_well_formed_and_its_headings_are_in_order(full_night, make):
    page = render_page(full_night.morning({"g002-c000": make.curve()}))
    outline = Outline(page)
    assert outline.levels[0] == 1
    assert outline.levels.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(outline.levels, outline.levels[1:], strict=False))
    assert len(outline.ids) == len(set(outline.ids))
    assert {"header", "nav", "main", "footer"} <= outline.tags


def test_every_reference_inside_the_page_leads_somewhere(full_night, make):
    outline = Outline(render_page(full_night.morning({"g002-c000": make.curve()})))
    for tag, attributes in outline.elements:
        if tag == "a":
            assert attributes["href"].removeprefix("#") in outline.ids
        for name in ("aria-labelledby", "aria-describedby"):
            assert all(each in outline.ids for each in attributes.get(name, "").split())


def test_drawings_are_named_and_tables_that_scroll_can_be_reached(full_night, make):
    outline = Outline(render_page(full_night.morning({"g002-c000": make.curve()})))
    for tag, attributes in outline.elements:
        if tag == "svg":
            assert attributes.get("aria-hidden") == "true" or attributes["role"] == "img"
        if attributes.get("class") == "scroll":
            assert attributes["tabindex"] == "0"
            assert attributes["aria-label"]


def test_nothing_comes_from_outside_and_nothing_can_act(full_night, make):
    page = render_page(full_night.morning({"g002-c000": make.curve()}))
    outline = Outline(page)
    assert not outline.tags & {"script", "img", "link", "iframe", "object", "form", "input", "base"}
    for _, attributes in outline.elements:
        assert not [name for name in attributes if name.startswith("on") or name in {"style", "src", "srcset"}]
        assert attributes.get("href", "#").startswith("#")
    assert "url(" not in page
    assert "@import" not in page


def test_the_policy_lets_in_the_style_sheet_and_nothing_else(full_night):
    page = render_page(full_night.morning())
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = [
        attributes["content"]
        for tag, attributes in Outline(page).elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@pytest.mark.parametrize("kind", HOSTILE)
def test_whatever_somebody_else_wrote_stays_text(make, full_night, kind):
    """The same elements with the same attributes as on a harmless page: the text added none and changed none."""
    text = HOSTILE[kind]
    night = hostile_night(make, text)
    page = render_page(night.morning({"g001-c000": make.curve(name=text), "g001-c001": text or "no reason"}))
    assert len(page.encode()) < LARGEST_PAGE
    harmless = hostile_night(make, "harmless")
    expected = Outline(
        render_page(harmless.morning({"g001-c000": make.curve(name="harmless"), "g001-c001": "harmless"}))
    )
    outline = Outline(page)
    assert outline.tags <= expected.tags
    names = {(tag, name) for tag, attributes in expected.elements for name in attributes}
    assert {(tag, name) for tag, attributes in outline.elements for name in attributes} <= names
    for char in "\x00\x1b\x07\x9b\x7f\u202e\u2066\u2069\u200f\u200b\ufeff\U000e0041\u2028\r":
        assert char not in page
    page.encode("utf-8")  # a lone surrogate would not go
    assert "1337" not in page  # 7 * 191: no template in a text is filled in


def test_a_page_that_would_be_too_large_leaves_out_the_list(make, monkeypatch):
    trials = [make.trial(0, index, outcome=TrialOutcome.FAILED, reason=f"<{index}>" * 60) for index in range(300)]
    whole = render_page(make.night(trials=trials).morning())
    assert whole.count("g000-c") > 300
    monkeypatch.setattr("evolution.morning.render.LARGEST_PAGE", 90_000)
    page = render_page(make.night(trials=trials).morning())
    assert len(page.encode()) < 90_000
    assert "300 are not listed here" in page


def test_three_thousand_hostile_candidates_fit(make):
    text = "\U000e0041&<\"'" * 100
    trials = [
        make.trial(
            index // 100, index % 100, outcome=TrialOutcome.FAILED, reason=text, operator=text, parents=(text,) * 3
        )
        for index in range(3_100)
    ]
    page = render_page(make.night(trials=trials).morning())
    assert len(page.encode()) < LARGEST_PAGE
    assert "100 are not listed here" in page


def test_a_night_without_a_candidate_still_has_a_page(make):
    page = render_page(make.night(trials=()).morning())
    assert "Not one candidate was tried" in page
    assert "No generation was completed" in page
    Outline(page)


def test_a_missing_curve_is_told_and_a_ruined_one_is_drawn(full_night, make):
    page = render_page(full_night.morning({"g002-c000": "the bars of x are not those of the run any more"}))
    assert "No equity curve: the bars of x are not those of the run any more." in page
    ruined = replace(make.curve(), strategy=(1.0,) * 60 + (0.0,) * 60)
    assert "NaN" not in render_page(full_night.morning({"g002-c000": ruined}))


def test_costs_are_given_for_each_accepted_candidate(full_night):
    page = render_page(full_night.morning())
    assert "0.50 USD" in page
    assert "9,800" in page
    nobody = replace_entries(full_night)
    assert "none accepted" in render_page(nobody.morning())


def replace_entries(night):
    night.entries = ()
    return night


def test_figures_that_are_read_on_validation_are_there_only_when_they_were_read(full_night):
    assert "9.25" in render_page(full_night.morning())
    full_night.story = {"end": "all generations are done"}
    assert "Validation was not read for it" in render_page(full_night.morning())


def test_it_can_be_told_as_ours(full_night):
    assert GENERATOR in render_page(full_night.morning())[:4_096]
