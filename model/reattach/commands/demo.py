"""``reattach demo``."""

import sys
from typing import Annotated

import typer
from attrs import evolve

from reattach.clauses import load_registry
from reattach.commands import options as shared
from reattach.commands.probe import replays_of
from reattach.commands.running import run_probe
from reattach.io.present import present
from reattach.io.run import Presented
from reattach.io.shell import command_line
from reattach.live import demo as pair


def demo(
    sdk_python: Annotated[
        str,
        typer.Option(
            metavar="PYTHON",
            envvar="REATTACH_SDK_PYTHON",
            show_default=False,
            help="An interpreter that has the package mcp; this one if not given.",
        ),
    ] = sys.executable,
    seed: shared.Seed = None,
    budget: shared.Budget = None,
) -> int:
    """Probe the official Python SDK's server and the reference server, side by side.

    Exit code 0 says that the demo worked, not that the SDK's server conforms.
    """
    registry = load_registry()
    version = pair.sdk_version(sdk_python)
    chosen = shared.choose_seed(seed)
    command = command_line("reattach", "demo", seed=str(chosen), budget=None if budget is None else f"{budget:g}")
    budget_ms = shared.milliseconds(budget)
    presented: list[Presented] = []
    for name, options in (
        (pair.SDK_NAME, pair.sdk_options(sdk_python, chosen, budget_ms)),
        (pair.REFERENCE_NAME, pair.reference_options(chosen, budget_ms)),
    ):
        probed = run_probe(options, command=command, label=f"probing the {name}")
        credentials = shared.values_of(options.headers, options.second_principal)
        probed = evolve(probed, run=evolve(probed.run, target=options.command or ""))
        presented.append(
            present(probed.report, probed.run, credentials=credentials, replays=replays_of(probed, None, credentials))
        )
    shared.show(pair.everything(presented[0], presented[1], version, registry))
    return pair.exit_code(presented[0], presented[1])
