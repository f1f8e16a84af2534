"""A soak in the reports: its figures, its plot on a terminal and on the page, its numbers as JSON."""

import json
from xml.etree import ElementTree

import jsonschema
import pytest
from attrs import evolve
from tests.io.test_report_html import Element, read
from tests.io.test_reports import SCHEMA
from tests.oracle.test_soak import MB, SIZE, START, soak

from reattach.clauses import Registry
from reattach.io.present import Format, render
from reattach.io.report_html import render_html
from reattach.io.report_json import render_json
from reattach.io.report_junit import render_junit
from reattach.io.report_sarif import render_sarif
from reattach.io.report_text import render_text
from reattach.io.run import Presented, Run
from reattach.io.soak_shown import COLUMNS, HEIGHT, WIDTH, drawing_of, figures, plot_lines
from reattach.oracle.soak import Left, Phase, Reading, Retained, Reuse, Soak, Span, Way
from reattach.oracle.soak_verdict import soak_report
from reattach.oracle.verdict import Profile, Report

RAMP = evolve(
    soak(per_event=SIZE),
    readings=tuple(Reading(at_ms=n * 1_000, resident=START + n * 10 * MB) for n in range(101)),
    spans=(
        Span(phase=Phase.SESSIONS, begin_ms=0, end_ms=40_000),
        Span(phase=Phase.EVENTS, begin_ms=40_000, end_ms=100_000),
    ),
    per_session=1_250_000,
    retained=(Retained(least=256, most=256), Retained(least=195, most=259)),
    left=Left(waited_ms=6_500, sessions=200, alive=0),
    reuses=(
        Reuse(way=Way.IDLE, before=60 * MB, first=50 * MB, second=MB),
        Reuse(way=Way.DELETE, before=60 * MB, first=50 * MB, second=45 * MB),
    ),
)
"""Memory that grows from 60 MB to 1060 MB in 100 seconds."""


@pytest.fixture
def presented(registry: Registry) -> Presented:
    report = soak_report(Report(clauses=()), RAMP, registry, Profile.REATTACH)
    run = Run(target="http://127.0.0.1:8000/mcp", profile="reattach", seed=1)
    return Presented(report=report, run=run, replays=(None,) * len(report.findings), soak=RAMP)


def test_figures_say_what_was_measured() -> None:
    said = dict(figures(RAMP))
    assert said["found"] == "a leak per event"
    assert said["load"] == "200 sessions, 64 events a call, 4.2 kB an event"
    assert said["memory"] == "60 MB at first, 1060 MB at most, 1060 MB at last"
    assert said["per event"].startswith("grows: 4.2 kB (")
    assert said["per released session"].startswith("flat: ")
    assert said["per abandoned session"] == "1.2 MB"
    assert said["held per session"] == "256, 195 to 259 events, by resuming 2 of them"
    assert said["left alone"] == "0 of 200 live after 6.5 s"
    assert said["second load after the idle budget"].startswith("memory was reused: 50.0 MB")
    assert said["second load after DELETE"].startswith("kept: 50.0 MB")


def test_figures_of_a_soak_that_was_stopped_at_once() -> None:
    empty = Soak(sessions=1, events=0, event_bytes=0, few=0, limit=1, start=MB)
    assert dict(figures(empty))["per event"] == "not known: not begun"
    assert plot_lines(empty) == []
    assert drawing_of(empty) is None


def test_the_plot_rises_from_left_to_right_in_plain_characters() -> None:
    lines = plot_lines(RAMP, rows=10)
    assert all(line.isascii() for line in lines)
    assert max(map(len, lines)) <= 10 + COLUMNS
    drawn = [line[10:] for line in lines[:10]]
    heights = [next(10 - row for row, line in enumerate(drawn) if line[at : at + 1] == "*") for at in range(COLUMNS)]
    assert heights == sorted(heights)
    assert (heights[0], heights[-1]) == (1, 8)
    assert lines[0].startswith(" 1500 MB |")
    assert lines[-2].split("|")[1:] == ["sessions".ljust(27), "events"]
    assert lines[-1].split() == ["0", "s", "100", "s"]


def test_the_drawing_stays_within_its_frame() -> None:
    drawing = drawing_of(RAMP)
    assert drawing is not None
    points = [tuple(map(float, point.split(","))) for point in drawing.line.split()]
    for across, down in (*points, *drawing.dots, *drawing.hollow):
        assert 0 <= across <= WIDTH
        assert 0 <= down <= HEIGHT
    assert points[0][1] > points[-1][1]
    assert [(band.name, band.left, band.width) for band in drawing.bands] == [
        ("sessions", 0, 288),
        ("events", 288, 432),
    ]
    assert (len(drawing.hollow), len(drawing.dots)) == (4, 44)


def test_the_text_report_has_both(presented: Presented, registry: Registry) -> None:
    text = render_text(presented, registry)
    assert "a leak per event" in text
    assert " 1500 MB |" in text
    assert "verdict: violates" in text


def test_the_page_draws_it_without_script(presented: Presented, registry: Registry) -> None:
    text = render_html(presented, registry)
    page: Element = read(text)
    picture = page.one("svg")
    assert picture.attributes["role"] == "img"
    assert picture.one("polyline").attributes["points"].count(",") == 101
    assert len(picture.every("circle")) == 48
    assert "a leak per event" in picture.one("desc").text
    assert page.every("script") == []
    assert "see the plot above" in text


def test_json_has_every_reading_and_fits_the_schema(presented: Presented) -> None:
    document = json.loads(render_json(presented))
    jsonschema.validate(document, SCHEMA)
    measured = document["soak"]
    assert measured["readings"][-1] == [100_000, 1060 * MB]
    assert measured["trends"]["events"]["growth"] == "grows"
    assert measured["trends"]["events"]["low"] < measured["trends"]["events"]["slope"]
    assert [each["way"] for each in measured["reuses"]] == ["idle", "delete"]
    assert len(measured["rounds"]) == 48


def test_the_other_formats_report_it_as_they_report_anything(presented: Presented, registry: Registry) -> None:
    suite = ElementTree.fromstring(render_junit(presented, registry))
    failed = [str(case.get("name"))[:5] for case in suite.iter("testcase") if case.find("failure") is not None]
    assert failed == ["WIN-3", "WIN-4"]
    (run,) = json.loads(render_sarif(presented, registry))["runs"]
    assert [(each["ruleId"], each["properties"]["fault"]) for each in run["results"]] == [
        ("WIN-3", "unbounded-memory"),
        ("WIN-4", "unbounded-memory"),
    ]


@pytest.mark.parametrize("wanted", Format)
def test_every_format_takes_a_finding_without_an_exchange(
    presented: Presented, registry: Registry, wanted: Format
) -> None:
    assert "unbounded-memory" in render(presented, wanted, registry)


def test_a_run_that_was_no_soak_says_nothing_of_it(presented: Presented, registry: Registry) -> None:
    other = evolve(presented, soak=None)
    assert "soak" not in json.loads(render_json(other))
    assert "<svg" not in render_html(other, registry)
