"""How long to wait before silence means something.

A server that does not end a stream never says that nothing more will come; a driver can only wait. Two periods, both
derived from what this server has been seen to do and both bounded, are used everywhere and printed with the report:

* the **quiet period** ends a look at something that is not expected to send. If it is too short, something late is
  missed; it can make the probe see less, and never makes it accuse.
* the **patience** ends a wait for something that is expected. If it were too short, a slow server would be accused of a
  loss; it is therefore much longer, and never less than two seconds.
"""

from attrs import define

SILENT_AFTER = 3
"""After so many resumptions without any answer no more is expected of the next ones than patience gives them."""
QUIET_MS = (250, 1_500)
"""The bounds of the quiet period."""
PATIENCE_MS = (2_000, 6_000)
"""The bounds of the patience."""


@define
class Pace:
    """What has been seen of the server's speed, and the two periods that follow from it."""

    answer_ms: int = 0
    """The longest time from a simple request to the head of its response."""
    gap_ms: int = 0
    """The longest time between two events of a call left alone, beyond the interval that was asked for, if one was."""

    unanswered: int = 0
    """How many resumptions got no answer at all."""

    @property
    def answers_resumptions(self) -> bool:
        """Whether there is still reason to think that the server answers resumptions."""
        return self.unanswered < SILENT_AFTER

    def answered(self, elapsed_ms: int) -> None:
        """Take note of a response time."""
        self.answer_ms = max(self.answer_ms, elapsed_ms)

    def gap(self, elapsed_ms: int) -> None:
        """Take note of a time between two events."""
        self.gap_ms = max(self.gap_ms, elapsed_ms)

    @property
    def quiet_ms(self) -> int:
        """The quiet period."""
        low, high = QUIET_MS
        return min(max(8 * self.answer_ms + 4 * self.gap_ms, low), high)

    @property
    def patience_ms(self) -> int:
        """The patience."""
        low, high = PATIENCE_MS
        return min(max(40 * self.answer_ms + 10 * self.gap_ms, low), high)

    def describe(self) -> str:
        """One line for the report's notes."""
        return (
            f"quiet period {self.quiet_ms} ms, patience {self.patience_ms} ms: from response times up to"
            f" {self.answer_ms} ms and gaps between events up to {self.gap_ms} ms on this server"
        )
