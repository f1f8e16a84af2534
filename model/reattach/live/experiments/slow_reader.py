"""A reader that stops reading, without any number declared: it may hold up itself, and nobody else."""

from reattach.live.bench import Bench, volume
from reattach.live.experiments.registry import Need, Parameters, experiment

RECEIVE_BUFFER = 4_096
"""Bytes asked of the kernel for the receive buffer of a reader that is to stop."""


@experiment("slow-reader", "IDL-6", "ATT-4", "DEL-2", needs=[Need.SESSIONS, Need.NUMBERED])
async def slow_reader(bench: Bench, _: Parameters) -> None:
    """One call's reader stops while it is sent more than any buffer holds; another call of the session must go on."""
    session = await bench.session()
    count, size = volume(bench.declaration)
    slow = await bench.call(session, count=count, size=size, receive_buffer=RECEIVE_BUFFER)
    await slow.events(2)
    slow.post.pause()
    other = await bench.call(session, count=5, interval_ms=5)
    await bench.until_answered(other.post, other)
    if not other.responded:
        # Held up, it seems. Let go of the slow one: if the other then comes, it was waiting for it.
        await slow.post.cut()
    await other.follow()
    slow.post.resume()
    await slow.follow(to_the_end=False)
