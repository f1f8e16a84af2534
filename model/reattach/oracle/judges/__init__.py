"""The judges, a module per topic of clauses. Importing this registers all of them."""

from reattach.oracle.judges import (  # noqa: F401  (importing registers)
    attachment,
    cursors,
    delivery,
    eras,
    events,
    idleness,
    modes,
    sessions,
    window,
)
from reattach.oracle.judges.base import JUDGES, Broken, Held, Judge, Judgement, judged, judges_of

__all__ = ["JUDGES", "Broken", "Held", "Judge", "Judgement", "judged", "judges_of"]
