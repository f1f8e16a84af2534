"""Workers beside each other."""

import asyncio
from collections.abc import Callable, Coroutine


async def side_by_side(count: int, work: Callable[[], Coroutine[object, object, None]]) -> None:
    """Run so many of a worker; the first that fails ends all, and its error is raised. None is left behind."""
    workers = [asyncio.create_task(work()) for _ in range(count)]
    if not workers:
        return
    try:
        done, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
        for worker in done:
            worker.result()
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.wait(workers)
