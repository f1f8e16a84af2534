"""The report as a page: it says what the other reports say, loads nothing, and lets nothing through."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from attrs import evolve, field, frozen
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.io.hostile import hostile
from tests.oracle.wire import Wire
from tests.project.readme import SAMPLE

from reattach.clauses import Registry, load_registry
from reattach.commands.replay import read_finding
from reattach.io.baseline import Expected
from reattach.io.exchange import steps_of
from reattach.io.plain import plain
from reattach.io.present import Format, present, render
from reattach.io.report_html import render_html
from reattach.io.report_json import report_to_json
from reattach.io.run import FailOn, Presented, Run
from reattach.io.trace import read_trace
from reattach.oracle.observation import Closed, Frame, Party, ReadPaused, ReadResumed, Request, Response
from reattach.oracle.verdict import ClauseResult, Fault, Finding, Kind, Level, Outcome, Report

REGISTRY = load_registry()
VOID = {"meta", "input"}


@frozen
class Element:
    """An element of a page, with all the text in it."""

    tag: str
    attributes: dict[str, str]
    children: list["Element"] = field(factory=list)
    texts: list[str] = field(factory=list)

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())

    @property
    def classes(self) -> set[str]:
        return set(self.attributes.get("class", "").split())

    def every(self, tag: str = "", cls: str = "") -> list["Element"]:
        found = [each for child in self.children for each in (child, *child.every())]
        return [each for each in found if tag in ("", each.tag) and (not cls or cls in each.classes)]

    def one(self, tag: str = "", cls: str = "") -> "Element":
        (found,) = self.every(tag, cls)
        return found


class Reader(HTMLParser):
    """Builds the tree, and insists that every element is closed where it should be."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.texts.append(data)


def read(page: str) -> Element:
    reader = Reader()
    reader.feed(page)
    reader.close()
    (root,) = reader.open
    return root


@pytest.fixture
def page(presented: Presented, registry: Registry) -> Element:
    return read(render_html(presented, registry))


def sample() -> Presented:
    """The hand-over that the official Python SDK's server gets wrong, recorded."""
    finding, _, _ = read_finding(SAMPLE, read_trace(SAMPLE), REGISTRY)
    violated = ClauseResult(clause="DEL-2", level=Level.MUST, outcome=Outcome.VIOLATED, observations=1)
    run = Run(target="t", revision="2025-11-25", profile="mcp", seed=1, command="reattach probe t --seed 1")
    return present(Report(clauses=(violated,), findings=(finding,)), run, replays=("gap.jsonl",))


def shown(*evidence: object) -> Element:
    """A finding with this exchange."""
    finding = Finding(
        clause="DEL-2",
        level=Level.MUST,
        kind=Kind.BREAKS_CONTRACT,
        fault=Fault.SILENT_GAP,
        summary="",
        evidence=evidence,  # type: ignore[arg-type]
    )
    presented = Presented(report=Report(clauses=(), findings=(finding,)), run=Run(target="t"), replays=(None,))
    return read(render_html(presented, REGISTRY)).one("article")


@pytest.mark.parametrize("fail_on", FailOn)
def test_it_says_what_the_json_says(presented: Presented, registry: Registry, fail_on: FailOn) -> None:
    chosen = evolve(presented, run=evolve(presented.run, fail_on=fail_on))
    document = report_to_json(chosen)
    page = read(render_html(chosen, registry))
    assert page.one("h1").text.lower().replace(" ", "-") == document["verdict"]
    assert f"Exit code {document['exit_code']}." in page.one(cls="verdict").text
    cells = ("id", "outcome", "seen")
    rows = [tuple(row.one(cls=cell).text for cell in cells) for row in page.every("tr", "clause")]
    clauses = document["clauses"]
    assert isinstance(clauses, list)
    assert sorted(rows) == sorted((each["id"], each["outcome"], str(each["observations"])) for each in clauses)
    findings = document["findings"]
    assert isinstance(findings, list)
    assert [article.one("h3").text for article in page.every("article")] == [
        f"{number}. {finding['fault']}" for number, finding in enumerate(findings, start=1)
    ]
    assert json.dumps(document["run"]["seed"]) in page.one(cls="facts").text  # type: ignore[call-overload, index]


