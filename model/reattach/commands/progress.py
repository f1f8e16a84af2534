"""How far long work is: a bar on standard error, on a terminal only."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn, TimeElapsedColumn

_ROOM = 70
"""Characters of a line that the description does not get."""


class Update(Protocol):
    """Shows how much is done of how much, and what is being done; ``fields`` are those of further columns."""

    def __call__(self, done: float, total: float | None, description: str = "", **fields: Any) -> None: ...


@contextmanager
def bar(label: str, *columns: ProgressColumn, **fields: Any) -> Iterator[Update]:
    """A bar while the work lasts. ``columns`` stand behind it, ``fields`` are what they show at first."""
    console = Console(stderr=True)
    shown = (
        SpinnerColumn(),
        TextColumn(label, markup=False),
        BarColumn(bar_width=20),
        *columns,
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False, style="dim"),
    )
    with Progress(*shown, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=None, **fields)

        def update(done: float, total: float | None, description: str = "", **fields: Any) -> None:
            cropped = description[: max(console.width - _ROOM, 10)]
            progress.update(task, total=total, completed=done, description=cropped, **fields)

        yield update
