"""From observations to the record: one function that takes an observation and reports what it amounts to.

A stream's log is built from first deliveries. A new event goes directly after the furthest event that its view has
delivered, so that what a resumption brings between two known events is put between them: a later event is then known
to have been given before an earlier one, and a view that went from one known event to the other is known to have
skipped it. Order between two connections is never used for more than that.
"""

from reattach.oracle.reconstruct.dispatch import take
from reattach.oracle.reconstruct.errors import ObservationError

__all__ = ["ObservationError", "take"]
