"""A client program as a process, run to its end."""

import asyncio
from collections.abc import Mapping


async def run_to_end(
    *command: str, bound: float, env: Mapping[str, str] | None = None
) -> tuple[int | None, bytes, bytes]:
    """Its exit status, and what it printed on either output. After ``bound`` seconds it is killed: TimeoutError."""
    process = await asyncio.create_subprocess_exec(
        *command, env=env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(bound):
            output, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, output, errors
