"""``reattach explain``."""

from typing import Annotated

import typer

from reattach.clauses import load_registry
from reattach.commands.options import show
from reattach.io.explain import explain as explain_one
from reattach.io.explain import explain_all


def explain(
    clause: Annotated[
        str | None, typer.Argument(metavar="[CLAUSE]", help="A clause id such as CUR-7; without one, all are listed.")
    ] = None,
) -> int:
    """Print a clause of the standard: its words, reason, source, checks, and an example exchange."""
    registry = load_registry()
    shown = explain_all(registry) if clause is None else explain_one(registry.find(clause), registry)
    show(shown)
    return 0
