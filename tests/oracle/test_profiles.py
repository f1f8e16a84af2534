"""One run, two profiles: what a finding is called, what is listed, and why something was not observed."""

import pytest
from attrs import evolve
from tests.oracle.wire import Wire

from reattach.clauses import load_registry
from reattach.machine.policy import SHORT
from reattach.machine.revision import Revision
from reattach.oracle.declaration import declaration_of
from reattach.oracle.observation import Response
from reattach.oracle.oracle import JUDGED
from reattach.oracle.verdict import Fault, Kind, Outcome, Profile


def _with_a_silent_bad_cursor() -> Wire:
    wire = Wire()
    session = wire.session()
    session.emit("A", 1).bare("a0").log("a1", "A", 1).result("a2").end()
    session.get("x").answer().end()
    return wire


def _with_a_gap() -> Wire:
    wire = Wire()
    session = wire.session()
    session.emit("A", 4).bare("a0").log("a1", "A", 1).cut()
    session.get("a1").answer().log("a3", "A", 3).cut()
    return wire


def test_what_the_text_leaves_open_is_a_difference_under_mcp_and_a_violation_under_reattach() -> None:
    wire = _with_a_silent_bad_cursor()
    kinds = {
        profile: {f.kind for f in wire.findings(profile) if f.fault is Fault.BAD_CURSOR_SILENT} for profile in Profile
    }
    assert kinds == {Profile.MCP: {Kind.UNDEFINED_AREA}, Profile.REATTACH: {Kind.VIOLATES_MUST}}
    assert not any(c.outcome is Outcome.VIOLATED for c in wire.oracle.report(Profile.MCP).clauses)


def test_who_accepts_a_cursor_and_then_skips_breaks_its_own_contract() -> None:
    finding = next(finding for finding in _with_a_gap().findings(Profile.MCP) if finding.clause == "DEL-2")
    assert finding.kind is Kind.BREAKS_CONTRACT
    assert "DEL-2" in {
        c.clause for c in _with_a_gap().oracle.report(Profile.MCP).clauses if c.outcome is Outcome.VIOLATED
    }


def test_the_default_profile_is_mcp() -> None:
    wire = _with_a_gap()
    assert wire.oracle.report() == wire.oracle.report(Profile.MCP)


def test_a_report_may_be_asked_for_at_any_time() -> None:
    wire = Wire()
    before = wire.oracle.report(Profile.REATTACH)
    assert all(clause.outcome is Outcome.NOT_OBSERVED for clause in before.clauses)
    wire.session()
    assert wire.oracle.report(Profile.REATTACH) == wire.oracle.report(Profile.REATTACH)
    assert "SES-1" in wire.held()


@pytest.mark.parametrize("profile", list(Profile))
@pytest.mark.parametrize("revision", list(Revision))
def test_the_clauses_listed_are_those_of_the_profile_and_the_revision(profile: Profile, revision: Revision) -> None:
    listed = [clause.clause for clause in Wire(revision=revision).oracle.report(profile).clauses]
    registry = load_registry().for_revision(revision, profile)
    assert listed == [c.id for c in registry.values() if c.about.value in ("server", "both")]


def test_a_clause_of_another_revision_is_listed_once_it_was_exercised() -> None:
    wire = Wire(revision=Revision.R2025_11_25)
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    exchange = wire.request("POST", message=message, revision="2026-07-28").answer(200, "application/json")
    exchange.body({"jsonrpc": "2.0", "id": 1, "result": {}})
    assert "ERA-1" in {clause.clause for clause in wire.oracle.report().clauses}


