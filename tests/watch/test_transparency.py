"""The proxy is not noticed: bytes, heads and ends pass as they are, when they come. Wrong proxies are found."""

import asyncio

import pytest
from tests.watch.ground import placed, run, standing
from tests.watch.transparency import CHECKS, Check
from tests.watch.wrong import DIRECT, WRONG


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_proxy_is_not_noticed(check: Check) -> None:
    async def work() -> None:
        async with standing() as stand:
            await check(stand)

    run(work())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_nor_where_a_fault_might_act_and_does_not(check: Check) -> None:
    async def work() -> None:
        async with standing("cut the 90th view after 90 events", "refuse the 90th call", "drop X-None") as stand:
            await check(stand)

    # With faults about requests, a request is held until it is whole.
    if check.__name__ != "a_request_passes_as_it_comes":
        run(work())


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_proxy_is_noticed(name: str) -> None:
    place, noticed_by = WRONG[name]

    async def fails(check: Check) -> bool:
        async with placed(place) as stand:
            try:
                async with asyncio.timeout(1):
                    await check(stand)
            except (AssertionError, TimeoutError, OSError):
                return True
        return False

    async def work() -> None:
        for check in CHECKS:
            if check.__name__ in noticed_by:
                assert await fails(check), check.__name__

    run(work())


def test_without_a_mistake_nothing_is_noticed() -> None:
    async def work() -> None:
        for check in CHECKS:
            async with placed(DIRECT) as stand:
                await check(stand)

    run(work())


def test_nearly_every_check_has_a_wrong_proxy_that_it_notices() -> None:
    noticed = {check for _, checks in WRONG.values() for check in checks}
    # What is left a tunnel of bytes cannot get wrong.
    left = {"an_idle_end_of_the_server_ends_the_connection", "pipelined_requests_are_answered_in_order"}
    assert {check.__name__ for check in CHECKS} - noticed == left
