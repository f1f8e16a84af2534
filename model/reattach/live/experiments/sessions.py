"""Sessions: the statuses of missing, unknown and terminated ids, termination, origins, principals."""

from reattach.forged import similar
from reattach.live.bench import Bench
from reattach.live.client import Client
from reattach.live.experiments.registry import Need, Parameters, experiment
from reattach.live.view import CutPlan
from reattach.oracle.observation import Json


@experiment("missing-session", "SES-1", "SES-3", "MOD-1", needs=[Need.SESSIONS])
async def missing_session(bench: Bench, _: Parameters) -> None:
    """Every method without a session id."""
    await bench.session()
    await _each_method(bench, bench.client, None)


@experiment("unknown-session", "SES-8", "MOD-1", needs=[Need.SESSIONS])
async def unknown_session(bench: Bench, _: Parameters) -> None:
    """Every method with a session id that looks like the server's and was never issued."""
    session = await bench.session()
    assert session.id is not None
    unknown = similar(session.id, bench.rng)
    await _each_method(bench, bench.client, unknown, "1")
    await bench.ping(session)


@experiment("terminated-session", "SES-2", "SES-4", "SES-6", "WIN-4", "CUR-3", needs=[Need.SESSIONS, Need.STIMULUS])
async def terminated_session(bench: Bench, _: Parameters) -> None:
    """DELETE beside an open listener and a running call; then every method with the old id, and the old cursor."""
    session, other = await bench.session(), await bench.session()
    listener = await session.listen()
    call = await bench.call(session, count=60, interval_ms=20)
    await call.events(3)
    await session.delete()
    for view in (listener, call.post):
        await bench.end(view)
    cursors = [call.cursor] if call.cursor is not None else []
    await _each_method(bench, session.client, session.id, *cursors)
    for cursor in cursors:
        await bench.look(await other.listen(cursor))
    await bench.ping(other)


@experiment("delete-after-call", "SES-2", "SES-4", "SES-6", "WIN-4", needs=[Need.SESSIONS, Need.STIMULUS])
async def delete_after_call(bench: Bench, _: Parameters) -> None:
    """DELETE a session whose finished call could still be resumed; then try each of its cursors, here and elsewhere."""
    session, other = await bench.session(), await bench.session()
    call = await bench.call(session, count=3)
    await call.follow(to_the_end=False)
    await session.delete()
    for cursor in call.ids[:2]:
        await bench.look(await session.listen(cursor))
        await bench.look(await other.listen(cursor))
    await bench.ping(session)


@experiment("bad-origin", "GET-1", needs=[Need.SESSIONS])
async def bad_origin(bench: Bench, _: Parameters) -> None:
    """A GET and a POST with the Origin of some other site."""
    session = await bench.session()
    origin = "http://attacker.example"
    view = await session.send("GET", origin=origin)
    await view.answered(bench.client.answer_ms)
    await bench.look(view)
    view = await session.send("POST", message=_ping(session.take_id()), origin=origin)
    await view.answered(bench.client.answer_ms)
    await bench.look(view)


@experiment("second-principal", "SES-7", needs=[Need.SESSIONS, Need.SECOND_PRINCIPAL])
async def second_principal(bench: Bench, _: Parameters) -> None:
    """Every method on another principal's session, with its cursor too; then the owner again."""
    assert bench.second is not None
    session = await bench.session()
    cursors: list[str] = []
    if bench.stimulus is not None:
        call = await bench.call(session, count=5, interval_ms=10, plan=CutPlan(3))
        await call.post.over(bench.pace.patience_ms)
        cursors = [call.cursor] if call.cursor is not None else []
    await _each_method(bench, bench.second, session.id, *cursors)
    await bench.ping(session)
    if bench.stimulus is not None and cursors:
        await call.resume()
        await call.follow()


async def _each_method(bench: Bench, client: Client, session: str | None, *cursors: str) -> None:
    """POST, GET, a resumption with each cursor, and DELETE, all with that session id."""
    for method, sent, message in [
        ("POST", (), _ping(bench.take_ids())),
        ("GET", (), None),
        *(("GET", (cursor,), None) for cursor in cursors),
        ("DELETE", (), None),
    ]:
        view = await client.send(method, session=session, cursors=sent, message=message)
        await view.answered(client.answer_ms)
        await bench.look(view)


def _ping(rpc_id: int) -> dict[str, Json]:
    return {"jsonrpc": "2.0", "id": rpc_id, "method": "ping"}