def test_what_was_not_observed_says_why() -> None:
    wire = Wire()
    session = wire.session()
    session.emit("A", 1).log(None, "A", 1).result(None).end()
    notes = {c.clause: c.note for c in wire.oracle.report(Profile.REATTACH).clauses}
    assert "second principal" in notes["SES-7"]
    assert "not declared" in notes["WIN-1"]
    assert "no event ids" in notes["EVT-1"]
    assert "not in the grammar" in notes["EVT-2"] or "no event ids" in notes["EVT-2"]
    assert notes["MOD-3"] == load_registry()["MOD-3"].not_on_the_wire
    assert notes["CUR-10"] == "nothing in this run exercised it"


def test_one_finding_for_each_clause_and_fault_with_the_shortest_evidence() -> None:
    wire = Wire()
    session = wire.session()
    call = session.emit("A", 1).bare("a0").log("a1", "A", 1).result("a2").end()
    del call
    session.get("a2").answer().comment("resumed").bare("a2").quiet().cut()
    first = next(f for f in wire.findings() if f.clause == "DEL-9")
    session.get("a0").answer().comment("resumed").bare("a0").log("a1", "A", 1).result("a2", 2).quiet().cut()
    again = [f for f in wire.findings() if f.clause == "DEL-9"]
    assert len(again) == 1
    assert again[0].times == 2
    assert len(again[0].evidence) <= len(first.evidence)
    assert first.times == 1


def test_findings_are_returned_when_they_are_decided() -> None:
    wire = Wire()
    session = wire.session()
    session.delete()
    exchange = session.request("POST", message={"jsonrpc": "2.0", "id": 5, "method": "ping"})
    found = wire.tell(Response(at=wire.now, connection=exchange.number, status=400))
    assert [(finding.clause, finding.fault) for finding in found] == [("SES-2", Fault.WRONG_STATUS)]
    assert found[0].evidence[-1] == Response(at=wire.now - 5, connection=exchange.number, status=400)
    assert found[0].experiment == "scripted"


def test_the_notes_name_the_horizon_and_what_is_declared() -> None:
    notes = " ".join(Wire(horizon=99).oracle.report().notes)
    assert "99" in notes
    assert "No policy is declared" in notes
    declared = " ".join(Wire(declaration=declaration_of(SHORT)).oracle.report().notes)
    assert "window_events" in declared


def test_resuming_by_post_is_noted_as_an_extension() -> None:
    wire = Wire()
    session = wire.session()
    session.emit("A", 2).bare("a0").log("a1", "A", 1).cut()
    session.request("POST", cursors=("a1",)).answer().comment("resumed a1").log("a2", "A", 2).cut()
    assert "extension" in " ".join(wire.oracle.report().notes)
    assert "DEL-1" in wire.held()


def test_a_configured_404_gives_cur_9_up_and_says_so() -> None:
    declaration = declaration_of(SHORT)
    wire = Wire(declaration=evolve(declaration, refusal_status=404))
    session = wire.session()
    session.emit("A", 1).bare("a0").log("a1", "A", 1).result("a2").end()
    session.get("x").refuse(404, "cursor-malformed")
    session.ping()
    assert wire.faults() == set()
    assert ("CUR-9", Fault.WRONG_STATUS) in wire.differences()


def test_the_judged_clauses_are_those_about_servers_that_show_on_the_wire() -> None:
    on_the_wire = {c.id for c in load_registry().values() if c.about.value == "server" and not c.not_on_the_wire}
    assert on_the_wire == JUDGED


def test_after_a_restart_nothing_from_before_is_held_against_the_server() -> None:
    wire = Wire()
    session = wire.session()
    session.emit("A", 2).bare("a0").log("a1", "A", 1).cut()
    wire.restart()
    session.get("a1").refuse(404, "session-unknown")
    session.ping(404)
    session.delete(404)
    assert wire.faults() == set()
    assert "restarted" in " ".join(wire.oracle.report().notes)


def test_a_session_that_was_gone_for_a_resumption_is_not_said_to_have_died_of_it() -> None:
    wire = Wire(complete=False)
    session = wire.session()
    session.get("x-1").refuse(404, "session-unknown")
    session.delete(404)
    assert wire.faults() == set()
