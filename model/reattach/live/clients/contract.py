"""What the bench and a client program tell each other (docs/clients.md, ``reattach-client/1``)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from reattach.live.clients.scripts import Call, emit
from reattach.oracle.observation import Json

CONTRACT = "reattach-client/1"
"""The contract's name and version."""
URL = "REATTACH_URL"
"""The environment variable with the URL of the server's endpoint."""
CALLS = "REATTACH_CALLS"
"""The environment variable with the calls, as JSON."""


def environment(url: str, calls: Sequence[Call]) -> dict[str, str]:
    """What a client program finds in its environment."""
    return {URL: url, CALLS: json.dumps([_plain(call) for call in calls])}


def calls_of(environ: Mapping[str, str]) -> tuple[Call, ...]:
    """The calls that an environment asks for; one of ``reattach_emit`` if it asks for none."""
    given = environ.get(CALLS)
    if not given:
        return (emit("call", 10, 50),)
    wanted: list[dict[str, Any]] = json.loads(given)
    return tuple(
        Call(label=one["label"], tool=one["tool"], arguments=one.get("arguments", {}), after=one.get("after", ""))
        for one in wanted
    )


def _plain(call: Call) -> dict[str, Json]:
    plain: dict[str, Json] = {"label": call.label, "tool": call.tool, "arguments": dict(call.arguments)}
    return plain | {"after": call.after} if call.after else plain
