"""``reattach vectors``."""

from pathlib import Path
from typing import Annotated

import typer

from reattach.io.files import OutputError, write_atomically
from reattach.vectors.kinds import files


def vectors(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", show_default=False, help="Write them here, a folder for each kind.")
    ],
) -> int:
    """Write the test vectors: what the machine does, as JSON for a test suite in any language.

    What else is in the folder stays: the manifest of each kind says which files belong to it.
    """
    written = files()
    for path, text in written.items():
        target = out / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(target.parent, error.strerror or str(error)) from error
        write_atomically(target, text)
    print(f"{len(written)} files written below {out}")
    return 0
