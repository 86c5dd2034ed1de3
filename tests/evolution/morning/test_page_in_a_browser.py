"""The page in a real browser, with the network off: it asks for nothing, complains of nothing, fits a phone, and obeys a keyboard."""

from __future__ import annotations

import pytest

from evolution.morning import render_page

pytestmark = pytest.mark.slow

NASTY = "</script><script>document.title='taken'</script>\"><img src=http://evil.example/x onerror=\"document.title='taken'\">\u202e\x1b[2J"
CONTRAST = """
(() => {
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const behind = e => {
    for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; }
    return [255, 255, 255];
  };
  const bad = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.checkVisibility()) continue;
    const style = getComputedStyle(e), isDrawn = e.namespaceURI.endsWith("svg");
    if (isDrawn && !["text"].includes(e.tagName)) continue;
    const [a, b] = [light(rgb(isDrawn ? style.fill : style.color)), light(behind(e))].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) bad.push([e.tagName, e.className.baseVal ?? e.className, e.textContent.slice(0, 40), ratio]);
  }
  return bad;
})()
"""


@pytest.fixture(scope="module")
def browser(chromium, tmp_path_factory):
    with chromium.opened(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


@pytest.fixture
def page(browser, tmp_path, full_night, make):
    """A page of everything, with somebody's hostile text in it, opened from a file."""
    best = full_night.trials[-1]
    hostile = make.trial(
        2, 1, parents=("g001-c000",), operator=NASTY, detail=NASTY, code=f"# {NASTY}\n", score=0.7, symbol=NASTY
    )
    full_night.trials += (hostile,)
    full_night.entries += (make.entry(2, hostile, sentence=NASTY, note=NASTY, models=(NASTY,)),)
    curves = {best.candidate.id: make.curve(), hostile.candidate.id: make.curve(name=NASTY)}
    file = tmp_path / "report.html"
    file.write_text(render_page(full_night.morning(curves)), encoding="utf-8")
    browser.prefer()
    browser.resize(1280, 800)
    browser.requests.clear()
    browser.complaints.clear()
    browser.blocked.clear()
    browser.open(file.as_uri())
    browser.file = file
    return browser


def test_it_asks_for_nothing_and_nothing_is_refused(page):
    page.run("document.querySelectorAll('details').forEach(each => each.open = true)")
    page.run("new Promise(done => setTimeout(done, 200))")
    assert page.requests == [page.file.as_uri()]
    assert page.complaints == []
    assert page.run("document.scripts.length + document.images.length") == 0
    assert page.run("document.title").startswith("r-20261130-001: 2 strategies wait")


def test_a_script_that_got_past_the_escaping_would_not_run(page):
    """The second door: the same page with raw markup in it."""
    planted = "<script>document.title = 'taken'</script><img src='http://evil.example/x' onerror=\"document.title = 'taken'\">"
    page.file.write_text(
        page.file.read_text(encoding="utf-8").replace("</main>", f"{planted}</main>"), encoding="utf-8"
    )
    page.open(page.file.as_uri())
    page.run("new Promise(done => setTimeout(done, 200))")
    assert page.run("document.title") != "taken"
    assert "Content Security Policy" in "".join(page.complaints)
    assert page.blocked == ["csp"]  # the image, before it left the browser


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_it_never_scrolls_sideways(page, width):
    page.resize(width, 800, mobile=width < 500)
    page.run("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert page.run("document.documentElement.scrollWidth") <= width


BROKEN = """
(() => {
  const bad = [];
  for (const cell of document.querySelectorAll("th, td")) {
    if (!cell.checkVisibility()) continue;
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) for (const found of texts.currentNode.textContent.matchAll(/(?<=^|\\s)[a-z]{2,20}(?=\\s|$)/gi)) {
      const word = document.createRange();
      word.setStart(texts.currentNode, found.index);
      word.setEnd(texts.currentNode, found.index + found[0].length);
      if (new Set([...word.getClientRects()].map(r => Math.round(r.top))).size > 1) bad.push(found[0]);
    }
  }
  return bad;
})()
"""


def test_no_cell_of_a_table_breaks_a_word_on_a_phone(page):
    """A status that reads "candi date" and a "ye s" are what a narrow column makes of words that may break anywhere."""
    page.resize(360, 800, mobile=True)
    page.run("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert page.run("document.querySelectorAll('td').length") > 50
    assert page.run(BROKEN) == []


def test_a_phone_gets_the_narrow_drawings_and_a_desk_the_wide_ones(page):
    shown = "[...document.querySelectorAll('svg.chart')].filter(e => e.checkVisibility()).map(e => e.classList[1])"
    page.resize(360, 800, mobile=True)
    assert set(page.run(shown)) == {"narrow"}
    page.resize(1280, 800)
    assert set(page.run(shown)) == {"wide"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_its_ground(page, scheme):
    """WCAG AA: 4.5 to 1."""
    page.prefer(scheme=scheme)
    page.run("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert page.run(CONTRAST) == []


def test_a_keyboard_reaches_and_opens_the_details(page):
    names = []
    for _ in range(60):
        page.press("Tab")
        focused = page.run("[document.activeElement.tagName, document.activeElement.textContent.slice(0, 60)]")
        names.append(focused)
        if focused[0] == "SUMMARY":
            break
    assert names[0] == ["A", "To the report"]
    assert names[1] == ["A", "Decide"]
    assert names[-1][0] == "SUMMARY"
    assert page.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.press("Enter")
    assert page.run("document.activeElement.parentElement.open") is True


def test_what_a_screen_reader_is_told_has_names_and_landmarks(page):
    page.call("Accessibility.enable")
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    told = [(each["role"]["value"], each.get("name", {}).get("value", "")) for each in nodes if not each["ignored"]]
    roles = [role for role, _ in told]
    assert {"banner", "navigation", "main", "contentinfo"} <= set(roles)
    drawings = [name for role, name in told if role in {"image", "img"}]
    assert any(name.startswith("Growth of 1 and falls") for name in drawings)
    assert all(drawings)
    assert all(name for role, name in told if role in {"region", "article", "heading", "link"})


def test_on_paper_everything_is_dark_on_white_and_what_is_closed_stays_out(page):
    page.prefer(scheme="dark", media="print")
    assert page.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert (
        page.run("[...document.querySelectorAll('nav, details:not([open])')].some(e => e.checkVisibility())") is False
    )
    assert page.run(CONTRAST) == []
