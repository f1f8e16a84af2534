"""The oracle: observations in, outcomes of clauses and findings out.

Theory
------
The reference machine is one conforming server among many, so the oracle is a relation and not a comparison: it accepts
every behaviour that keeps the clauses and rejects every other. It knows a server only by what passes on the wire. From
first deliveries it reconstructs each session's streams (``record.py``); each clause is a small judge over that record
(``judges/``); what the machine already decides (the grammar of a cursor, what a window of a declared size still holds)
it asks the machine. Whatever cannot be decided from the wire is left undecided: a clause that was never exercised is
*not observed*, and a number that was not declared is not guessed.

Three things are read strictly. Quiescence: ``Quiet`` says that the driver waited as long as it takes for silence to
mean that nothing would have come, so the driver's wait is the oracle's patience. Order: only the order within one
connection means anything; across two connections something is "later" only after a ``Quiet`` or ``DRAINED_MS``.
Completeness: what a server should have sent is known only from ``Expect`` (or from numbers in the messages themselves),
and that nothing more will come only from ``Settled``.

What a driver has to deliver for a clause to count as observed
--------------------------------------------------------------
"good" is a cursor that this session was given, "bad" one that it was not. "then quiet" means a ``Quiet`` on that
connection, unless the server closes it. Times are milliseconds; SLACK is ``SLACK_MS``.

=======  ============================================================================================================
SES-1    the answer to an ``initialize`` without a session header
SES-2    DELETE answered 2xx, and after that answer any request with that session id (a cursor or none)
SES-3    a request other than ``initialize`` without a session header, after some session id was issued
SES-4    as SES-2; and a view left open over the DELETE, then quiet or ``DRAINED_MS``
SES-5    two sessions with ``Expect`` (or a ``label`` argument) each, both receiving; better: resume each, and with the
         other's cursors
SES-6    a DELETE of a living session, with a view open, followed until the server closes it or it is quiet
SES-7    a request on a living session with another ``principal`` (both named, neither None)
SES-8    a request with a session id that no answer ever carried (needs ``complete``)
EVT-1    two events with ids in one session
EVT-2    two events of one stream, ids in the standard's grammar or whole numbers
EVT-3    the first frame of a POST's stream (not of ``initialize``), under 2025-11-25
EVT-4    an id delivered a second time: resume from an earlier cursor
EVT-5    any event id
EVT-6    a resumption from the id of an event without a message, followed to its first message. The fault needs more:
         a resumption from the id before it that brings what it jumped over, and then one from it, whose first message
         has come before on another view (so that it is replayed, and not live)
DEL-1    a granted resumption from a good cursor that delivers, ends or is quiet
DEL-2    the same, with ``Expect`` for its call; a missing tail needs ``Settled``. Without ``Expect``: events that this
         session was given before, or that a second resumption from an earlier cursor delivers
DEL-3    a resumption of one stream while another stream of the session has had events
DEL-4    a message (numbered, or a response) delivered while another stream of the session is open
DEL-5    a response anywhere
DEL-6    two messages on one view that were delivered before or are numbered by ``Expect``
DEL-7    a POST's stream, or a resumed one, read past its response until it is closed or quiet; or quiet after the
         request was cancelled
DEL-8    a resumption of a stream that still emits; an event at least ``LIVE_MS`` after the grant, or quiet and then a
         second resumption from where it stood, or ``Settled``
DEL-9    a resumption after the response was delivered, until closed or quiet
DEL-10   a resumption while the stream's old view is open; both read until quiet or closed
CUR-1    a plain GET after some earlier standalone view was given a message; until quiet or closed
CUR-2    GET with an empty, repeated or never issued ``Last-Event-ID``; until refused, closed or quiet
CUR-3    ... with a cursor that another session was given
CUR-4    ... with a good cursor too old: declared N or T passed; undeclared: nothing of what is known to follow comes
CUR-5    ... with an id like an issued one and a larger last number
CUR-6    ... with an id in the standard's grammar whose seq is another stream's
CUR-7    a declared window; a resumption from a good cursor that is surely inside or surely outside (``Expect`` for
         every call of the session, or each one read to its end)
CUR-8    a resumption from the newest event, until its first message, end or quiet; from the mark (declared N)
CUR-9    a refused cursor, then any request of the session with its answer
CUR-10   a bad cursor, then any request of the session with its answer
GET-1    a GET under a living session, with its answer
ATT-1    a granted resumption from a good cursor, until its first message, closed or quiet
ATT-2    as DEL-10; split-view needs the new view closed by the server, quiet or ``Settled``
ATT-3    a resumption from the newest event of a stream whose old view is open; the body of a refusal
ATT-4    a call with ``Expect`` whose connection was cut, resumed until ``Settled``
WIN-1    declared N: a resumption with N or more later messages of the same stream, or of calls made later
WIN-2    declared T: a resumption from the cursor before a message that was delivered more than T + SLACK ago
WIN-4    a terminated session's cursor, on it and on another session
WIN-5    as CUR-7, surely inside
WIN-6    declared N: one unpaused view that is given more than N messages
IDL-1    declared stall: ``ReadPaused`` for longer than stall + SLACK on an emitting stream, then ``ReadResumed`` until
         closed or quiet. The fault needs more: ``transport_buffer_bytes`` declared and exceeded by what comes after the
         pause, and ``Expect.pace_ms``, so that what comes was surely due during the pause
IDL-2    the same
IDL-3    the same, while another stream of the session is given more than N messages; or any view that a
         ``resumption-required`` ends
IDL-4    declared absence: a session with everything closed and every call answered, then a request after more than
         absence + SLACK (and one before absence - SLACK: it must live)
IDL-5    a request's stream that the server ends before its response, under 2025-11-25
IDL-6    a call answered on one connection while another of the session is paused; or quiet, and then the paused one
         read or closed and the call followed
MOD-1    a resumption request with its answer, and its first event, end or quiet
ERA-1    requests with ``MCP-Protocol-Version: 2026-07-28``
=======  ============================================================================================================

Not judged on the wire: MOD-2, MOD-3, MOD-4, WIN-3 (the registry says why) and the clauses about clients.
"""

