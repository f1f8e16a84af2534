"""Vectors of delivery: whole histories of one session, each step with what must come of it.

The shortest history for each thing that a step may do is searched for (``targets``); the histories of a client that
comes back, from its call to the last message, are played (``plays``).
"""

from attrs import asdict

from reattach.machine.modes import Mode
from reattach.machine.policy import Policy
from reattach.machine.transition import open_session, step
from reattach.vectors.plain import TAG, ending_to_plain, input_from, input_to_plain, policy_from, result_to_plain
from reattach.vectors.plays import PLAYS
from reattach.vectors.search import Given, shortest
from reattach.vectors.targets import SCENES
from reattach.vectors.vector import EXPECT, Case, Kind, Plain

ABOUT = """\
# Vectors of delivery

Whole histories of one session: inputs with times, and after each the answer and the views that the server ends. They
are for an implementation whose session can be driven step by step, without sockets and with a clock of its own.

`policy` is that of [chapter 6](../../06-window.md) and [7](../../07-idleness.md) (`stall_reads`: the writes that a view
which is behind must accept in each stall budget), `mode` as in [8](../../08-modes.md), `tag` that of the event ids.
The session is opened at time 0 with stream 1, its standalone stream, whose birth is seq 1. Time is applied before each
input: what is too old leaves, stalled views end, a client absent for too long loses its session. A time before the
latest is taken as the latest.

| `input` | fields | meaning |
|---|---|---|
| `tick` | | time passed |
| `arrive`, `depart` | | an HTTP request of the session arrived; was answered in full, or became a view |
| `open-stream` | `connection` | a POST is answered by a stream of its own on this connection |
| `resume` | `connection`, `last_event_id` | a GET; the headers as in the vectors of the cursor parser |
| `emit` | `stream`, `size`, `message` | a message of `size` bytes for the stream; 0: one that belongs to no request |
| `write` | `connection` | the transport asks what to write next |
| `accepted` | `connection` | the transport has taken the last write |
| `disconnect` | `connection` | the connection is gone |
| `finish` | `stream` | its response was emitted, or its request cancelled |
| `terminate` | | the session is over |

| `expect.result` | fields | meaning |
|---|---|---|
| `done` | | nothing more to say |
| `gone` | | the session is over |
| `no-view` | | the connection carries none |
| `opened` | `stream`, `position` | it carries a view that starts strictly after `position` |
| `refuse` | `reason`, `status`, `held` | as in the vectors of the decision |
| `emitted` | `stream`, `seq` | the message is this event |
| `wait` | | not yet: its own reader has still to be given what it would push out (WIN-6) |
| `write-greeting` | `greeting`, `stream`, `seq` | `priming` or `position`: the id, without a message |
| `write-event` | `stream`, `seq`, `message` | this event |
| `write-heartbeat` | | a comment |
| `write-end` | | the stream is finished and written: the body ends |
| `write-overtaken` | `stream`, `position` | what comes next has left: say so, end the body (IDL-3) |
| `idle` | `until` | nothing to write before `until`, when a heartbeat is due, or a stalled view is ended |

`expect.endings`: the views that are aborted by this step, with `connection`, `cause` (`stalled`, `taken-over`,
`terminated`), `stream` and `position`, the last seq written. Absent: none.
"""


def cases() -> tuple[Case, ...]:
    """A history for each target, and each play."""
    found = []
    for scene in SCENES:
        histories = shortest(scene)
        for target in scene.targets:
            found.append(_case(target.name, target.clauses, scene.policy, scene.mode, histories[target]))
    for play in PLAYS:
        found.append(_case(play.name, play.clauses, play.policy, Mode.REATTACH, play.history()))
    return tuple(found)


def answered(question: Plain) -> Plain:
    """What the machine says at each step."""
    policy = policy_from(question["policy"])
    session = open_session(question["tag"], "", 0, Mode(question["mode"]))
    steps = []
    for each in question["steps"]:
        taken = step(policy, session, each["at"], input_from(each))
        session = taken.session
        expected = result_to_plain(policy, taken.result)
        if taken.endings:
            expected["endings"] = [ending_to_plain(ending) for ending in taken.endings]
        steps.append({**each, EXPECT: expected})
    return {**question, "steps": steps}


def _case(name: str, clauses: tuple[str, ...], policy: Policy, mode: Mode, history: tuple[Given, ...]) -> Case:
    steps = [{"at": each.at, **input_to_plain(each.given)} for each in history]
    question = {"policy": asdict(policy), "mode": mode.value, "tag": TAG, "steps": steps}
    slug = name.replace(" ", "-").replace(",", "").replace("'", "").lower()
    return Case(slug, f"{name[0].upper()}{name[1:]}.", clauses, question)


DELIVERY = Kind("delivery", ABOUT, cases, answered)
