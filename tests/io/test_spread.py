"""Why the sessions of one recording are not shared out: what is foreign to one is known from the others."""

from tests.oracle.twins.sessions import another_sessions_events_on_an_honest_resume
from tests.oracle.wire import Wire

from reattach.machine.revision import Revision
from reattach.oracle.observation import Observation, Request, Response
from reattach.oracle.oracle import Oracle
from reattach.oracle.verdict import Profile


def found(observations: list[Observation]) -> set[str]:
    oracle = Oracle(revision=Revision.R2025_11_25, complete=False)
    for observation in observations:
        oracle.observe(observation)
    return {finding.clause for finding in oracle.report(Profile.REATTACH).findings}


def test_the_sessions_of_a_recording_judged_apart_show_less_than_together() -> None:
    wire = Wire()
    another_sessions_events_on_an_honest_resume(wire, True)
    session_of: dict[int, str | None] = {}
    for seen in wire.observations:
        if isinstance(seen, Request | Response) and seen.session is not None:
            session_of[seen.connection] = seen.session
    sessions = set(session_of.values())
    assert len(sessions) == 2
    apart = [found([each for each in wire.observations if session_of[each.connection] == one]) for one in sessions]
    assert "SES-5" in found(wire.observations)
    assert all("SES-5" not in each for each in apart)
