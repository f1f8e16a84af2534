"""The command line (design.md section 9): names, flags and exit codes are a contract.

What a command does is elsewhere; here are its options, and the one place where typed errors become one line on stderr
and an exit code.
"""

import os
import re
import secrets
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import reattach
from reattach.clauses import RegistryError, load_registry
from reattach.io.explain import explain as explain_clause
from reattach.io.explain import explain_all
from reattach.io.files import OutputError, check_writable, write_atomically
from reattach.io.plain import plain
from reattach.io.policy_file import PolicyError, read_declaration, read_policy
from reattach.io.present import Format, present, render, replay_folder, write_record, write_replays
from reattach.io.report_text import text_report
from reattach.io.run import EXIT_CODES, EXIT_USAGE, FailOn, Verdict, verdict_of
from reattach.io.trace import TraceError
from reattach.live.probe import DEFAULT_BUDGET_MS, OptionsError, ProbeOptions
from reattach.live.serve import ServeError, ServeOptions, run_server
from reattach.live.server.settings import Settings
from reattach.live.stimulus import StimulusError
from reattach.live.target import BadCommandError
from reattach.live.wire import WireError
from reattach.machine.revision import Revision
from reattach.oracle.declaration import NOTHING_DECLARED
from reattach.oracle.verdict import Profile
from reattach.probing import Probed, run_probe

