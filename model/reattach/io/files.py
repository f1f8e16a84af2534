"""Writing files so that nothing already there is lost."""

import os
import tempfile
from pathlib import Path

from attrs import frozen


@frozen
class OutputError(Exception):
    """A file could not be written."""

    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: cannot be written: {self.reason}"


def write_atomically(path: Path, text: str) -> None:
    """Write a file whole or not at all: a temporary file beside it, then a rename.

    A device or a pipe is written in place, since it cannot be replaced. Raises OutputError.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
            return
        # The file behind a symbolic link is what changes, not the link.
        target = path.resolve()
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
            os.replace(temporary, target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OutputError(path, error.strerror or str(error)) from error


def check_writable(path: Path) -> None:
    """Find out before long work whether its result can be written. Leaves nothing behind. Raises OutputError."""
    try:
        if path.is_dir():
            raise OutputError(path, "it is a folder")
        if path.exists() and not path.is_file():
            return
        with tempfile.TemporaryFile(dir=path.resolve().parent):
            return
    except OSError as error:
        raise OutputError(path, error.strerror or str(error)) from error


def check_apart(output: Path | None, record: Path | None) -> None:
    """Find out the same of a report and a recording, which are two files. Raises OutputError."""
    for path in (output, record):
        if path is not None:
            check_writable(path)
    if output is None or record is None or output.resolve() != record.resolve():
        return
    if output.is_file() or not output.exists():  # a device is no file that either would replace
        raise OutputError(output, "the report and the recording are to be the same file (--output, --record)")


def make_folder(path: Path) -> None:
    """Make a folder, with those above it, unless it is there. Raises OutputError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(path, error.strerror or str(error)) from error


def _umask() -> int:
    # There is no way to read the mask but to set it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
