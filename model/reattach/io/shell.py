"""Command lines of our own, as people paste them into a shell."""

import shlex
from collections.abc import Sequence


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


def replay_command(file: str, target: str) -> str:
    """The command that runs the experiment of a replay file again, on the server that it was found on."""
    option = {"command": target} if "{port}" in target else {"target": target}
    return command_line("reattach", "replay", file, **option)
