"""Named mutants of the machine: one fault each, and the theorem that must refute it.

A proof that could not fail proves nothing. Each mutant here is a mistake in the shipped machine (``mutation.machine``)
with the theorem that, as is said here in advance, does not survive it. That it fails is checked by the prover; a
shortest trace from the initial state that breaks it is found by the explorer (``refutation``).

The promises and the invariant are not touched by a mutant. Some functions of ``session`` are called by both the machine
and a promise; the promises therefore say in their own words what a budget or a limit means.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import CodeType

from attrs import frozen

from reattach.mutation.machine import MISTAKES, Mistake
from reattach_proofs import swap
from reattach_proofs.conduct import CONDUCT
from reattach_proofs.end_to_end import END_TO_END
from reattach_proofs.promises import (
    BACKPRESSURE,
    BOUNDED,
    BUDGETS,
    DECISION,
    EXPLICIT,
    FINAL,
    INVARIANT,
    ISOLATION,
    LOSSLESS,
    NO_DUPLICATE,
    NO_SILENT_LOSS,
    ONE_VIEW,
    PROGRESS,
    Theorem,
)
from reattach_proofs.replay import REPLAY
from reattach_proofs.servers import SESSIONS


@frozen
class Mutant:
    """A mistake, and the theorem that must refute it."""

    mistake: Mistake
    theorem: Theorem

    @property
    def name(self) -> str:
        """The name of the mistake."""
        return self.mistake.name

    @property
    def function(self) -> str:
        """Module and name, within ``reattach.machine``."""
        return self.mistake.function

    @property
    def wrong(self) -> str:
        """What is wrong, in a sentence."""
        return self.mistake.wrong

    @property
    def module(self) -> str:
        """The module of the machine that it changes."""
        return self.function.partition(".")[0]

    def code(self) -> CodeType:
        """The function's code with the fault. Raises DoesNotFitError."""
        return self.mistake.code()


@contextmanager
def applied(mutant: Mutant) -> Iterator[None]:
    """Run the machine with the fault."""
    with swap.swapped(mutant.function, mutant.code()):
        yield


