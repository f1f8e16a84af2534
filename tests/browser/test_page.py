"""The HTML report in headless Chromium: what only a browser can tell.

`make test-real` installs the browser. Where there is none these tests are skipped, except in continuous integration.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import define, evolve, field
from tests.browser.chromium import chromium, needs_chromium
from tests.io.hostile import hostile
from tests.project.readme import SAMPLE

from reattach.clauses import load_registry
from reattach.commands.replay import read_finding
from reattach.io.present import present
from reattach.io.report_html import render_html
from reattach.io.run import Presented, Run
from reattach.io.trace import read_trace
from reattach.oracle.verdict import ClauseResult, Level, Outcome, Report

pytestmark = [pytest.mark.real, needs_chromium]

REGISTRY = load_registry()
ATTACKS = [
    "</script><script>document.title = 'ran'</script>",
    "</style><img src=x onerror=\"document.title = 'ran'\">",
    "\"' autofocus onfocus=\"document.title = 'ran'\" x='\"",
    "<svg onload=\"document.title = 'ran'\">",
    "<meta http-equiv=refresh content=0;url=https://example.invalid/>",
    "<link rel=stylesheet href=https://example.invalid/x.css>",
    "<style>@import 'https://example.invalid/x.css';</style>",
    "\u202e\x1b[31m\x00\ud800",
]


def results() -> tuple[ClauseResult, ...]:
    return tuple(
        ClauseResult(clause=clause, level=Level.MUST, outcome=outcome, observations=1, note="why")
        for clause, outcome in (
            ("DEL-2", Outcome.VIOLATED),
            ("SES-1", Outcome.HELD),
            ("SES-2", Outcome.HELD),
            ("SES-7", Outcome.NOT_OBSERVED),
        )
    )


def report() -> Presented:
    """Two findings: the recorded hand-over, and the same again."""
    finding, _, _ = read_finding(SAMPLE, read_trace(SAMPLE), REGISTRY)
    again = evolve(finding, summary="the same again")
    run = Run(target="http://127.0.0.1:8000/mcp", server="a server", revision="2025-11-25", profile="mcp", command="c")
    both = Report(clauses=results(), findings=(finding, again), notes=("a note",))
    return present(both, run, replays=("a.jsonl", None))


@define
class Opened:
    """A page, and what it said and asked for."""

    page: Any
    said: list[str] = field(factory=list)
    asked: list[str] = field(factory=list)

    def visible(self, selector: str) -> list[str]:
        """The ids of the elements that can be seen."""
        found: list[str] = self.page.eval_on_selector_all(
            selector, "all => all.filter(one => one.checkVisibility({visibilityProperty: true})).map(one => one.id)"
        )
        return found

    def focused(self) -> str:
        found: str = self.page.evaluate("document.activeElement.id || document.activeElement.className")
        return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    contexts: list[Any] = []

    def opening(presented: Presented, **options: Any) -> Opened:
        file = tmp_path / f"report-{len(contexts)}.html"
        file.write_text(render_html(presented, REGISTRY), encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": 1300, "height": 900}, **options})
        contexts.append(context)
        opened = Opened(context.new_page())
        opened.page.on("console", lambda message: opened.said.append(message.text))
        opened.page.on("pageerror", lambda error: opened.said.append(str(error)))
        opened.page.on("dialog", lambda dialog: opened.said.append(dialog.message))
        opened.page.on("request", lambda request: opened.asked.append(request.url))
        opened.page.goto(file.as_uri())
        assert opened.asked == [file.as_uri()]
        return opened

    yield opening
    for context in contexts:
        context.close()


def test_it_says_nothing_and_asks_for_nothing(open_page: Callable[..., Opened]) -> None:
    opened = open_page(report())
    opened.page.mouse.wheel(0, 10_000)
    for row in opened.page.locator(".row").all():
        row.hover()
    assert opened.said == []
    assert len(opened.asked) == 1
    assert opened.page.evaluate("document.scripts.length") == 0


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_hostile_payload_runs_nothing(open_page: Callable[..., Opened], attack: str) -> None:
    opened = open_page(hostile(attack))
    for row in opened.page.locator(".row").all():
        row.focus()
    assert opened.page.title() != "ran"
    assert opened.said == []
    assert len(opened.asked) == 1
    assert opened.page.locator("img, svg, link, script, article style, article meta").count() == 0
    assert opened.page.evaluate("performance.getEntriesByType('resource').length") == 0


def test_the_browser_itself_is_told_to_run_and_load_nothing(open_page: Callable[..., Opened]) -> None:
    opened = open_page(report())
    opened.page.evaluate(
        """() => {
            const script = document.createElement('script');
            script.textContent = "document.title = 'ran'";
            document.body.append(script);
            const image = document.createElement('img');
            image.src = 'https://example.invalid/x.png';
            document.body.append(image);
        }"""
    )
    opened.page.wait_for_function("document.querySelector('img').complete")
    assert opened.page.title() != "ran"
    assert len([said for said in opened.said if "Content Security Policy" in said]) == 2


def test_the_keyboard_reaches_every_step_and_shows_its_state(open_page: Callable[..., Opened]) -> None:
    opened = open_page(report())
    press = opened.page.keyboard.press
    assert opened.visible("#f1 .state") == [opened.page.locator("#f1 .state.default").get_attribute("id")]
    press("Tab")
    assert opened.focused() == "skip"
    assert opened.page.locator(".skip").first.bounding_box()["x"] >= 0
    press("Enter")
    assert opened.page.evaluate("location.hash") == "#findings"
    rows = opened.page.locator("#f1 .row").count()
    assert rows > 5
    for number in range(1, rows + 1):
        press("Tab")
        assert opened.focused() == f"f1-r{number}"
        assert opened.visible("#f1 .state") == [f"f1-s{number}"]
    for _ in range(rows - 3):
        press("Shift+Tab")
    press("Enter")
    opened.page.evaluate("document.activeElement.blur()")
    assert opened.visible("#f1 .state") == ["f1-s3"]
    assert len(opened.visible("#f2 .state")) == 1


def test_a_state_shows_on_hover_and_hover_comes_before_focus(open_page: Callable[..., Opened]) -> None:
    opened = open_page(report())
    opened.page.locator("#f1-r2").focus()
    opened.page.locator("#f1-r7").hover()
    assert opened.visible("#f1 .state") == ["f1-s7"]
    opened.page.locator("h1").hover()
    assert opened.visible("#f1 .state") == ["f1-s2"]


def test_a_step_is_described_by_its_state(open_page: Callable[..., Opened]) -> None:
    opened = open_page(report())
    tree = opened.page.context.new_cdp_session(opened.page).send("Accessibility.getFullAXTree")["nodes"]
    links = [node for node in tree if node.get("role", {}).get("value") == "link" and "hand-over" in str(node["name"])]
    described = [str(node.get("description", {}).get("value")) for node in links]
    assert any("What the model does there writes hand-over/45:1#2" in each for each in described)
    names = [node["name"]["value"] for node in links]
    assert any(
        re.search(r"connection C, server to client: +id: .*the first wrong thing: silent-gap", each) for each in names
    )


def test_clauses_are_filtered_by_outcome(open_page: Callable[..., Opened]) -> None:
    opened = open_page(report())
    for outcome, expected in (("violated", 1), ("held", 2), ("not observed", 1), ("all", 4)):
        opened.page.locator(f"#show-{outcome.replace(' ', '-')}").check()
        assert len(opened.visible("tr.clause")) == expected


CONTRAST = """
() => {
    const parse = text => {
        const numbers = text.match(/[\\d.]+/g).map(Number);
        const scale = text.startsWith('color(') ? 255 : 1;
        return [numbers[0] * scale, numbers[1] * scale, numbers[2] * scale, numbers.length > 3 ? numbers[3] : 1];
    };
    const over = (top, under) => [0, 1, 2].map(n => top[n] * top[3] + under[n] * (1 - top[3])).concat([1]);
    const background = element => {
        const layers = [];
        for (let each = element; each; each = each.parentElement)
            layers.push(parse(getComputedStyle(each).backgroundColor));
        return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
    };
    const light = color => {
        const linear = c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
        const [r, g, b] = color.map(part => linear(part / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const found = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement;
        if (!texts.currentNode.textContent.trim() || !element.checkVisibility({visibilityProperty: true})) continue;
        const behind = background(element);
        const one = light(over(parse(getComputedStyle(element).color), behind)), other = light(behind);
        const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        found.push([ratio, texts.currentNode.textContent.trim().slice(0, 40)]);
    }
    return found;
}
"""
"""The contrast ratio (WCAG 2.2) of every text that can be seen."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_are_readable(open_page: Callable[..., Opened], scheme: str) -> None:
    opened = open_page(report(), color_scheme=scheme)
    red, green, blue = opened.page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)"
    )
    assert (red + green + blue < 150) == (scheme == "dark")
    opened.page.locator("#f1-r3").hover()
    ratios = opened.page.evaluate(CONTRAST)
    assert len(ratios) > 100
    assert [pair for pair in ratios if pair[0] < 4.5] == []


@pytest.mark.parametrize("width", [1600, 1000, 400])
def test_nothing_is_cut_off_at_the_side(open_page: Callable[..., Opened], width: int) -> None:
    opened = open_page(report(), viewport={"width": width, "height": 900})
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width


def test_it_prints(open_page: Callable[..., Opened]) -> None:
    opened = open_page(report(), color_scheme="dark")
    pdf = opened.page.pdf(format="A4")
    assert pdf.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) >= 3
    opened.page.emulate_media(media="print")
    opened.page.locator("#f1-r2").hover()
    assert opened.visible("#f1 .state") == [opened.page.locator("#f1 .state.default").get_attribute("id")]
    assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert opened.visible("fieldset, .skip") == []
    assert [pair for pair in opened.page.evaluate(CONTRAST) if pair[0] < 4.5] == []
