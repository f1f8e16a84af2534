"""Generated mutants that the probe does not find, each with the reason why nothing on the wire can show it."""

from collections.abc import Mapping

SURVIVORS: Mapping[str, str] = {}
"""By the change, as a generated mutant words it. What survives and is not here is a gap."""