from collections.abc import Mapping

from reattach.clauses import Registry, load_registry
from reattach.machine.revision import Revision
from reattach.oracle.declaration import NOTHING_DECLARED, Declaration, declared
from reattach.oracle.flat import FlatFrame
from reattach.oracle.judges import judged, judges_of
from reattach.oracle.ledger import Ledger
from reattach.oracle.observation import Closed, Frame, Observation
from reattach.oracle.reconstruct import ObservationError, take
from reattach.oracle.reconstruct.forgetting import forget_all
from reattach.oracle.record import DRAINED_MS, LIVE_MS, SLACK_MS, Call, Run, Seen
from reattach.oracle.swift import Swift
from reattach.oracle.verdict import Finding, Profile, Report

__all__ = ["DRAINED_MS", "JUDGED", "LIVE_MS", "SLACK_MS", "ObservationError", "Oracle"]

JUDGED: frozenset[str] = judged()
"""The clauses that the oracle can judge on the wire: those that have a judge."""


def _is_left_unanswered(call: Call) -> bool:
    """Whether a call was followed as far as anybody did, without its response, and nobody said what it would send."""
    stream = call.stream
    if stream is None or call.answered or call.expected is not None or call.cancelled is not None:
        return False
    views = stream.views
    return any(view.resumed for view in views) and all(view.exchange.end is not None for view in views)


class Oracle:
    """Judges one run of one server, observation by observation."""

    def __init__(
        self,
        *,
        revision: Revision,
        declaration: Declaration = NOTHING_DECLARED,
        complete: bool = True,
        horizon: int = 4096,
        registry: Registry | None = None,
    ) -> None:
        """``revision`` is that of requests which name none. ``complete`` says that the observations hold every session
        from its initialize, so that what was never seen was never issued. ``horizon`` bounds what is remembered: events
        and exchanges per session, and, by multiples of it, those of all sessions, and sessions. Raises RegistryError if
        there is no registry to judge by.
        """
        self._run = Run(revision=revision, declaration=declaration, complete=complete, horizon=max(16, horizon))
        self._ledger = Ledger(registry if registry is not None else load_registry())
        self._swift: Swift | None = Swift()

    def observe(
        self,
        observation: Observation | FlatFrame,
        experiment: str = "",
        place: int = 0,
        profile: Profile = Profile.MCP,
    ) -> tuple[Finding, ...]:
        """Take one observation; return the findings that it decides, of the kinds they have under a profile.

        ``place`` is that of the observation in what it comes from, a number that grows with each, such as its line; 0
        counts it. Observations of connections that were never asked for, or are over, are counted and otherwise
        ignored. Raises ObservationError for what cannot be an observation, or a second request on one connection.
        """
        run, swift = self._run, self._swift
        run.index = place or run.index + 1
        if isinstance(observation, FlatFrame):
            if swift is not None and swift.take(run, observation, experiment):
                return ()
            findings = self._observe(observation, experiment, profile)
            observation.let_go()
            return findings
        if swift is not None and (
            (isinstance(observation, Frame) and swift.take(run, observation, experiment))
            or (isinstance(observation, Closed) and swift.close(run, observation, experiment))
        ):
            return ()
        return self._observe(observation, experiment, profile)

    def close(self) -> None:
        """Let go of what is remembered. Nothing can be observed after that, and all has been reported before."""
        forget_all(self._run)

    def _observe(self, observation: Observation | FlatFrame, experiment: str, profile: Profile) -> tuple[Finding, ...]:
        """The general way."""
        run = self._run
        findings: tuple[Finding, ...] = ()
        for moment in take(run, Seen(run.index, observation, experiment)):
            for clauses, judge in judges_of(moment):
                for judgement in judge(run, moment):
                    assert judgement.clause in clauses, f"{judgement.clause} is not declared by {judge}"
                    finding = self._ledger.enter(judgement, profile)
                    if finding is not None:
                        findings += (finding,)
        return findings

    def report(self, profile: Profile = Profile.MCP) -> Report:
        """The verdict so far, under a profile. May be asked for at any time, and more than once."""
        return Report(
            clauses=self._ledger.clauses(profile, self._run, self._swift.held() if self._swift is not None else {}),
            findings=self._ledger.findings(profile),
            notes=self._notes(),
        )

    def _notes(self) -> tuple[str, ...]:
        run = self._run
        notes = [f"Ids are compared within the last {run.horizon} events of a session (EVT-1, EVT-4)."]
        names = declared(run.declaration)
        notes.append(
            f"Declared: {', '.join(names)}." if names else "No policy is declared: WIN and most of IDL are open."
        )
        counted: Mapping[str, int] = {
            "observations belong to no open request and were ignored": run.strays,
            "POSTs carried Last-Event-ID; resuming by POST is an extension": run.posts_with_cursor,
            "times the server was restarted; that it forgot sessions and events is not held against it": run.restarts,
            "sessions were forgotten to bound the record": run.forgotten_sessions,
            "events were forgotten to bound the record; what hangs on them is not judged": run.forgotten_events,
            "exchanges that were not over were forgotten to bound the record": run.unfollowed,
            "calls were resumed and never answered; whether their rest was lost is not known (DEL-2)": sum(
                map(_is_left_unanswered, (call for session in run.sessions.values() for call in session.calls.values()))
            ),
        }
        return (*notes, *(f"{count} {what}." for what, count in counted.items() if count))
