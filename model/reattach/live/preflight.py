"""Before a probe: is there an MCP server at all, which revision does it speak, and what can make it send something.

Everything that can be wrong with a target is a typed error with one line of text; a probe that cannot begin has no
verdict.
"""

from collections.abc import Mapping
from itertools import pairwise

from attrs import evolve, frozen

from reattach.live.bench import Bench, Call, message_keys, progress
from reattach.live.client import ProtocolError, Session, SilentError, envelope, no_response
from reattach.live.stimulus import CLOSE, PUSH, Stimulus, choose
from reattach.live.wire import NotHttpError, WireError
from reattach.machine.revision import Revision
from reattach.oracle.message import message_key, normalised_key
from reattach.oracle.observation import Json

_MESSAGES = 12
"""Messages of the call from which the server's pace is measured."""
_INTERVAL_MS = 10
_BASELINES = 2
"""How often a call of a tool that does not number its messages is made and left alone."""
_PAGES = 50
"""How many pages of ``tools/list`` are read at most."""
_LABEL = "preflight"


class PreflightError(Exception):
    """There is nothing here that can be probed. One line of text."""


class UnreachableError(PreflightError):
    """No connection to the server."""


class NoAnswerError(PreflightError):
    """The server takes a connection and never answers."""


class NotMcpError(PreflightError):
    """Something answers, and it is not an MCP server that can be talked to."""


@frozen
class Situation:
    """What the preflight found out."""

    revision: Revision
    """The negotiated revision, or the sessionless one if the server speaks nothing else."""
    server: str
    """The name and version the server gives itself."""
    sessions: bool
    """Whether the server mints session ids."""
    stimulus: Stimulus | None
    pushes: bool
    closes: bool
    """Whether the server has the tool that closes a call's stream before its response."""
    notes: tuple[str, ...]


async def preflight(bench: Bench, wanted: str | None) -> Situation:
    """Find out what there is to probe. ``wanted`` is the stimulus that was asked for.

    Raises ``PreflightError``, and ``StimulusError`` if the stimulus that was asked for cannot be used.
    """
    url = bench.client.endpoint.url
    try:
        return await _preflight(bench, wanted)
    except SilentError as error:
        raise NoAnswerError(f"{url}: {error}") from error
    except (ProtocolError, NotHttpError) as error:
        raise NotMcpError(f"{url}: {error}") from error
    except WireError as error:
        raise UnreachableError(f"{url}: {error}") from error
    finally:
        await bench.close()


async def _preflight(bench: Bench, wanted: str | None) -> Situation:
    if bench.client.revision is Revision.R2026_07_28:
        return await _sessionless(bench, wanted)
    try:
        session = await bench.session()
    except SilentError:
        raise
    except ProtocolError as refused:
        # A server that speaks only 2026-07-28 has no initialize. If it is not that, the first refusal says more.
        try:
            return await _sessionless(bench, wanted)
        except (ProtocolError, WireError):
            raise refused from None
    tools = await _tools(session)
    notes: list[str] = []
    stimulus = choose(wanted, tools)
    if session.id is None:
        notes.append("the server mints no session ids: what needs a session is not observed")
    if stimulus is not None:
        stimulus = await _calibrate(bench, session, stimulus, notes)
    else:
        lack = "no tool of the server is a known stimulus (see --stimulus)" if tools else "the server has no tools"
        notes.append(f"{lack}: what needs events is not observed")
    return Situation(
        revision=session.client.revision,
        server=session.server,
        sessions=session.id is not None,
        stimulus=stimulus,
        pushes=PUSH in tools,
        closes=CLOSE in tools,
        notes=tuple(notes),
    )


async def _sessionless(bench: Bench, wanted: str | None) -> Situation:
    client = bench.client.under(Revision.R2026_07_28)
    message: dict[str, Json] = {
        "jsonrpc": "2.0",
        "id": bench.take_ids(),
        "method": "tools/list",
        "params": {"_meta": envelope(Revision.R2026_07_28)},
    }
    view = await client.send("POST", message=message)
    await view.wait(lambda seen: seen.answers(seen.request.rpc_id), client.answer_ms)
    await view.cut()
    response = view.response(view.request.rpc_id)
    result = response.get("result") if isinstance(response, dict) else None
    if not isinstance(result, Mapping):
        raise no_response(view, client.answer_ms)
    return Situation(
        revision=Revision.R2026_07_28,
        server="",
        sessions=False,
        stimulus=choose(wanted, _names(result)),
        pushes=False,
        closes=False,
        notes=("2026-07-28 has no resumption: only ERA-1 can be observed",),
    )


async def _tools(session: Session) -> list[str]:
    """The names of the server's tools, all pages of them."""
    if "tools" not in session.capabilities:
        return []
    names: list[str] = []
    page: Mapping[str, Json] = {}
    for _ in range(_PAGES):
        result = await session.result("tools/list", page)
        if not isinstance(result, Mapping):
            break
        names += _names(result)
        following = result.get("nextCursor")
        if not isinstance(following, str):
            break
        page = {"cursor": following}
    return names


def _names(result: Mapping[str, Json]) -> list[str]:
    tools = result.get("tools")
    if not isinstance(tools, list):
        return []
    return [str(tool["name"]) for tool in tools if isinstance(tool, Mapping) and "name" in tool]


async def _calibrate(bench: Bench, session: Session, stimulus: Stimulus, notes: list[str]) -> Stimulus | None:
    """Make the call and leave it alone: measures the server's pace, and checks or learns what the call sends."""
    runs: list[list[Json]] = []
    for run in range(1 if stimulus.numbered else _BASELINES):
        label = f"{_LABEL}:{run}"
        params = stimulus.call(count=_MESSAGES, interval_ms=_INTERVAL_MS, size=0, label=label, token=label)
        view = await session.request("tools/call", params)
        call = Call(bench, session, view, [view], None, stimulus.numbered)
        await progress(view, lambda _, call=call: call.responded, max(bench.pace.patience_ms, 15_000))  # type: ignore[misc]
        if not call.responded and call.cursor is not None:
            # Some servers end the stream of a call on purpose and let the client come back for the rest.
            await call.follow(to_the_end=False)
        await view.over(bench.pace.quiet_ms)
        await view.cut()
        if view.answer_ms is not None:
            bench.pace.answered(view.answer_ms)
        times = [frame.at for frame in view.frames if frame.payload is not None]
        for earlier, later in pairwise(times):
            bench.pace.gap(max(later - earlier - (_INTERVAL_MS if stimulus.numbered else 0), 0))
        if not call.responded:
            notes.append(f"{stimulus.tool}, left alone, brought no response: what needs events is not observed")
            return None
        if not any(frame.id for frame in view.frames):
            notes.append("the server gives its events no ids: it promises no resumption, and none is judged")
        messages = [payload for one in call.chain for payload in one.messages]
        runs.append(messages or [view.response(view.request.rpc_id)])
    if stimulus.numbered:
        sent = tuple(message_key(payload) for payload in runs[0])
        if sent[:-1] != message_keys(stimulus, f"{_LABEL}:0", _MESSAGES):
            notes.append(
                f"{stimulus.tool} did not send the {_MESSAGES} numbered messages it was asked for on the call's stream:"
                " what needs events is not observed"
            )
            return None
        return stimulus
    first, *others = [tuple(normalised_key(payload) for payload in messages) for messages in runs]
    if any(other != first for other in others):
        notes.append(
            f"{stimulus.tool}, left alone, does not send the same messages every time: completeness is not judged"
        )
        return stimulus
    return evolve(stimulus, baseline=first)
