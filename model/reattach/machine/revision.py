"""The MCP revisions, and what differs between them, as data (design.md section 3)."""

from enum import Enum

from attrs import frozen


class Revision(Enum):
    """An MCP protocol revision, named by its date."""

    R2025_03_26 = "2025-03-26"
    R2025_06_18 = "2025-06-18"
    R2025_11_25 = "2025-11-25"
    R2026_07_28 = "2026-07-28"


@frozen
class Traits:
    """What a revision has of the things that matter to resumption."""

    resumption: bool
    """Sessions, event ids and ``Last-Event-ID`` exist."""
    priming: bool
    """A stream begins with an id and empty data (EVT-3), and a server may close after ``retry`` (IDL-5)."""
    version_header: bool
    """Requests carry ``MCP-Protocol-Version``."""
    batches: bool
    """A POST may carry an array of messages."""


TRAITS: dict[Revision, Traits] = {
    Revision.R2025_03_26: Traits(resumption=True, priming=False, version_header=False, batches=True),
    Revision.R2025_06_18: Traits(resumption=True, priming=False, version_header=True, batches=False),
    Revision.R2025_11_25: Traits(resumption=True, priming=True, version_header=True, batches=False),
    Revision.R2026_07_28: Traits(resumption=False, priming=False, version_header=True, batches=False),
}

NEWEST_WITH_RESUMPTION = Revision.R2025_11_25
