"""What the Python clients share: which calls they make, and how they tell what their application got.

The contract is ``reattach-client/1`` (docs/clients.md): calls from the environment, a JSON line for each thing.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from typing import Any

_DEFAULT = [{"label": "call", "tool": "reattach_emit", "arguments": {"count": 10, "interval_ms": 50, "label": "call"}}]


def tell(**said: Any) -> None:
    """One line, in one write."""
    print(json.dumps(said), flush=True)


def plain(model: Any) -> Any:
    """A model of the SDK as it is on the wire."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def reason(error: BaseException) -> str:
    """An error in words; of a group, what is in it."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(reason(each) for each in error.exceptions)
    return f"{type(error).__name__}: {error}"


async def logged(params: Any) -> None:
    """Takes log notifications."""
    tell(applied=plain(params))


async def told(message: Any) -> None:
    """Takes everything that comes; what is told of it is trouble."""
    if isinstance(message, Exception):
        tell(event=reason(message))


async def make_calls(call: Callable[[str, dict[str, Any]], Awaitable[Any]]) -> None:
    """Make all calls, each when the one that it comes after is over, and tell how each ended."""
    wanted: list[dict[str, Any]] = json.loads(os.environ.get("REATTACH_CALLS") or "null") or _DEFAULT
    over = {each["label"]: asyncio.Event() for each in wanted}

    async def make(each: dict[str, Any]) -> None:
        if each.get("after"):
            await over[each["after"]].wait()
        try:
            result = await call(each["tool"], each["arguments"])
        except Exception as error:
            tell(error=reason(error), call=each["label"])
        else:
            tell(result=plain(result), call=each["label"])
        over[each["label"]].set()

    async with asyncio.TaskGroup() as group:
        for each in wanted:
            group.create_task(make(each))


def main(run: Awaitable[None]) -> int:
    """Run a client; the exit status."""

    async def running() -> None:
        await run

    try:
        asyncio.run(running())
    except Exception as error:
        tell(error=reason(error))
        return 1
    return 0
