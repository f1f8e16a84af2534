"""The contract of an event store, as tests of the project that has the store (docs/stores.md).

    import reattach.store_contract

    class TestMyStore(reattach.store_contract.EventStoreContract):
        store = MyEventStore   # a class, a function or a method: its call gives a new, empty store

The store has the interface of the Python SDK, ``mcp.server.streamable_http.EventStore``, of its versions 1 and 2. Each
test plays histories on new stores and compares every answer with what the machine owes; it names the clauses that it is
about. What a store does not declare, and what it cannot show, is skipped with the reason.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, ClassVar, TypeVar

import pytest

from reattach.clauses import load_registry
from reattach.machine.cursor import MAX_INTEGER
from reattach.oracle.verdict import Fault
from reattach.stores import script
from reattach.stores.judge import Seen, Wrong
from reattach.stores.model import Model
from reattach.stores.play import (
    EventStore,
    Played,
    beside_stores,
    clock_set_by_hand,
    sdk_messages,
    side_by_side,
)
from reattach.stores.schedules import Choices, ScheduledLoop, run, schedules
from reattach.stores.script import CALL, ODD_NAMES, OTHER_CALL, STANDALONE, Bounds, Of, Step, Store

T = TypeVar("T")
_PATIENCE_S = 60.0
_SHOWN = 4


class EventStoreContract:
    """What a test class derives from. ``store`` is all that it has to say."""

    store: Callable[..., Any]
    """Gives a new, empty store: itself, an awaitable of it, or an asynchronous context manager that enters as it."""
    window_events: ClassVar[int | None] = None
    """The most messages that are held, as the store declares; None: it declares no such bound."""
    window_of: ClassVar[str] = Of.STREAM.value
    """What that is a bound of: ``stream`` or ``session``."""
    window_ms: ClassVar[int | None] = None
    """The age in milliseconds past which no message is held. The store has to go by ``time.time`` or ``set_clock``."""
    schedules: ClassVar[int] = 200
    """In how many orders concurrent tasks are run, at most, in each test about them."""
    examples: ClassVar[int] = 50
    """How many histories Hypothesis makes up."""

    def session_store(self, store: Any, session: str) -> Any:
        """What a session's transport is given, where that is not the store itself: a store of the session's own, say.

        The SDK gives every session the same store. Both sessions of a test are asked for, under different names.
        """
        return store

    def set_clock(self, ms: int) -> None:
        """Set the store's clock, to milliseconds since 1970. Override it where ``time.time`` is not the clock."""
        self._set_time(ms)

    def test_ids_are_unique(self) -> None:
        """EVT-1: no id is given twice, whatever the stream and the time."""
        self._judge([script.interleaved(), script.burst(), script.priming()], {Fault.ID_NOT_UNIQUE}, need=None)

    def test_ids_survive_a_header(self) -> None:
        """EVT-5: ids are visible ASCII, whatever a client calls its stream."""
        named = [script.interleaved(name) for name in ODD_NAMES]
        self._judge([script.interleaved(), *named], {Fault.INVALID_ID}, need=None)

    def test_an_id_keeps_its_message(self) -> None:
        """EVT-4: what is sent again under an id is what was stored under it."""
        self._judge([script.interleaved()], {Fault.ID_CHANGED_MEANING})

    def test_the_cursor_is_exclusive(self) -> None:
        """DEL-1: the event of the cursor, and what came before it, is not sent again."""
        self._judge([script.interleaved()], {Fault.DUPLICATE_DELIVERY})

    def test_nothing_is_missing(self) -> None:
        """DEL-2: all that came after the cursor is sent."""
        self._judge([script.interleaved()], {Fault.SILENT_GAP})

    def test_streams_are_isolated(self) -> None:
        """DEL-3: nothing of another stream is sent."""
        self._judge([script.interleaved()], {Fault.CROSS_STREAM_REPLAY})

    def test_order_is_kept(self) -> None:
        """DEL-6: what is sent is in the order in which it was stored."""
        self._judge([script.interleaved()], {Fault.OUT_OF_ORDER})

    def test_the_order_is_not_the_clocks(self) -> None:
        """DEL-6: many events in one millisecond, or a clock that is set back, change nothing."""
        usual = [script.spread(*script.burst()), script.interleaved()]
        self._judge([script.burst(), script.clock_set_back()], beside=usual)

    def test_any_name_of_a_stream_will_do(self) -> None:
        """CUR-7, DEL-3: what is granted and sent does not depend on what a stream is called."""
        named = [script.interleaved(name) for name in ODD_NAMES]
        self._judge(named, beside=[script.interleaved()], ignoring={Fault.INVALID_ID})

    def test_the_stream_is_named(self) -> None:
        """DEL-8: the name that is returned is the stream's, since what comes next is sent under it."""
        self._judge([script.interleaved()], {Fault.DEAF_AFTER_RESUME})

    def test_a_caught_up_cursor_is_granted(self) -> None:
        """CUR-8: the newest id is a cursor, after which nothing comes."""
        self._judge([script.caught_up()], {Fault.GOOD_CURSOR_REFUSED}, need=Seen.CAUGHT_UP)

    def test_sessions_are_isolated(self) -> None:
        """SES-5: two clients count their requests alike, and each resumes with a cursor of its own."""
        self._judge([script.sessions(CALL, STANDALONE)], {Fault.CROSS_SESSION_LEAK})

    def test_another_sessions_cursor_is_refused(self) -> None:
        """CUR-3, SES-5: a session gets nothing for the cursor of another."""
        self._judge(
            [script.foreign(), script.foreign(STANDALONE)], _BAD_CURSOR | {Fault.CROSS_SESSION_LEAK}, need=Seen.REFUSED
        )

    def test_an_unknown_cursor_is_refused(self) -> None:
        """CUR-2, CUR-10: what was never given as an id gets nothing, and raises nothing."""
        self._judge([script.unknown()], _BAD_CURSOR, need=Seen.REFUSED)

    def test_priming_is_no_message(self) -> None:
        """EVT-4: priming is not sent, as no message was stored under it."""
        self._judge(
            [script.priming(), script.priming(STANDALONE)], {Fault.ID_CHANGED_MEANING}, beside=[script.interleaved()]
        )

    def test_priming_is_a_cursor(self) -> None:
        """CUR-7, CUR-8, EVT-6: what comes after it is sent, wherever in its stream it is."""
        wrong = {Fault.GOOD_CURSOR_REFUSED, Fault.SILENT_GAP, Fault.DUPLICATE_DELIVERY, Fault.DEAF_AFTER_RESUME}
        self._judge([script.priming()], wrong, beside=[script.interleaved()], which=lambda wrong: wrong.priming)

    def test_no_more_is_held_than_declared(self) -> None:
        """WIN-1: of what the bound has no room for, the oldest leave."""
        self._judge(self._overflowing(), {Fault.UNBOUNDED_MEMORY}, need=Seen.REFUSED)

    def test_an_evicted_cursor_is_refused(self) -> None:
        """CUR-4: what is left after it would be a silent gap."""
        scripts = [] if self.window_events is None and self.window_ms is not None else self._overflowing()
        ageing = [] if self.window_ms is None else [script.ageing(self._bounds())]
        self._judge([*scripts, *ageing], _BAD_CURSOR, need=Seen.REFUSED)

    def test_what_is_held_is_granted(self) -> None:
        """CUR-7: what is within the bound can be resumed from."""
        self._judge(self._overflowing(), {Fault.GOOD_CURSOR_REFUSED}, which=lambda wrong: wrong.clause == "CUR-7")

    def test_the_last_event_that_left_is_a_cursor(self) -> None:
        """CUR-8: nothing after it is missing, so it is granted; the smallest cursor that is."""
        self._judge(self._overflowing(), {Fault.GOOD_CURSOR_REFUSED}, which=lambda wrong: wrong.at_mark)

    def test_priming_pushes_nothing_out(self) -> None:
        """WIN-5, CUR-7: it takes no room; each resumption stores another one."""
        bounds = self._bounded()
        lost = {Fault.GOOD_CURSOR_REFUSED, Fault.SILENT_GAP}
        self._judge([script.full(bounds)], lost, beside=[script.interleaved(), *self._overflowing()])

    def test_nothing_older_is_held_than_declared(self) -> None:
        """WIN-2: what is older than the declared age has left."""
        if self.window_ms is None:
            pytest.skip(reason="not observed: the store declares no window_ms")
        self._judge([script.ageing(self._bounds())], {Fault.UNBOUNDED_MEMORY}, need=Seen.REFUSED)

    def test_a_replay_beside_stores(self) -> None:
        """DEL-2, DEL-6: it is complete, whatever is stored while it is under way, and whenever."""
        self._judge_beside(min(4, self._room()), (Store(), Store(OTHER_CALL), Store()))

    def test_what_is_being_replayed_is_not_lost(self) -> None:
        """WIN-6, DEL-2, CUR-7, CUR-8: what was held as the replay began is sent, though the window moves on."""
        room = self._bounded().window_events or 0
        self._judge_beside(room, (Store(),) * min(3, room))

    def test_stores_side_by_side(self) -> None:
        """DEL-2, DEL-6, EVT-1: of tasks that store on one stream at the same time, nothing is lost."""

        events = min(2, self._room() // 2)  # of each task: after all of them, what came first is still a cursor

        async def play(played: Played, loop: ScheduledLoop, choices: Choices) -> None:
            await side_by_side(played, loop, choices, tasks=2, events=events, after=1)

        self._judge_all_orders(1, (Store(),) * 2 * events, play)

    def test_any_history(self) -> None:
        """DEL-1, DEL-2, CUR-7: all of this, in histories of one session that Hypothesis makes up."""
        try:
            from reattach.stores.histories import first_wrong_history
        except ImportError:
            pytest.skip(reason="not observed: Hypothesis is not installed (reattach[campaign])")
        found = first_wrong_history(lambda steps: self._played(steps), self.examples)
        if found is not None:
            self._fail(found, found.wrongs)

    # What the tests are made of

    _set_time: Callable[[int], None] = staticmethod(lambda ms: None)

    def _bounds(self) -> Bounds:
        of = [each for each in Of if each.value == self.window_of]
        if not of or (self.window_events is not None and self.window_events < 2):
            pytest.fail("window_of is 'stream' or 'session', and window_events 2 or more", pytrace=False)
        return Bounds(self.window_events, of[0], self.window_ms)

    def _room(self) -> int:
        return self._bounds().window_events or MAX_INTEGER

    def _bounded(self) -> Bounds:
        if self.window_events is None:
            pytest.skip(reason="not observed: the store declares no window_events")
        return self._bounds()

    def _overflowing(self) -> list[tuple[Step, ...]]:
        bounds = self._bounded()
        return [script.overflowing(bounds, CALL), script.overflowing(bounds, CALL, OTHER_CALL)]

    def _judge(
        self,
        scripts: Iterable[tuple[Step, ...]],
        faults: Iterable[Fault] = tuple(Fault),
        *,
        beside: Iterable[tuple[Step, ...]] = (),
        ignoring: Iterable[Fault] = (),
        which: Callable[[Wrong], bool] = lambda wrong: True,
        need: Seen | None = Seen.GRANTED,
    ) -> None:
        """Fail for these faults in these histories; for those alone that the histories ``beside`` do not show too."""
        usual = {
            (wrong.clause, wrong.fault) for each in beside for wrong in self._played(each).wrongs if not wrong.priming
        }
        counted, all_played = set(faults) - set(ignoring), []
        for steps in scripts:
            played = self._played(steps)
            all_played.append(played)
            wrongs = [
                wrong
                for wrong in played.wrongs
                if wrong.fault in counted and which(wrong) and (wrong.clause, wrong.fault) not in usual
            ]
            if wrongs:
                self._fail(played, wrongs)
        if need is not None:
            self._must_have_seen(need, all_played)

    def _judge_beside(self, before: int, stores: tuple[Store, ...]) -> None:
        async def play(played: Played, loop: ScheduledLoop, choices: Choices) -> None:
            await beside_stores(played, loop, choices, stores, after=1)

        self._judge_all_orders(before, stores, play)

    def _judge_all_orders(
        self,
        before: int,
        stores: tuple[Store, ...],
        play: Callable[[Played, ScheduledLoop, Choices], Coroutine[Any, Any, None]],
    ) -> None:
        """Fail for what goes wrong in some order, after so many events, and does not go wrong one after the other."""
        events = script.spread(*script.turns(before, CALL))
        one_by_one = script.spread(*events, *stores, *script.after_each((1,)))
        usual = {
            (wrong.clause, wrong.fault)
            for each in (one_by_one, script.interleaved())
            for wrong in self._played(each).wrongs
        }
        all_played = []
        for choices in schedules(self.schedules):

            async def each(loop: ScheduledLoop, played: Played, choices: Choices = choices) -> None:
                await played.play(events)
                await play(played, loop, choices)

            played = self._in_a_loop(each)
            all_played.append(played)
            wrongs = [wrong for wrong in played.wrongs if wrong.fault in _SENDING and not _at_the_mark(wrong)]
            wrongs = [wrong for wrong in wrongs if (wrong.clause, wrong.fault) not in usual]
            if wrongs:
                self._fail(played, wrongs)
        self._must_have_seen(Seen.GRANTED, all_played)

    def _must_have_seen(self, need: Seen, all_played: Iterable[Played]) -> None:
        if not any(need in played.seen for played in all_played):
            pytest.skip(reason=f"not observed: {_NOT_SEEN[need]}")

    def _played(self, steps: tuple[Step, ...]) -> Played:
        return self._in_a_loop(lambda loop, played: played.play(steps))

    def _in_a_loop(self, play: Callable[[ScheduledLoop, Played], Coroutine[Any, Any, None]]) -> Played:
        """Play on a new store, in an event loop of its own, with a clock that stands where it is set."""
        bounds, make_message = self._bounds(), sdk_messages()

        async def main(loop: ScheduledLoop) -> Played:
            async with self._deployed() as store:
                sessions: dict[int, EventStore] = {}

                def store_of(session: int) -> EventStore:
                    if session not in sessions:
                        sessions[session] = self.session_store(store, f"session-{session}")
                    return sessions[session]

                played = Played(store_of, Model(bounds), make_message, self.set_clock)
                await play(loop, played)
                return played

        with clock_set_by_hand() as set_time:
            self._set_time = set_time
            try:
                return run(main, _PATIENCE_S)
            except TimeoutError:
                pytest.fail(f"the store did not answer within {_PATIENCE_S:.0f} s", pytrace=False)

    def _new_store(self) -> Any:
        store = inspect.getattr_static(type(self), "store", None)
        if store is None:
            pytest.fail(f"{type(self).__name__}: give it a store, what makes a new and empty one", pytrace=False)
        # A function that takes nothing is meant as it is, not as a method.
        return store() if inspect.isfunction(store) and not inspect.signature(store).parameters else self.store()

    @asynccontextmanager
    async def _deployed(self) -> AsyncIterator[Any]:
        async with AsyncExitStack() as stack:
            made = self._new_store()
            if inspect.isawaitable(made):
                made = await made
            if hasattr(made, "__aenter__"):
                made = await stack.enter_async_context(made)
            yield made

    def _fail(self, played: Played, wrongs: list[Wrong]) -> None:
        registry, parts = load_registry(), []
        distinct = {(wrong.clause, wrong.fault): wrong for wrong in reversed(wrongs)}
        for wrong in sorted(distinct.values(), key=lambda wrong: wrong.step)[:_SHOWN]:
            parts += [f"{wrong.clause} {wrong.fault.value}: {wrong.summary}", *played.transcript(wrong.step)]
            parts += [f"    ^ {wrong.fault.value}", f"{wrong.clause}: {registry[wrong.clause].statement}", ""]
        pytest.fail("\n".join(parts), pytrace=False)


def _at_the_mark(wrong: Wrong) -> bool:
    """Whether it is the fault that ``test_the_last_event_that_left_is_a_cursor`` is about."""
    return wrong.fault is Fault.GOOD_CURSOR_REFUSED and wrong.at_mark


_SENDING = frozenset(
    {
        Fault.CROSS_STREAM_REPLAY,
        Fault.DEAF_AFTER_RESUME,
        Fault.DUPLICATE_DELIVERY,
        Fault.GOOD_CURSOR_REFUSED,
        Fault.ID_CHANGED_MEANING,
        Fault.ID_NOT_UNIQUE,
        Fault.OUT_OF_ORDER,
        Fault.SILENT_GAP,
    }
)
"""What can go wrong with what is stored and sent, whatever becomes of bad cursors."""
_NOT_SEEN = {
    Seen.GRANTED: "the store refused every cursor with something after it",
    Seen.CAUGHT_UP: "no cursor was caught up",
    Seen.REFUSED: "no cursor had to be refused",
}
_BAD_CURSOR = frozenset({Fault.BAD_CURSOR_SILENT, Fault.BAD_CURSOR_CRASH})
