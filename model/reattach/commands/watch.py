"""``reattach watch``."""

import asyncio
import json
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer
from attrs import define, field

from reattach.clauses import Registry, load_registry
from reattach.commands import options as shared
from reattach.commands.running import at_end_of_run
from reattach.io.digests import Payloads
from reattach.io.exchange import steps_of
from reattach.io.files import OutputError, check_apart
from reattach.io.plain import plain
from reattach.io.policy_file import read_declaration
from reattach.io.present import Format, present
from reattach.io.redact import without_query
from reattach.io.report_text import exchange_text, text_report, to_text
from reattach.io.run import FailOn, Run, exit_code_of
from reattach.io.shell import command_line
from reattach.io.trace import observation_to_json
from reattach.live.watch.chance import EVERY, Chance
from reattach.live.watch.fault import Fault
from reattach.live.watch.fault_file import read_faults
from reattach.live.watch.proxy import Proxy, ProxyOptions
from reattach.live.watch.sentence import read_sentence
from reattach.live.watch.watch import Watched, WatchOptions
from reattach.live.watch.watch import watch as watched
from reattach.live.watch.watcher import Watcher
from reattach.live.wire import parse_url, tls_for
from reattach.machine.revision import NEWEST_WITH_RESUMPTION
from reattach.oracle.declaration import NOTHING_DECLARED
from reattach.oracle.observation import Observation
from reattach.oracle.verdict import Finding, Profile

_LISTEN = re.compile(r"(?:(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\[\]]+):)?(?P<port>\d{1,5})")
DEFAULT_LISTEN = "127.0.0.1:0"


def watch(
    target: Annotated[str, typer.Option(metavar="URL", help="The server's MCP endpoint, which is stood before.")],
    listen: Annotated[
        str, typer.Option(metavar="[HOST:]PORT", help="Where clients come; port 0 takes a free one.")
    ] = DEFAULT_LISTEN,
    allow_remote: Annotated[bool, typer.Option("--allow-remote", help="Listen beyond the loopback interface.")] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name beside those of the loopback interface by which clients come."),
    ] = None,
    keep_host: Annotated[
        bool, typer.Option("--keep-host", help="Leave the Host header as it is; otherwise it names the target.")
    ] = False,
    ca: shared.CaFile = None,
    faults: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What to break (TOML; docs/watch.md).", show_default=False)
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(metavar="SENTENCE", help="What to break, such as 'cut the third view after two events'."),
    ] = None,
    random_faults: Annotated[
        bool, typer.Option("--random-faults", help="Break connections at random, as a correct client survives it.")
    ] = False,
    every: Annotated[
        int, typer.Option(metavar="N", min=1, max=1_000_000, help="With that: events between two breaks, on average.")
    ] = EVERY,
    seed: shared.Seed = None,
    record: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Record what passes, as it passes; replaces it.", show_default=False),
    ] = None,
    payloads: shared.PayloadsOption = Payloads.WHOLE,
    complete: Annotated[
        bool,
        typer.Option(
            "--complete", help="All clients of the server come this way, from the first session on: judge cursors too."
        ),
    ] = False,
    show: Annotated[bool, typer.Option("--show", help="With each finding, the exchange that shows it.")] = False,
    policy: shared.PolicyFile = None,
    profile: shared.ProfileOption = Profile.MCP,
    revision: shared.RevisionOption = None,
    format_: shared.ReportFormat = Format.TEXT,
    output: shared.Output = None,
    fail_on: shared.FailOnOption = FailOn.MUST,
) -> int:
    """Stand between clients and a server, judge what passes, and break connections if asked to.

    Until interrupted. What breaks a clause is told as it happens, on standard error; the report comes at the end.
    """
    for name, given in (("--every", every != EVERY), ("--seed", seed is not None)):
        if given and not random_faults:
            raise typer.BadParameter("without --random-faults there is nothing to draw", param_hint=f"'{name}'")
    if payloads is not Payloads.WHOLE and record is None:
        raise typer.BadParameter("without --record nothing is recorded", param_hint="'--payloads'")
    registry = load_registry()
    endpoint = parse_url(target)
    host, port = _read_listen(listen)
    chosen = shared.choose_seed(seed) if random_faults else None
    options = WatchOptions(
        proxy=ProxyOptions(
            endpoint=endpoint,
            host=host,
            port=port,
            allow_remote=allow_remote,
            allow_hosts=_read_hosts(allow_host),
            keep_host=keep_host,
            tls=tls_for(None if ca is None else str(ca), endpoint),
        ),
        profile=profile,
        revision=revision or NEWEST_WITH_RESUMPTION,
        declaration=NOTHING_DECLARED if policy is None else read_declaration(policy),
        complete=complete,
        faults=_read_faults(faults, fault),
        chance=None if chosen is None else Chance(chosen, every),
        record=record,
        payloads=payloads,
    )
    check_apart(output, record)
    command = command_line(
        "reattach",
        "watch",
        target=without_query(target),
        listen=listen if listen != DEFAULT_LISTEN else None,
        allow_remote=allow_remote,
        allow_host=allow_host,
        keep_host=keep_host,
        ca=None if ca is None else str(ca),
        faults=None if faults is None else str(faults),
        fault=fault,
        random_faults=random_faults,
        every=str(every) if random_faults and every != EVERY else None,
        seed=None if chosen is None else str(chosen),
        complete=complete,
        policy=policy,
        profile=profile.value if profile is not Profile.MCP else None,
        revision=None if revision is None else revision.value,
        fail_on=fail_on.value if fail_on is not FailOn.MUST else None,
    )
    teller = _Teller(registry, command if random_faults else "", show)
    result = asyncio.run(_watch(options, registry, teller))
    run = Run(
        target=endpoint.url,
        server=result.server,
        revision=options.revision.value,
        profile=profile.value,
        seed=chosen,
        declaration=options.declaration,
        elapsed_ms=result.elapsed_ms,
        command=command,
        stopped=result.stopped,
        fail_on=fail_on,
    )
    presented = present(
        result.report, run, credentials=result.credentials, replays=(None,) * len(result.report.findings)
    )
    if output is not None or format_ is not Format.TEXT:
        shared.write_report(presented, format_, output, registry)
    else:
        shared.show(text_report(presented, registry))
    return exit_code_of(presented.report, presented.run)


