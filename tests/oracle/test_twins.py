"""Each clause that the oracle judges, kept and broken: every fault class has an exchange that shows it."""

import pytest
from tests.oracle.twins import (  # noqa: F401  (importing registers)
    attachment,
    cursors,
    delivery,
    eras,
    events,
    idleness,
    sessions,
    window,
)
from tests.oracle.twins.base import TWINS, Twin
from tests.oracle.wire import Wire

from reattach.clauses import load_registry
from reattach.oracle.observation import Request
from reattach.oracle.oracle import JUDGED
from reattach.oracle.verdict import OF_CLIENTS, Fault, Profile


def played(twin: Twin, *, bad: bool) -> Wire:
    wire = Wire(revision=twin.revision, declaration=twin.declaration)
    twin.build(wire, bad)
    return wire


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.name)
def test_the_good_twin_keeps_every_clause(twin: Twin) -> None:
    wire = played(twin, bad=False)
    assert wire.faults() == set()
    assert wire.faults(Profile.MCP) == set()
    if twin.holds:
        assert twin.clause in wire.held()


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.name)
def test_the_bad_twin_shows_its_fault_and_no_other(twin: Twin) -> None:
    wire = played(twin, bad=True)
    shown = {(twin.clause, twin.fault)}
    if twin.allowed:
        assert wire.differences() >= shown
        assert wire.faults() == set()
    else:
        assert wire.faults() >= shown
        assert wire.faults() <= shown | twin.also
        assert twin.clause not in wire.held()


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.name)
def test_a_finding_can_be_read_on_its_own(twin: Twin) -> None:
    wire = played(twin, bad=True)
    places = {id(observation): place for place, observation in enumerate(wire.observations)}
    for finding in wire.findings():
        assert finding.summary
        assert finding.evidence
        assert len(finding.evidence) <= 40
        asked = set()
        for observation in finding.evidence:
            if isinstance(observation, Request):
                asked.add(observation.connection)
            else:
                assert observation.connection in asked, "an exchange begins with its request"
        order = [places[id(observation)] for observation in finding.evidence if id(observation) in places]
        assert order == sorted(order)


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault not in OF_CLIENTS], ids=lambda fault: fault.value)
def test_every_fault_class_of_servers_has_a_twin(fault: Fault) -> None:
    assert any(twin.fault is fault for twin in TWINS)


def test_every_judged_clause_has_a_twin() -> None:
    assert {twin.clause for twin in TWINS} == JUDGED


def test_what_the_registry_says_the_oracle_checks_is_what_it_judges() -> None:
    assert {clause.id for clause in load_registry().values() if "oracle" in clause.checks} == JUDGED
