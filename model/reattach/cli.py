"""The command line (design.md section 9): names, flags and exit codes are a contract.

What a command does is elsewhere; here are its options, and the one place where typed errors become one line on stderr
and an exit code.
"""

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console

import reattach
from reattach.clauses import RegistryError, load_registry
from reattach.io.explain import explain as explain_clause
from reattach.io.explain import explain_all
from reattach.io.files import OutputError
from reattach.io.plain import plain
from reattach.io.policy_file import PolicyError, read_policy
from reattach.io.run import EXIT_USAGE
from reattach.io.trace import TraceError
from reattach.live.serve import ServeError, ServeOptions, run_server
from reattach.live.server.settings import Settings

app = typer.Typer(
    name="reattach",
    help="The reference model of MCP Streamable HTTP session resumption, and the oracle built on it.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

BAD_INPUT: tuple[type[Exception], ...] = (OutputError, PolicyError, RegistryError, ServeError, TraceError)
"""What the user gave that cannot be used."""

# The base of usage errors is not exported under its own name.
_UsageError = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets a question mark, not a traceback.
        getattr(stream, "reconfigure", lambda **_: None)(errors="replace")
    try:
        code = typer.main.get_command(app).main(
            args=None if arguments is None else list(arguments), prog_name="reattach", standalone_mode=False
        )
    except BAD_INPUT as error:
        return _complain(str(error))
    except BrokenPipeError:
        # Whoever was reading has had enough; nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if not isinstance(error, _UsageError):
            raise
        command = getattr(getattr(error, "ctx", None), "command_path", "reattach")
        return _complain(f"{error.format_message()} ({command} --help)")  # type: ignore[attr-defined]
    return code if isinstance(code, int) else 0


def _complain(message: str) -> int:
    print(f"reattach: {plain(message)}", file=sys.stderr)
    return EXIT_USAGE


def _version(wanted: bool) -> None:
    if wanted:
        print(f"reattach {reattach.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def serve(
    policy: Annotated[
        str, typer.Option(metavar="FILE", help="Run by this policy: a TOML file, or default or short.")
    ] = ("default"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 0,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    allow_remote: Annotated[bool, typer.Option("--allow-remote", help="Listen beyond the loopback interface.")] = False,
    token: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=SECRET", help="Require a bearer token; once for each principal."),
    ] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(metavar="ORIGIN", help="Accept this Origin beside those of the loopback interface."),
    ] = None,
) -> int:
    """Run the reference server until interrupted."""
    settings = Settings(policy=read_policy(policy), tokens=_tokens(token or []), origins=frozenset(origin or []))
    return run_server(ServeOptions(host=host, port=port, allow_remote=allow_remote, settings=settings))


def _tokens(given: Sequence[str]) -> dict[str, str]:
    tokens: dict[str, str] = {}
    for each in given:
        name, separator, secret = each.partition("=")
        if not name or not separator or not secret or name in tokens:
            raise typer.BadParameter("NAME=SECRET is needed, each name once", param_hint="'--token'")
        tokens[name] = secret
    return tokens


@app.command()
def explain(
    clause: Annotated[
        str | None, typer.Argument(help="A clause id such as CUR-7; without one, all are listed.")
    ] = None,
) -> int:
    """Print a clause of the standard: its words, reason, source, checks, and an example exchange."""
    registry = load_registry()
    shown = explain_all(registry) if clause is None else explain_clause(registry.find(clause), registry)
    _console().print(shown)
    return 0


def _console(*, stderr: bool = False) -> Console:
    """A console of the terminal's width, or of 100 columns."""
    console = Console(stderr=stderr, soft_wrap=False)
    return console if console.is_terminal else Console(stderr=stderr, width=100)


if __name__ == "__main__":
    sys.exit(main())
