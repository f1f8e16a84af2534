"""The prover: what is true is proved, and what is false, vacuous, incomplete or unknown is not."""

from collections.abc import Callable, Iterator

import pytest
from attrs import evolve
from tests.proofs import toys
from tests.proofs.toys import X, Y, obligation

from reattach_proofs import executor, invariant, obligations, proof, prover, smt, sources
from reattach_proofs.executor import Decision
from reattach_proofs.obligations import Outcome
from reattach_proofs.promises import Theorem
from reattach_proofs.proof import UnknownTheoremError, prove, sampled, summarized
from reattach_proofs.prover import Decided, Engine, Task, Verdict, decide
from reattach_proofs.solver import Solver
from reattach_proofs.sources import Source
from reattach_proofs.terms import TRUE, Term

BOTH = Task(engines=(Engine.Z3, Engine.CVC5), replay=True)


def verdicts(run: Callable[[], Outcome], task: Task = BOTH) -> set[tuple[Engine, Verdict]]:
    return {(failure.engine, failure.verdict) for failure in decide(obligation(run), task).failures}


def test_what_is_true_is_proved() -> None:
    decided = decide(obligation(toys.true), BOTH)
    assert decided.failures == ()
    assert (decided.shape, decided.paths, decided.dead_ends) == ("a toy", 2, 0)
    assert decided.claims == {"toy": 4}
    assert decided.claimed == {"toy": 2}
    assert decided.sights == {("toy", "y is higher")}
    assert set(decided.seconds) == {Engine.Z3, Engine.CVC5}


def test_what_is_false_is_refuted_by_both_solvers_with_numbers() -> None:
    failures = decide(obligation(toys.false), BOTH).failures
    assert {(failure.engine, failure.verdict, failure.theorem, failure.what) for failure in failures} == {
        (engine, Verdict.REFUTED, "toy", "x is it") for engine in Engine
    }
    numbers = dict(next(failure for failure in failures if failure.engine is Engine.Z3).example)
    assert numbers["x"] < numbers["y"]


@pytest.mark.parametrize("engine", Engine)
def test_each_solver_decides_alone(engine: Engine) -> None:
    assert verdicts(toys.false, Task(engines=(engine,))) == {(engine, Verdict.REFUTED)}
    assert verdicts(toys.true, Task(engines=(engine,))) == set()


def test_what_rests_on_a_contradiction_is_vacuous() -> None:
    decided = decide(obligation(toys.contradictory), BOTH)
    assert [(failure.verdict, failure.theorem) for failure in decided.failures] == [(Verdict.VACUOUS, "")]
    assert decided.paths == 0


def test_what_claims_nothing_is_vacuous() -> None:
    assert verdicts(toys.claimless) == {(Engine.Z3, Verdict.VACUOUS)}


def test_an_exception_refutes() -> None:
    (failure,) = decide(obligation(toys.raising), BOTH).failures
    assert (failure.verdict, failure.what) == (Verdict.REFUTED, "raises ValueError: seven")
    assert dict(failure.example)["x"] == 7


def test_what_is_not_supported_is_unknown() -> None:
    assert verdicts(toys.unsupported) == {(Engine.Z3, Verdict.UNKNOWN)}


def test_what_a_solver_does_not_know_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prover, "Solver", lambda: Solver(rlimit=1))
    hard = toys.fallible((X + X + X - Y < 10) == (Y > X + X + X - 10))
    assert (Engine.Z3, Verdict.UNKNOWN) in verdicts(hard, Task())


def test_what_cvc5_does_not_know_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smt, "decide", lambda text: [smt.Unexpected(0, smt.Question.REFUTED, "unknown")])
    assert verdicts(toys.true) == {(Engine.CVC5, Verdict.UNKNOWN)}


