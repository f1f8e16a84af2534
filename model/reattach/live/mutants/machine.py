"""Mistakes in the machine that show on the wire, each with what the probe has to report.

What is changed is said once, in ``mutation.machine``. Of the mistakes there that are not served, most concern a client,
or a millisecond, or a state that no observer of a real server can bring about at will.
"""

from reattach.live.mutants.base import Edit, Mutant, edit_of, of_machine
from reattach.mutation.machine import MACHINE, MISTAKES
from reattach.oracle.verdict import Fault

MACHINE_MUTANTS: tuple[Mutant, ...] = (
    of_machine("inclusive-cursor", "DEL-1", Fault.DUPLICATE_DELIVERY),
    of_machine("resumes-at-birth", "DEL-1", Fault.DUPLICATE_DELIVERY),
    of_machine("skips-one-after-cursor", "DEL-2", Fault.SILENT_GAP),
    of_machine("resumes-at-last", "DEL-2", Fault.SILENT_GAP),
    of_machine("evicted-prefix-skipped", "DEL-2", Fault.SILENT_GAP),
    of_machine("ends-before-the-last-event", "DEL-2", Fault.SILENT_GAP),
    of_machine("disconnect-is-cancel", "DEL-2", Fault.SILENT_GAP),
    of_machine("gap-skipped", "IDL-3", Fault.SILENT_GAP),
    of_machine("foreign-tag-accepted", "CUR-3", Fault.REPLAY_FROM_START),
    of_machine("unknown-stream-is-fresh", "CUR-6", Fault.BAD_CURSOR_SILENT),
    of_machine("ahead-accepted", "CUR-5", Fault.BAD_CURSOR_SILENT),
    of_machine("refuses-at-mark", "CUR-7", Fault.GOOD_CURSOR_REFUSED),
    of_machine("newest-refused", "CUR-8", Fault.GOOD_CURSOR_REFUSED),
    of_machine("evicts-one-too-many", "WIN-5", Fault.GOOD_CURSOR_REFUSED),
    of_machine("forgotten-with-its-response", "CUR-7", Fault.GOOD_CURSOR_REFUSED),
    of_machine("refusal-kills-the-session", "CUR-10", Fault.BAD_CURSOR_KILLS_SESSION),
    of_machine("every-get-backfills", "CUR-1", Fault.REPLAY_FROM_START),
    of_machine("ids-restart-with-each-stream", "EVT-2", Fault.ID_NOT_UNIQUE),
    of_machine("evicts-one-too-few", "WIN-1", Fault.UNBOUNDED_MEMORY),
    of_machine("no-count-limit", "WIN-1", Fault.UNBOUNDED_MEMORY),
    of_machine("no-byte-limit", "WIN-1", Fault.UNBOUNDED_MEMORY),
    of_machine("no-ttl", "WIN-2", Fault.UNBOUNDED_MEMORY),
    of_machine("reader-overtaken-by-its-stream", "WIN-6", Fault.HEALTHY_VIEW_ENDED),
    of_machine("stall-never-applied", "IDL-1", Fault.IDLE_NOT_ENFORCED),
    of_machine("absence-never-applied", "IDL-4", Fault.IDLE_NOT_ENFORCED),
    of_machine("absence-kills-the-busy", "IDL-4", Fault.HEALTHY_VIEW_ENDED),
    of_machine("disconnect-ends-the-session", "IDL-4", Fault.HEALTHY_VIEW_ENDED),
    of_machine("priming-skips-events", "EVT-6", Fault.PRIMING_SKIPS_EVENTS),
    of_machine("response-stream-never-ended", "DEL-7", Fault.STREAM_NOT_ENDED),
    of_machine("any-principal-will-do", "SES-7", Fault.PRINCIPAL_CONFUSION),
    Mutant(
        "malformed-cursor-replays-everything",
        "What cannot be read as a cursor is taken for the beginning of the newest stream.",
        "CUR-2",
        Fault.REPLAY_FROM_START,
        (
            Edit(
                f"{MACHINE}.decision.decide_cursor",
                "return Refuse(Reason.CURSOR_MALFORMED)",
                "return Reattach(session.streams[-1].number, mark_of(session, session.streams[-1]))",
            ),
        ),
        "ai-agents-for-beginners (B 4)",
    ),
    Mutant(
        "seqs-are-only-compared",
        "Any seq between two of a stream is taken for a position on it, and what comes after it is sent.",
        "CUR-6",
        Fault.REPLAY_FROM_START,
        (edit_of(MISTAKES["any-seq-accepted"]), edit_of(MISTAKES["gap-skipped"])),
        "python-sdk's conformance server, with one counter for all streams (S 2.1)",
    ),
    Mutant(
        "takeover-refused-with-409",
        MISTAKES["takeover-refused"].wrong,
        "ATT-3",
        Fault.TAKEOVER_REFUSED,
        (
            edit_of(MISTAKES["takeover-refused"]),
            Edit(
                f"{MACHINE}.decision.status_of",
                "return _STATUS",
                "return 409 if reason is Reason.STREAMS_EXHAUSTED else _STATUS",
            ),
        ),
        MISTAKES["takeover-refused"].seen,
    ),
    Mutant(
        "slow-reader-blocks-all-for-ever",
        "A slow reader of one stream holds up the emissions on another, and is never ended.",
        "IDL-6",
        Fault.HEAD_OF_LINE_BLOCKING,
        # With a stall budget the reader is ended after a second, before silence means anything.
        (edit_of(MISTAKES["slow-reader-blocks-all"]), edit_of(MISTAKES["stall-never-applied"])),
        "python-sdk (S 3.8)",
    ),
    Mutant(
        "quiet-view-is-stalled",
        "A view that has read everything, and has nothing to read for a while, is ended as stalled.",
        "IDL-1",
        Fault.HEALTHY_VIEW_ENDED,
        (
            edit_of(MISTAKES["stall-kills-the-caught-up"]),
            Edit(f"{MACHINE}.session.stall_deadline", "policy.stall_ms + 1", "policy.stall_ms // 4 + 1"),
        ),
        "the reconnect storm of python-sdk and others (B 33)",
    ),
    Mutant(
        "priming-rows-evict-events",
        "Each resumption stores a row of its own, and once the window is full, pushes an event out.",
        "WIN-5",
        Fault.GOOD_CURSOR_REFUSED,
        (
            Edit(
                f"{MACHINE}.transition._resume",
                "case Reattach(number, position):\n",
                "case Reattach(number, position):\n"
                "            seen = evolve(seen, window=wrong.with_row(policy, seen.window))\n",
            ),
        ),
        "python-sdk (S 3.3)",
    ),
    Mutant(
        "missing-session-is-404",
        "A request without a session header is told that its session is over.",
        "SES-3",
        Fault.WRONG_STATUS,
        (
            Edit(
                f"{MACHINE}.decision.status_of",
                "return _STATUS",
                "return 404 if reason is Reason.SESSION_MISSING else _STATUS",
            ),
        ),
    ),
    Mutant(
        "unknown-session-is-400",
        "A session that is terminated, or never was, is answered 400 instead of 404.",
        "SES-2",
        Fault.WRONG_STATUS,
        (
            Edit(
                f"{MACHINE}.decision.status_of",
                "return _STATUS",
                "return 400 if reason is Reason.SESSION_UNKNOWN else _STATUS",
            ),
        ),
        "server-everything (S 3.6)",
    ),
    Mutant(
        "bad-cursor-is-404",
        "A bad cursor is refused with the status that tells a client that its session is over.",
        "CUR-9",
        Fault.WRONG_STATUS,
        (
            Edit(
                f"{MACHINE}.decision.status_of",
                "return _STATUS",
                'return 404 if reason.value.startswith("cursor-") else _STATUS',
            ),
        ),
        "the seed allows it; claude-code throws its session away (B 34)",
    ),
)
