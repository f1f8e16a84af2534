"""A reader that stops reading, without any number declared: it may hold up itself, and nobody else."""

from reattach.live.bench import Bench, volume
from reattach.live.experiments.registry import Need, Parameters, experiment
from reattach.live.view import Pacing

RECEIVE_BUFFER = 4_096
"""Bytes asked of the kernel for the receive buffer of a reader that is slow or stops."""
STOPS = Pacing(pause_after=2, receive_buffer=RECEIVE_BUFFER)
"""A reader that stops at its second event."""


@experiment("slow-reader", "IDL-6", "ATT-4", "DEL-2", needs=[Need.SESSIONS, Need.NUMBERED])
async def slow_reader(bench: Bench, _: Parameters) -> None:
    """One call's reader stops while it is sent more than any buffer holds; another call of the session must go on."""
    session = await bench.session()
    count, size = volume(bench.declaration)
    slow = await bench.call(session, count=count, size=size, pacing=STOPS)
    await slow.events(2)
    # Long enough that the slow reader's buffers are full well before this call is over.
    other = await bench.call(session, count=40, interval_ms=50)
    await bench.until_answered(other.post, other)
    if not other.responded:
        # Held up, it seems. Let go of the slow one: if the other then comes, it was waiting for it.
        await slow.post.cut()
    await other.follow()
    slow.post.resume()
    await slow.follow(to_the_end=False)
