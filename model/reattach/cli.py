"""The command line (design.md section 9): names, flags and exit codes are a contract.

Each command has a file in ``commands``. Here they are put together, and here, in one place, typed errors become one
line on stderr and an exit code.
"""

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any, TextIO, cast

import typer
from attrs import define, field

import reattach
from reattach.clauses import RegistryError
from reattach.commands.check import check
from reattach.commands.client import client
from reattach.commands.demo import demo
from reattach.commands.explain import explain
from reattach.commands.oracle import oracle
from reattach.commands.probe import probe
from reattach.commands.prove import ProveError, prove
from reattach.commands.replay import replay
from reattach.commands.serve import serve
from reattach.commands.soak import soak
from reattach.commands.vectors import vectors
from reattach.commands.watch import watch
from reattach.io.baseline import BaselineError
from reattach.io.cluster import ClusterError
from reattach.io.files import OutputError
from reattach.io.plain import plain
from reattach.io.policy_file import PolicyError
from reattach.io.run import EXIT_USAGE
from reattach.io.trace import TraceError
from reattach.live.clients.scripts import ScriptError
from reattach.live.demo import DemoError
from reattach.live.probe import OptionsError
from reattach.live.serve import ServeError
from reattach.live.soak.process import NoProcessError
from reattach.live.stimulus import StimulusError
from reattach.live.target import BadCommandError
from reattach.live.watch.fault import FaultError
from reattach.live.wire import WireError

app = typer.Typer(
    name="reattach",
    help="The reference model of MCP Streamable HTTP session resumption, and the oracle built on it.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for _command in (demo, probe, client, check, oracle, watch, soak, prove, replay, vectors, serve, explain):
    app.command()(_command)

BAD_INPUT: tuple[type[Exception], ...] = (
    BadCommandError,
    BaselineError,
    ClusterError,
    DemoError,
    FaultError,
    NoProcessError,
    OptionsError,
    OutputError,
    PolicyError,
    ProveError,
    RegistryError,
    ScriptError,
    ServeError,
    StimulusError,
    TraceError,
    WireError,
)
"""What the user gave and cannot be used. A server that cannot be reached is none of these: there is no verdict then."""

# The base of usage errors is not exported under its own name.
_UsageError = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException")


@define
class _Out:
    """Standard output, which keeps why it cannot be written: that is told apart from every other failure."""

    stream: TextIO | None
    """None: it was closed from the beginning, and nothing is written."""
    problem: OSError | None = field(init=False, default=None)

    def write(self, text: str) -> int:
        """Write it, as the stream does."""
        return int(self._keeping("write", text) or 0)

    def flush(self) -> None:
        """Flush it, as the stream does."""
        self._keeping("flush")

    def _keeping(self, name: str, *arguments: str) -> Any:
        try:
            return None if self.stream is None else getattr(self.stream, name)(*arguments)
        except OSError as error:
            self.problem = error
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets a question mark, not a traceback.
        getattr(stream, "reconfigure", lambda **_: None)(errors="replace")
    out = _Out(sys.stdout)
    try:
        with contextlib.redirect_stdout(cast(TextIO, out)):
            code = typer.main.get_command(app).main(
                args=None if arguments is None else list(arguments), prog_name="reattach", standalone_mode=False
            )
            out.flush()
    except BAD_INPUT as error:
        return _complain(str(error))
    except (OSError, SystemExit):  # of a closed pipe typer makes an exit
        if out.problem is None:
            raise
        # Nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(out.problem, BrokenPipeError):
            return EXIT_USAGE  # whoever was reading has had enough
        return _complain(f"standard output: cannot be written: {out.problem.strerror or out.problem}")
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


if __name__ == "__main__":
    sys.exit(main())