def test_every_step_of_every_finding_is_there_and_the_wrong_one_is_marked(presented: Presented, page: Element) -> None:
    for finding, article in zip(presented.report.findings, page.every("article"), strict=True):
        lines = [line.text for line in article.every("span", "line")]
        assert lines == [" ".join(step.text.split()) for step in steps_of(finding.evidence)]
        (wrong,) = article.every("a", "wrong")
        assert wrong is article.every("a", "row")[-1]
        assert finding.fault.value in wrong.one("strong").text
        assert plain(finding.summary)[-20:] in article.one(cls="lead").text


def test_clause_reason_source_example_and_replay(page: Element, registry: Registry) -> None:
    article = page.every("article")[0]
    rule = article.one(cls="rule").text
    for words in (registry["SES-5"].statement, registry["SES-5"].reason, registry["SES-5"].source):
        assert " ".join(words.replace("`", "").split()) in rule
    assert "reattach replay findings/one.jsonl judges" in article.text
    assert "reattach replay findings/one.jsonl --target http://127.0.0.1:8000/mcp" in article.text
    assert len(article.one(cls="example").every(cls="wrong")) > 0


def test_each_step_leads_to_a_state_and_back(page: Element) -> None:
    states = {state.attributes["id"] for state in page.every(cls="state")}
    rows = page.every("a", "row")
    assert {row.attributes["aria-describedby"] for row in rows} == states
    assert len(states) == len(rows) > 0
    assert all(row.attributes["href"] == f"#{row.attributes['id']}" for row in rows)


def test_what_the_model_says_of_the_recorded_hand_over() -> None:
    article = read(render_html(sample(), REGISTRY)).one("article")
    state = article.one(cls="default")
    assert "hand-over/45:1#3" in state.one(cls="was").text
    assert state.one(cls="should").text == "What the model does there writes hand-over/45:1#2"
    fates = [each.text.split()[1:] for each in state.one(cls="fared").every("li")]
    assert [(fate[0], fate[-2:]) for fate in fates] == [
        ("hand-over/45:1#1", ["on", "C"]),
        ("hand-over/45:1#2", ["not", "delivered"]),
        ("hand-over/45:1#3", ["on", "C"]),
    ]


def test_reasons_of_what_was_not_observed(page: Element) -> None:
    row = next(row for row in page.every("tr") if "SES-7" in row.text)
    assert "no second principal" in row.text
    assert "not-observed" in row.classes


def test_connections_end_where_they_are_closed_and_fade_where_the_exchange_leaves_them() -> None:
    article = shown(
        Request(at=0, connection=7, method="GET"),
        Response(at=1, connection=7, status=200),
        ReadPaused(at=2, connection=7),
        Request(at=3, connection=9, method="GET"),
        ReadResumed(at=400, connection=7),
        Closed(at=401, connection=7, by=Party.CLIENT),
        Frame(at=402, connection=9, id="1"),
    )
    kinds = [sorted(row.classes - {"row", "t0", "t1"}) for row in article.every("a", "row")]
    assert kinds == [["request"], ["answer"], ["pause"], ["request"], ["pause"], ["cut"], ["answer", "wrong"]]
    bars = [
        [(("paused" in bar.classes), bar.attributes["style"][-1]) for bar in row.one(cls="upper").every(cls="bar")]
        for row in article.every("a", "row")
    ]
    assert bars == [
        [(False, "0")], [(False, "0")], [(True, "0")], [(True, "0"), (False, "1")], [(True, "0"), (False, "1")],
        [(False, "0"), (False, "1")], [(False, "1")],
    ]  # fmt: skip
    ends = [(sorted(bar.classes & {"closed", "fades"}), bar.text) for bar in article.every(cls="bar")]
    assert (["closed"], "") in ends
    assert (["fades"], "") in ends
    assert [each.text for each in article.every(cls="gap")] == ["397 ms later"]


def test_a_finding_without_an_exchange() -> None:
    assert "No exchange was recorded" in shown().text


def test_runs_of_other_kinds(presented: Presented, registry: Registry) -> None:
    stopped = evolve(presented, run=evolve(presented.run, stopped="interrupted", fail_on=FailOn.MUST))
    assert "Stopped early: interrupted" in render_html(stopped, registry)
    empty = Presented(report=Report(clauses=()), run=Run(target="t"), replays=())
    page = read(render_html(empty, registry))
    assert page.one("h1").text == "No verdict"
    assert "Nothing was found" in page.one("main").text