_REFUTED_BY: Mapping[str, Theorem] = {
    "inclusive-cursor": NO_DUPLICATE,
    "skips-one-after-cursor": NO_SILENT_LOSS,
    "unknown-stream-is-fresh": DECISION,
    "foreign-tag-accepted": EXPLICIT,
    "evicted-prefix-skipped": LOSSLESS,
    "old-cursor-replays-from-start": NO_DUPLICATE,
    "refuses-at-mark": LOSSLESS,
    "one-below-mark-is-a-mismatch": EXPLICIT,
    "ahead-accepted": EXPLICIT,
    "newest-refused": LOSSLESS,
    "any-seq-accepted": EXPLICIT,
    "replays-what-is-left": LOSSLESS,
    "mark-is-first-held": LOSSLESS,
    "empty-window-has-no-mark": LOSSLESS,
    "resumes-at-last": NO_SILENT_LOSS,
    "resumes-at-birth": NO_DUPLICATE,
    "old-view-not-ended": ONE_VIEW,
    "takeover-refused": LOSSLESS,
    "old-connection-keeps-the-stream": ONE_VIEW,
    "resumes-another-stream": DECISION,
    "refusal-kills-the-session": EXPLICIT,
    "refusal-ends-the-view": EXPLICIT,
    "refusal-is-no-sign": BUDGETS,
    "every-get-backfills": DECISION,
    "early-pushes-lost": NO_SILENT_LOSS,
    "listeners-share-the-pushes": INVARIANT,
    "pushes-stay-on-the-old-stream": INVARIANT,
    "listeners-beyond-the-limit": BOUNDED,
    "one-stream-too-many": BOUNDED,
    "ids-restart-with-each-stream": INVARIANT,
    "priming-takes-no-seq": INVARIANT,
    "stream-numbers-repeat": INVARIANT,
    "evicts-one-too-few": BOUNDED,
    "evicts-one-too-many": BOUNDED,
    "no-count-limit": BOUNDED,
    "no-byte-limit": BOUNDED,
    "one-byte-too-many": BOUNDED,
    "oversized-message-taken": BOUNDED,
    "fitting-message-refused": EXPLICIT,
    "reader-overtaken-by-its-stream": BACKPRESSURE,
    "waits-needlessly": BACKPRESSURE,
    "slow-reader-blocks-all": BACKPRESSURE,
    "finished-stream-takes-events": NO_SILENT_LOSS,
    "message-on-the-wrong-stream": ISOLATION,
    "chain-is-of-the-session": INVARIANT,
    "last-not-advanced": INVARIANT,
    "stall-clock-not-started": BUDGETS,
    "emissions-restart-the-stall-clock": BUDGETS,
    "gap-skipped": NO_SILENT_LOSS,
    "overtaken-without-loss": NO_SILENT_LOSS,
    "position-not-moved": NO_DUPLICATE,
    "writes-ahead-of-the-reader": BOUNDED,
    "outstanding-forgotten": BOUNDED,
    "priming-skips-events": NO_SILENT_LOSS,
    "ends-before-the-last-event": NO_SILENT_LOSS,
    "response-stream-never-ended": PROGRESS,
    "unfinished-stream-ended": NO_SILENT_LOSS,
    "deaf-view": PROGRESS,
    "greeting-withheld": PROGRESS,
    "heartbeat-late": PROGRESS,
    "heartbeat-flood": PROGRESS,
    "comment-is-no-write": BUDGETS,
    "progress-not-counted": BUDGETS,
    "rate-one-too-high": BUDGETS,
    "accepted-out-of-nothing": BUDGETS,
    "disconnect-is-cancel": ONE_VIEW,
    "disconnect-ends-the-session": ONE_VIEW,
    "absence-counts-from-long-ago": BUDGETS,
    "pushes-can-be-finished": INVARIANT,
    "no-ttl": BOUNDED,
    "ttl-one-too-long": BOUNDED,
    "ttl-one-too-short": BOUNDED,
    "stall-never-applied": BUDGETS,
    "stall-kills-the-caught-up": BUDGETS,
    "stall-one-too-late": BUDGETS,
    "stall-one-too-early": BUDGETS,
    "greeting-is-not-behind": BUDGETS,
    "outstanding-is-not-behind": BUDGETS,
    "late-look-lengthens-absence": BUDGETS,
    "absence-never-applied": BUDGETS,
    "absence-kills-the-busy": BUDGETS,
    "open-requests-not-counted": BUDGETS,
    "every-session-is-busy": BUDGETS,
    "cut-call-is-not-busy": BUDGETS,
    "absence-one-too-late": BUDGETS,
    "time-goes-back": BUDGETS,
    "departures-pile-up": BUDGETS,
    "terminated-keeps-its-window": FINAL,
    "terminated-keeps-its-streams": FINAL,
    "terminated-keeps-serving": FINAL,
    "views-outlive-termination": FINAL,
    "the-dead-react": FINAL,
    "stalled-views-untold": BUDGETS,
    "input-before-time": BUDGETS,
    "never-forgotten": BOUNDED,
    "forgotten-with-its-response": BOUNDED,
    "forgotten-one-too-early": BOUNDED,
    "eventless-stream-kept": BOUNDED,
    "forgotten-while-read": ONE_VIEW,
    "all-streams-replaced": ISOLATION,
    "one-store-for-all-sessions": SESSIONS,
    "any-principal-will-do": SESSIONS,
    "absent-session-answers": SESSIONS,
    "missing-session-is-unknown": SESSIONS,
    "terminated-session-kept": SESSIONS,
    "timed-out-session-kept": SESSIONS,
    "timed-out-views-untold": SESSIONS,
    "one-session-too-many": SESSIONS,
    "termination-ends-another-session": SESSIONS,
    "cursor-not-advanced": END_TO_END,
    "one-cursor-for-all-streams": CONDUCT,
    "stream-given-up-in-silence": END_TO_END,
    "cut-is-the-end": END_TO_END,
    "cut-before-any-cursor-is-silent": END_TO_END,
    "lost-session-drops-its-calls": END_TO_END,
    "resumes-without-cursor": CONDUCT,
    "calls-again": CONDUCT,
    "attempts-not-counted": CONDUCT,
    "one-attempt-too-many": CONDUCT,
    "position-counts-as-progress": CONDUCT,
    "answered-call-still-followed": CONDUCT,
    "unknown-session-kept": CONDUCT,
    "bad-cursor-costs-the-session": CONDUCT,
    "lost-session-untold": CONDUCT,
    "old-connection-still-read": CONDUCT,
    "memory-one-short": REPLAY,
    "no-dedup": REPLAY,
    "replay-beyond-memory": REPLAY,
}

MUTANTS: tuple[Mutant, ...] = tuple(Mutant(mistake, _REFUTED_BY[name]) for name, mistake in MISTAKES.items())
"""All of them, by the part of the machine that they change."""


def mutant_named(name: str) -> Mutant:
    """The mutant with this name. Raises KeyError."""
    return {mutant.name: mutant for mutant in MUTANTS}[name]
