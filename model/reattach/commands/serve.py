"""``reattach serve``."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from reattach.io.policy_file import read_policy
from reattach.live.mutants.base import Mutant, applied
from reattach.live.mutants.generated import Generated
from reattach.live.mutants.registry import MUTANTS, UnknownMutantError, served_named
from reattach.live.serve import ServeOptions, run_server
from reattach.live.server.settings import Settings


def serve(
    policy: Annotated[
        str, typer.Option(metavar="FILE", help="Run by this policy: a TOML file, or default or short.")
    ] = "default",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="0 takes a free one.")] = 0,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="The address to listen on.")] = "127.0.0.1",
    allow_remote: Annotated[bool, typer.Option("--allow-remote", help="Listen beyond the loopback interface.")] = False,
    token: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=SECRET", help="Require a bearer token; once for each principal."),
    ] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(metavar="ORIGIN", help="Accept this Origin beside those of the loopback interface."),
    ] = None,
    mutant: Annotated[
        str | None,
        typer.Option(metavar="NAME", show_default=False, help="Serve with this mistake in it; list names them all."),
    ] = None,
) -> int:
    """Run the reference server until interrupted. Prints its URL when it is ready."""
    if mutant == "list":
        print(*(f"{each.name}: {each.wrong}" for each in MUTANTS.values()), sep="\n")
        return 0
    settings = Settings(policy=read_policy(policy), tokens=_tokens(token or []), origins=frozenset(origin or []))
    options = ServeOptions(host=host, port=port, allow_remote=allow_remote, settings=settings)
    if mutant is None:
        return run_server(options)
    chosen = mutant_for(mutant)
    print(f"with a mistake, {chosen.name}: {chosen.wrong}", file=sys.stderr)
    with applied(chosen):
        return run_server(options)


def mutant_for(name: str) -> Mutant | Generated:
    """The mutant that ``--mutant`` names. Raises BadParameter."""
    try:
        return served_named(name)
    except UnknownMutantError as error:
        raise typer.BadParameter(str(error), param_hint="'--mutant'") from None


def _tokens(given: Sequence[str]) -> dict[str, str]:
    tokens: dict[str, str] = {}
    for each in given:
        name, separator, secret = each.partition("=")
        if not name or not separator or not secret or name in tokens:
            raise typer.BadParameter("NAME=SECRET is needed, each name once", param_hint="'--token'")
        tokens[name] = secret
    return tokens