def test_what_the_baseline_expects_and_what_is_stale(presented: Presented, registry: Registry) -> None:
    baseline = (
        Expected(clause="SES-5", fault="cross-session-leak", reason="known: issue 9"),
        Expected(clause="SES-1", fault="invalid-id", reason="gone"),
    )
    page = read(render_html(evolve(presented, run=evolve(presented.run, baseline=baseline)), registry))
    assert [each.text for each in page.every(cls="alert")] == [
        "Stale in the baseline: invalid-id SES-1 (gone): its finding did not come.",
        "Expected by the baseline: known: issue 9",
    ]


def inert(page: str) -> Element:
    """The page, which can neither run nor load anything."""
    root = read(page)
    elements = root.every()
    assert {each.tag for each in elements} & {
        "script", "img", "iframe", "object", "embed", "link", "base", "form", "svg", "audio", "video", "source",
    } == set()  # fmt: skip
    names = {name for each in elements for name in each.attributes}
    assert [name for name in names if name.startswith("on") or name in ("src", "srcset", "action")] == []
    links = [each.attributes["href"] for each in elements if "href" in each.attributes]
    assert [
        link for link in links if not re.fullmatch(r"#[a-z0-9-]+|https://modelcontextprotocol\.io/[\w/-]+", link)
    ] == []
    assert [each for each in root.every("style") if re.search(r"url\(|@import|expression", each.text)] == []
    policy = next(each.attributes["content"] for each in root.every("meta") if "http-equiv" in each.attributes)
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    return root


def test_it_loads_nothing(presented: Presented, registry: Registry) -> None:
    inert(render_html(presented, registry))
    inert(render_html(sample(), registry))


ATTACKS = [
    "</script><script>alert(1)</script>",
    "</style><img src=x onerror=alert(1)>",
    "\"' onfocus=alert(1) autofocus x='\"",
    "javascript:alert(1)",
    "<!--",
    "]]>",
    "{{ 7 * 7 }}{% raw %}",
    "`<b>`",
    "\u202egnp.exe\u2066",
    "\x1b[31m\x00\x85\u2028",
    "\ud800",
]


@settings(max_examples=30, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(st.text(min_size=1, max_size=12) | st.sampled_from(ATTACKS))
def test_nothing_from_the_other_side_becomes_markup(text: str) -> None:
    page = render_html(hostile(text), REGISTRY)
    page.encode("utf-8")
    assert all(character.isprintable() or character == "\n" for character in page)
    root = inert(page)
    assert " ".join(plain(text).split()) == root.one(cls="notes").one("li").text
    assert {(each.tag, *sorted(each.attributes)) for each in root.every()} <= SHAPES
    for each in [*root.every(cls="lead"), *root.every("dd"), *root.every("h4"), *root.every(cls="id")]:
        assert [child for child in each.children if child.tag not in ("ul", "li")] == []
    assert {child.attributes["class"] for line in root.every(cls="line") for child in line.children} <= {"id"}


SHAPES = {
    (each.tag, *sorted(each.attributes))
    for presented in (hostile("harmless"), sample())
    for each in read(render_html(presented, REGISTRY)).every()
}
"""Elements with the attributes that they have on harmless pages."""


def test_no_secret_and_no_template_is_missing(report: Report, run: Run, registry: Registry) -> None:
    text = render(
        present(report, run, credentials=("Bearer hunter22hunter22",), replays=(None, None)), Format.HTML, registry
    )
    assert "hunter22" not in text
    assert "c9f09f890cb2454b9abe017cbc48367b" not in text
    templates = Path(render_html.__globals__["__file__"]).with_name("templates")
    assert {each.name for each in templates.iterdir()} == {
        "report.html.j2",
        "report.css",
        "soak.html.j2",
        "soak.css",
    }


def test_what_an_exchange_leaves_out_is_not_said_to_be_missing() -> None:
    wire = Wire()
    session = wire.session()
    session.emit("A", 9).bare("a0").log("a3", "A", 3).cut()
    session.get("a3").answer().log("a4", "A", 4).log("a7", "A", 7).log("a9", "A", 9)
    article = shown(*wire.observations)
    wrong = article.one(cls="default").one(cls="fared").text
    assert wrong == (
        "· A#1 not shown · A#2 not shown ✓ A#3 a3 on B ✓ A#4 a4 on C · A#5 not shown · A#6 not shown"
        " ✓ A#7 a7 on C ○ A#8 not delivered ✓ A#9 a9 on C"
    )
    before = article.every(cls="state")[-2].text
    assert "not delivered" not in before
    assert "between them messages that the exchange leaves out" in before
