"""Every order in which tasks may run, each once more or less, and none by luck."""

import asyncio

import pytest

from reattach.stores.schedules import DEPTH, Choices, ScheduledLoop, checkpoint, run, schedules


def orders(steps: int, most: int) -> list[str]:
    """The orders in which two tasks of so many steps ran."""
    seen = []
    for choices in schedules(most):
        log: list[str] = []

        async def main(loop: ScheduledLoop, log: list[str] = log, choices: Choices = choices) -> None:
            async def task(name: str) -> None:
                for _ in range(steps):
                    log.append(name)
                    await checkpoint()

            await loop.contend(choices, task("a"), task("b"))

        run(main, 10)
        seen.append("".join(log))
    return seen


def test_every_order_comes() -> None:
    seen = orders(3, 1_000)
    assert len(set(seen)) == 20  # of six steps, which three are a's
    assert {order.count("a") for order in seen} == {3}


def test_the_orders_are_the_same_every_time() -> None:
    assert orders(3, 30) == orders(3, 30)


def test_no_more_than_so_many() -> None:
    assert len(orders(3, 7)) == 7


def test_after_some_choices_the_one_that_waited_longest_goes_on() -> None:
    choices = Choices((1,) * DEPTH)
    assert [choices.choose(2) for _ in range(DEPTH + 2)] == [1] * DEPTH + [0, 0]


def test_what_a_task_raises_comes_out_and_the_other_is_ended() -> None:
    ended = []

    async def main(loop: ScheduledLoop) -> None:
        async def waits() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(True)

        async def fails() -> None:
            await checkpoint()
            raise ValueError("no")

        await loop.contend(Choices(), waits(), fails())

    with pytest.raises(ValueError, match="no"):
        run(main, 10)
    assert ended == [True]


def test_a_task_that_holds_a_lock_is_waited_for() -> None:
    log: list[str] = []

    async def main(loop: ScheduledLoop) -> None:
        lock = asyncio.Lock()

        async def task(name: str) -> None:
            async with lock:
                log.append(name)
                await checkpoint()
                log.append(name)

        await loop.contend(Choices((1, 0, 1, 0, 1)), task("a"), task("b"))

    run(main, 10)
    assert "".join(log) in ("aabb", "bbaa")
