"""Command lines of our own, as people paste them into a shell."""

import re
import shlex
from collections.abc import Sequence

URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def command_line(*words: str | None, **options: str | bool | Sequence[str] | None) -> str:
    """A command line for a shell, without the options that are None, False or empty."""
    parts = [word for word in words if word is not None]
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, bool | None):
            parts += [option] if value else []
        else:
            parts += [word for each in ([value] if isinstance(value, str) else value) for word in (option, each)]
    return shlex.join(parts)


def is_command(target: str) -> bool:
    """Whether a target is the command that starts a server or a client, and no URL."""
    return "{port}" in target or "{url}" in target or not URL.match(target)


def replay_command(file: str, target: str) -> str:
    """The command that runs the experiment of a replay file again, on the server or client that it was found on."""
    option = {"command": target} if is_command(target) else {"target": target}
    return command_line("reattach", "replay", file, **option)
