"""The clock of the reference server stands still while its process does, and catches up."""

from attrs import define

from reattach.live.server.clock import BEAT_MS, LATE_MS, RunningClock


@define
class Machine:
    now: int = 5_000

    def __call__(self) -> int:
        return self.now


def run(machine: Machine, clock: RunningClock, ms: int) -> int:
    """Let the process run for so long, beating; the clock's time then."""
    for _ in range(ms // BEAT_MS):
        machine.now += BEAT_MS
        clock()
    return clock()


def test_a_process_that_runs_has_the_machines_time() -> None:
    machine = Machine()
    clock = RunningClock(machine)
    assert run(machine, clock, 1_000) == 6_000
    machine.now += LATE_MS
    assert clock() == machine.now


def test_a_suspension_does_not_count_at_once_and_is_caught_up() -> None:
    machine = Machine()
    clock = RunningClock(machine)
    before = run(machine, clock, 1_000)
    machine.now += 3_000
    assert clock() == before + BEAT_MS
    assert run(machine, clock, 1_000) == before + BEAT_MS + 2 * 1_000
    assert run(machine, clock, 2_000) == machine.now


def test_it_never_goes_back() -> None:
    machine = Machine()
    clock = RunningClock(machine)
    seen = []
    for passed in (0, 10, 1_000, 1, 199, 201, 50, 50, 5_000, 0, 0, 30):
        machine.now += passed
        seen.append(clock())
    assert seen == sorted(seen)