def test_an_answer_that_was_not_followed_is_found_by_both_solvers(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the executor had taken the other answer for impossible."""

    def follow_one(run: executor.Run, asked: Term) -> Decision:
        decision = Decision(asked, run.reached().satisfies(asked), forked=False)
        run.solver.add(decision.formula())
        return decision

    monkeypatch.setattr(executor.Run, "_decided", follow_one)
    assert verdicts(toys.true) == {(engine, Verdict.INCOMPLETE) for engine in Engine}


def test_a_path_that_is_left_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = executor.paths
    monkeypatch.setattr(prover, "paths", lambda *given, **more: list(whole(*given, **more))[:1])
    assert (Engine.Z3, Verdict.INCOMPLETE) in verdicts(toys.true)


def test_a_dead_end_that_is_none_is_found_by_both_solvers(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the solver had wrongly said that what was assumed last cannot be."""
    reached = executor.Run.reached

    def sometimes(run: executor.Run) -> object:
        if run.trace and isinstance(run.trace[-1], Decision) and not run.trace[-1].answer:
            raise executor.Dismissed
        return reached(run)

    monkeypatch.setattr(executor.Run, "reached", sometimes)
    assert verdicts(toys.true) == {(engine, Verdict.INCOMPLETE) for engine in Engine}


def test_only_the_named_theorems_are_decided() -> None:
    def run() -> Outcome:
        return Outcome((toys.claim(lambda: True, "fine", "fine"), toys.claim(lambda: toys.x() < 0, "bad", "bad")), ())

    assert verdicts(run) == {(engine, Verdict.REFUTED) for engine in Engine}
    assert verdicts(run, evolve(BOTH, theorems=frozenset({"fine"}))) == set()


def test_a_seen_case_is_not_looked_for_again() -> None:
    key = ("toy", "y is higher")
    assert decide(obligation(toys.true)).sights == {key}
    assert decide(obligation(toys.true), seen=frozenset({key})).sights == frozenset()


# All of them


TOY = Theorem("toy", ("CUR-7",), "A toy.")


def source(*runs: Callable[[], Outcome], witnesses: tuple[str, ...] = ("y is higher",)) -> Source:
    return Source(
        "toys",
        (TOY,),
        lambda: iter([obligation(run, f"shape {at} | happens") for at, run in enumerate(runs)]),
        {"toy": witnesses},
    )


def result(given: Source, task: Task = BOTH, whole: bool = True) -> proof.TheoremResult:
    (only,) = summarized(given, [decide(each, task) for each in given.obligations()], task, whole=whole)
    return only


def test_a_theorem_is_proved_by_all_its_obligations() -> None:
    proved = result(source(toys.true, toys.true))
    assert proved.proved
    assert (proved.shapes, proved.paths, proved.claims, proved.unseen) == (2, 4, 8, ())


@pytest.mark.parametrize(
    ("run", "verdict"),
    [
        (toys.false, Verdict.REFUTED),
        (toys.contradictory, Verdict.VACUOUS),
        (toys.claimless, Verdict.VACUOUS),
        (toys.raising, Verdict.REFUTED),
        (toys.unsupported, Verdict.UNKNOWN),
    ],
)
def test_one_obligation_is_enough_to_fail_it(run: Callable[[], Outcome], verdict: Verdict) -> None:
    failed = result(source(toys.true, run))
    assert not failed.proved
    assert failed.verdicts[Engine.Z3] is verdict


def test_a_theorem_without_its_interesting_case_is_vacuous() -> None:
    vacuous = result(source(toys.true, witnesses=("y is higher", "x is odd")))
    assert vacuous.unseen == ("x is odd",)
    assert set(vacuous.verdicts.values()) == {Verdict.VACUOUS}
    assert not vacuous.proved


def test_a_theorem_without_any_witness_is_vacuous() -> None:
    assert set(result(source(toys.true, witnesses=())).verdicts.values()) == {Verdict.VACUOUS}


def test_a_theorem_that_claims_nothing_is_vacuous() -> None:
    other = Source("toys", (Theorem("silent", (), "Nothing."),), source(toys.true).obligations, {"silent": ("some",)})
    assert not result(other).proved


def test_what_was_not_run_is_undecided() -> None:
    assert set(result(source(toys.true), whole=False).verdicts.values()) == {Verdict.UNDECIDED}
    assert result(source(toys.false), whole=False).verdicts[Engine.Z3] is Verdict.REFUTED


def test_the_verdicts_of_the_solvers_are_kept_apart() -> None:
    decided: Decided = decide(obligation(toys.true, "shape 0 | happens"), BOTH)
    bad = prover.Failure(Verdict.UNKNOWN, Engine.CVC5, "", "no answer", "shape 0 | happens")
    (found,) = summarized(source(toys.true), [evolve(decided, failures=(bad,))], BOTH, whole=True)
    assert dict(found.verdicts) == {Engine.Z3: Verdict.PROVED, Engine.CVC5: Verdict.UNKNOWN}
    assert not found.proved


@pytest.fixture
def toy_sources(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sources, "SOURCES", (source(toys.true, toys.true, toys.true),))
    proof._by_name.cache_clear()
    proof._seen.clear()
    yield
    proof._by_name.cache_clear()
    proof._seen.clear()


@pytest.mark.usefixtures("toy_sources")
def test_a_proof_decides_everything_and_says_how_far_it_is() -> None:
    progress: list[tuple[str, int, int]] = []
    proved = prove(
        task=BOTH, workers=1, on_decided=lambda each, done, total: progress.append((each.obligation, done, total))
    )
    assert proved.proved
    assert progress == [(f"shape {at} | happens", at + 1, 3) for at in range(3)]
    assert (proved.expected, len(proved.decided), proved.interrupted) == (3, 3, False)


@pytest.mark.usefixtures("toy_sources")
def test_an_interrupted_proof_keeps_what_it_found_and_proves_nothing() -> None:
    def interrupt(each: Decided, done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    stopped = prove(task=BOTH, workers=1, on_decided=interrupt)
    assert stopped.interrupted
    assert len(stopped.decided) == 2
    assert not stopped.proved
    assert not stopped.failed


@pytest.mark.usefixtures("toy_sources")
def test_an_unknown_theorem_is_refused_with_the_ones_there_are() -> None:
    with pytest.raises(UnknownTheoremError, match=r"no theorem 'nope'; there are toy"):
        prove(["nope"])
    assert prove(["toy"], workers=1).proved


def test_a_sample_takes_whole_shapes() -> None:
    toy = source(toys.true, toys.true, toys.true, toys.true)
    assert [each.shape for each in sampled(toy, 3)] == ["shape 0", "shape 3"]
    assert len(list(sampled(toy, 1))) == 4


def test_every_obligation_has_a_name_of_its_own() -> None:
    names = [each.name for source in sources.SOURCES for each in source.obligations()]
    assert len(names) == len(set(names))
    files = [smt.file_name(name) for name in names]
    assert len(files) == len(set(files))
    assert max(map(len, files)) < 200


def test_a_contradictory_precondition_of_the_machines_own_obligations_is_vacuous(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if the invariant said something that cannot be."""
    every = next(each for each in obligations.obligations() if each.name.endswith("| tick"))
    assert decide(every).failures == ()
    true = invariant.precondition
    monkeypatch.setattr(invariant, "precondition", lambda shape: (*true(shape), X < Y, Y < X))
    assert {failure.verdict for failure in decide(every).failures} == {Verdict.VACUOUS}
    monkeypatch.setattr(invariant, "precondition", lambda shape: (*true(shape), TRUE))
    assert decide(every).failures == ()