app = typer.Typer(
    name="reattach",
    help="The reference model of MCP Streamable HTTP session resumption, and the oracle built on it.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

BAD_INPUT: tuple[type[Exception], ...] = (
    BadCommandError,
    OptionsError,
    OutputError,
    PolicyError,
    RegistryError,
    ServeError,
    StimulusError,
    TraceError,
    WireError,
)
"""What the user gave and cannot be used. A server that cannot be reached is none of these: there is no verdict then."""

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""The name of an HTTP header."""

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
    except KeyboardInterrupt:
        print("reattach: interrupted before anything was found", file=sys.stderr)
        return EXIT_CODES[Verdict.NO_VERDICT]
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


@app.command("probe")
def probe_command(
    url: Annotated[str | None, typer.Argument(help="The server's MCP endpoint.", show_default=False)] = None,
    command: Annotated[
        str | None, typer.Option(metavar="'... {port} ...'", help="Start the server with this, and end it afterwards.")
    ] = None,
    path: Annotated[str, typer.Option(help="The endpoint's path on a server that --command starts.")] = "/mcp",
    profile: Annotated[Profile, typer.Option(help="Which obligations to apply.")] = Profile.MCP,
    revision: Annotated[
        Revision | None, typer.Option(help="The MCP revision to ask for; the newest with resumption if not given.")
    ] = None,
    policy: Annotated[
        str | None, typer.Option(metavar="FILE", help="What the server declares of itself: TOML, or default or short.")
    ] = None,
    stimulus: Annotated[
        str | None,
        typer.Option(
            metavar="PRESET|FILE", help="What makes the server send events; chosen by its tools if not given."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Repeats a run's random choices.")] = None,
    header: Annotated[list[str] | None, typer.Option(metavar="'K: V'", help="Sent with every request.")] = None,
    second_principal: Annotated[
        list[str] | None, typer.Option(metavar="'K: V'", help="A header that makes a request another principal's.")
    ] = None,
    ca: Annotated[str | None, typer.Option(metavar="FILE", help="A private certificate authority (PEM).")] = None,
    also: Annotated[str | None, typer.Option(metavar="URL", help="Another URL of the same deployment.")] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="The server that --command starts may be restarted.")
    ] = False,
    budget: Annotated[float, typer.Option(min=1, help="Seconds after which no experiment is begun.")] = (
        DEFAULT_BUDGET_MS / 1000
    ),
    only: Annotated[
        list[str] | None, typer.Option(metavar="CLAUSE", help="Judge this clause only; repeatable.")
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="How to write the report.")] = Format.TEXT,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report to a file.")] = None,
    fail_on: Annotated[FailOn, typer.Option(help="Which findings make the run fail.")] = FailOn.MUST,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write everything observed to a recording.")
    ] = None,
    replays: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where to put a replay file for each finding.", show_default=False),
    ] = None,
) -> int:
    """Probe a server over HTTP and say which clauses it holds and which it violates."""
    registry = load_registry()
    clauses = tuple(registry.find(each).id for each in only or [])
    headers, second = _headers("--header", header), _headers("--second-principal", second_principal)
    options = ProbeOptions(
        url=url,
        command=command,
        path=path,
        profile=profile,
        revision=revision,
        declaration=read_declaration(policy) if policy is not None else NOTHING_DECLARED,
        stimulus=stimulus,
        seed=secrets.randbelow(2**32) if seed is None else seed,
        headers=headers,
        second_principal=second,
        ca=ca,
        also=also,
        restart=restart,
        budget_ms=round(budget * 1000),
        only=clauses,
    )
    repeat = _repeat(
        url,
        command=command,
        path=path if path != "/mcp" else None,
        profile=profile.value if profile is not Profile.MCP else None,
        revision=revision.value if revision else None,
        policy=policy,
        stimulus=stimulus,
        seed=str(options.seed),
        header=header,
        second_principal=second_principal,
        ca=ca,
        also=also,
        restart=restart,
        budget=f"{budget:g}" if options.budget_ms != DEFAULT_BUDGET_MS else None,
        only=list(clauses),
        fail_on=fail_on.value if fail_on is not FailOn.MUST else None,
    )
    for each in filter(None, (output, record)):
        check_writable(each)
    probed = run_probe(options, command=repeat, fail_on=fail_on, only=clauses, keep=record is not None)
    credentials = [value for _, value in (*headers, *second)]
    if record is not None:
        write_record(record, probed.entries, probed.run, credentials)
    presented = present(
        probed.report, probed.run, credentials=credentials, replays=_write_replays(probed, replays, credentials)
    )
    if not probed.began:
        print(f"reattach: {plain(presented.run.stopped)}", file=sys.stderr)
    verdict = verdict_of(presented.report, presented.run)
    if output is not None:
        write_atomically(output, render(presented, format_, registry))
        print(f"verdict: {verdict.value} (exit {EXIT_CODES[verdict]}); the report is in {output}")
    elif format_ is not Format.TEXT:
        print(render(presented, format_, registry), end="")
    elif probed.began:
        _console().print(text_report(presented, registry))
    return EXIT_CODES[verdict]


def _headers(option: str, given: Sequence[str] | None) -> tuple[tuple[str, str], ...]:
    headers: list[tuple[str, str]] = []
    for each in given or []:
        name, colon, value = each.partition(":")
        if not colon or not _TOKEN.fullmatch(name.strip()) or not value.strip().isprintable():
            # The value may be a secret, so it is not repeated.
            raise typer.BadParameter("'NAME: VALUE' is needed, both printable", param_hint=f"'{option}'")
        headers.append((name.strip(), value.strip()))
    return tuple(headers)


def _repeat(url: str | None, **options: str | bool | list[str] | None) -> str:
    """The command line that repeats a run: what differs from the defaults, and the seed."""
    words = ["reattach", "probe", *([] if url is None else [url])]
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, list):
            words += [word for each in value for word in (option, each)]
        elif isinstance(value, str):
            words += [option, value]
        elif value:
            words.append(option)
    return shlex.join(words)


def _write_replays(probed: Probed, folder: Path | None, credentials: Sequence[str]) -> tuple[str | None, ...]:
    """Replay files for the findings. They are an extra: that they cannot be written is told, and costs nothing else."""
    if not probed.report.findings:
        return ()
    experiments = [("", {}) if job is None else (job.experiment.name, job.parameters) for job in probed.jobs]
    try:
        return write_replays(folder or replay_folder(probed.run), probed.report, probed.run, experiments, credentials)
    except OutputError as error:
        print(f"reattach: no replay files: {error}", file=sys.stderr)
        return (None,) * len(probed.report.findings)


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
