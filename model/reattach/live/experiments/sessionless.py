"""Revision 2026-07-28, which has neither sessions nor resumption."""

from reattach.live.bench import Bench, progress
from reattach.live.client import envelope
from reattach.live.experiments.registry import Parameters, experiment
from reattach.live.view import View
from reattach.machine.revision import Revision
from reattach.oracle.observation import Json

_NEWEST = Revision.R2026_07_28


@experiment("no-resumption-in-2026", "ERA-1")
async def no_resumption_in_2026(bench: Bench, _: Parameters) -> None:
    """Under 2026-07-28: a list, a call, GET and DELETE, and headers of the older revisions, which mean nothing now."""
    client = bench.client.under(_NEWEST)
    listed = await _post(bench, "tools/list", {})
    if listed.status != 200:
        bench.note(f"ERA-1: the server does not serve {_NEWEST.value} (tools/list: HTTP {listed.status})")
        return
    if bench.stimulus is not None:
        label = f"{bench.client.experiment}:call"
        params = bench.stimulus.call(count=3, interval_ms=5, size=0, label=label, token=label)
        called = await _post(bench, "tools/call", params)
        cursor = called.cursor or "1"
        await _post(bench, "tools/list", {}, session="0123456789abcdef0123456789abcdef", cursors=(cursor,))
    for method in ("GET", "DELETE"):
        view = await client.send(method)
        await view.answered(client.answer_ms)
        await bench.look(view)
    view = await client.send("GET", session="0123456789abcdef0123456789abcdef", cursors=("1",))
    await view.answered(client.answer_ms)
    await bench.look(view)


async def _post(
    bench: Bench,
    method: str,
    params: dict[str, Json],
    *,
    session: str | None = None,
    cursors: tuple[str, ...] = (),
) -> View:
    client = bench.client.under(_NEWEST)
    message: dict[str, Json] = {
        "jsonrpc": "2.0",
        "id": bench.take_ids(),
        "method": method,
        "params": {**params, "_meta": envelope(_NEWEST)},
    }
    view = await client.send("POST", session=session, cursors=cursors, message=message)
    await view.answered(client.answer_ms)
    await progress(view, lambda seen: seen.answers(seen.request.rpc_id), bench.pace.patience_ms)
    await view.over(bench.pace.quiet_ms)
    await view.cut()
    return view