async def _watch(options: WatchOptions, registry: Registry, teller: "_Teller") -> Watched:
    stop = asyncio.Event()
    at_end_of_run(stop.set, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return await watched(
        options, registry, stop=stop, on_ready=teller.ready, on_finding=teller.found, on_problem=teller.failed
    )


@define
class _Teller:
    """Tells on standard error what happens, when it happens: of each fault of a clause the first, not every one."""

    registry: Registry
    command: str
    """The command that repeats the run, if chance plays a part in it."""
    show: bool
    _told: set[tuple[str, str]] = field(init=False, factory=set)

    def ready(self, proxy: Proxy) -> None:
        """The proxy listens."""
        _say(f"reattach watch: {without_query(proxy.url)} stands before {proxy.options.endpoint.url}")
        if self.command:
            _say(f"to repeat: {self.command}")

    def failed(self, problem: OutputError) -> None:
        """The recording has ended before its time; the traffic goes on, and is judged."""
        _say(f"reattach watch: the recording ends here: {problem}")

    def found(self, watcher: Watcher, finding: Finding) -> None:
        """A clause is broken."""
        key = (finding.clause, finding.fault.value)
        if key in self._told:
            return
        self._told.add(key)
        at = finding.evidence[-1].at if finding.evidence else watcher.recorder.now()
        summary = watcher.redactor.text(finding.summary)
        _say(f"{at} ms: {finding.clause} {finding.fault.value} ({finding.kind.value}): {summary}")
        if self.show:
            clause = self.registry[finding.clause]
            shown = tuple(_redacted(watcher, each) for each in finding.evidence)
            _say(f"  {clause.id}: {clause.statement}")
            print(to_text(exchange_text(steps_of(shown), finding.fault.value)), end="", file=sys.stderr, flush=True)


def _redacted(watcher: Watcher, observation: Observation) -> Observation:
    return watcher.redactor.observation(observation, json.dumps(observation_to_json(observation))) or observation


def _say(text: str) -> None:
    print(plain(text), file=sys.stderr, flush=True)


def _read_listen(text: str) -> tuple[str, int]:
    match = _LISTEN.fullmatch(text)
    if match is None or int(match["port"]) > 65_535:
        raise typer.BadParameter("[HOST:]PORT is needed, as in 127.0.0.1:8080", param_hint="'--listen'")
    return (match["host"] or "127.0.0.1").strip("[]"), int(match["port"])


def _read_hosts(given: Sequence[str] | None) -> tuple[str, ...]:
    for name in given or ():
        if not name.isascii() or urlsplit(f"//{name}").netloc != name or ":" in name:
            raise typer.BadParameter("a host's name is needed, without a port", param_hint="'--allow-host'")
    return tuple(given or ())


def _read_faults(path: Path | None, sentences: Sequence[str] | None) -> tuple[Fault, ...]:
    of_file = () if path is None else read_faults(path)
    return (*of_file, *(read_sentence(text) for text in sentences or ()))
