"""What the evidence of a finding always shows, so that it can be read on its own."""

import pytest
from tests.oracle.wire import Wire

from reattach.machine.revision import Revision
from reattach.oracle.observation import Frame, Request
from reattach.oracle.oracle import Oracle
from reattach.oracle.verdict import Fault, Finding, Kind, Profile


def found(wire: Wire, fault: Fault) -> Finding:
    return next(finding for finding in wire.findings() if finding.fault is fault)


def ids(finding: Finding) -> list[str | None]:
    return [each.id for each in finding.evidence if isinstance(each, Frame)]


def test_the_message_that_came_directly_before_on_the_view() -> None:
    wire = Wire()
    session = wire.session()
    session.emit("A", 9).bare("a0").cut()
    view = session.get("a0").answer()
    for n in range(1, 6):
        view.log(f"a{n}", "A", n)
    view.log("a3", "A", 3)
    assert ids(found(wire, Fault.DUPLICATE_DELIVERY))[-2:] == ["a5", "a3"]


def test_where_a_foreign_cursor_was_given() -> None:
    assert ids(found(foreign_cursor(), Fault.BAD_CURSOR_SILENT)) == ["a1b2c3d4"]


def foreign_cursor() -> Wire:
    wire = Wire()
    one, other = wire.session(), wire.session()
    one.emit("A", 2).bare("c9f09f89").log("a1b2c3d4", "A", 1).cut()
    other.get("a1b2c3d4").answer().quiet()
    return wire


@pytest.mark.parametrize("step", [1, 10])
def test_where_each_of_it_stands(step: int) -> None:
    seen = foreign_cursor().observations
    oracle = Oracle(revision=Revision.R2025_11_25)
    told = [
        finding
        for number, each in enumerate(seen, start=1)
        for finding in oracle.observe(each, place=0 if step == 1 else number * step)
    ]
    assert told
    for finding in (*told, *oracle.report().findings):
        assert [seen[place // step - 1] for place in finding.places] == list(finding.evidence)


@pytest.mark.parametrize(
    ("profile", "kind"), [(Profile.MCP, Kind.UNDEFINED_AREA), (Profile.REATTACH, Kind.VIOLATES_MUST)]
)
def test_what_is_found_as_it_goes_has_its_kind_under_the_profile(profile: Profile, kind: Kind) -> None:
    oracle = Oracle(revision=Revision.R2025_11_25)
    told = [finding for each in foreign_cursor().observations for finding in oracle.observe(each, profile=profile)]
    assert {finding.kind for finding in told if finding.clause == "CUR-3"} == {kind}


_INFERRED = "by the numbers that the messages carry"


def _numbered(wire: Wire, *, claimed: bool) -> "list[Finding]":
    """Of a call whose messages count: a loss, a repetition under another id, and a disorder."""
    session = wire.session()
    for name, counted in (("lost", (4,)), ("twice", (3, 3)), ("astray", (5, 4))):
        call = session.call(name if claimed else "").answer()
        call.bare(f"{name}-0").log(f"{name}-1", name, 1).log(f"{name}-2", name, 2).cut()
        view = session.get(f"{name}-2").answer()
        for place, n in enumerate(counted):
            view.log(f"{name}-9{place}", name, n)
        view.quiet().cut()
    return [finding for finding in wire.findings() if finding.clause in ("DEL-1", "DEL-2", "DEL-6")]


@pytest.mark.parametrize("claimed", [True, False])
def test_what_rests_on_numbers_that_nobody_claimed_says_so(claimed: bool) -> None:
    findings = _numbered(Wire(), claimed=claimed)
    assert {finding.clause for finding in findings} == {"DEL-1", "DEL-2", "DEL-6"}
    for finding in findings:
        assert (_INFERRED in finding.summary) is not claimed


def test_what_rests_on_ids_says_nothing_of_numbers() -> None:
    wire = Wire()
    session = wire.session()
    session.call().answer().bare("a0").log("a1", "A", 1).log("a2", "A", 2).cut()
    session.get("a1").answer().log("a1", "A", 1).log("a2", "A", 2)
    assert _INFERRED not in found(wire, Fault.DUPLICATE_DELIVERY).summary


def test_the_call_that_caused_the_message() -> None:
    """Whoever repeats the exchange has to make it: the message is on a stream that the call did not open."""
    wire = Wire()
    session = wire.session()
    first = session.call("B").answer().bare("0")
    pushing = session.call("A").answer()
    session.get().answer().log("0", "A", 1)
    finding = next(each for each in wire.findings() if each.clause == "EVT-1")
    asked = [each.connection for each in finding.evidence if isinstance(each, Request)]
    assert {first.number, pushing.number} <= set(asked)
