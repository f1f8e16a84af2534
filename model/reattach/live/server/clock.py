"""A clock that a suspended process does not find far ahead when it runs again.

On a busy machine a server may not run for a second. What its clients could not be sent in that time they have not left
unread (IDL-1), but a budget counted in the time of day would be over before the first of them could be written to. So
the clock is told, beat by beat, that the process runs. Where a beat is late the clock has stood still with the process,
and then goes at double speed until it has caught up: no budget is longer by more than the suspension.
"""

import asyncio
from collections.abc import Callable

from attrs import define, field

BEAT_MS = 50
LATE_MS = 200
"""A process that has not read its clock for so long, although it beats, was suspended."""


@define(eq=False)
class RunningClock:
    """The milliseconds for which the process has run; for use with ``beat``, which has to run beside it."""

    source: Callable[[], int]
    """The time of the machine, in milliseconds."""
    _last: int = field(init=False)
    _behind: int = field(init=False, default=0)

    def __attrs_post_init__(self) -> None:
        self._last = self.source()

    def __call__(self) -> int:
        """The time, in milliseconds; it never goes back."""
        now = self.source()
        passed, self._last = now - self._last, now
        self._behind = self._behind + passed - BEAT_MS if passed > LATE_MS else max(0, self._behind - passed)
        return now - self._behind

    async def beat(self) -> None:
        """Read the clock often enough that only a suspension makes a gap. Never returns."""
        while True:
            self()
            await asyncio.sleep(BEAT_MS / 1000)
