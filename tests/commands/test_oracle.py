"""``reattach oracle``: it says of lines as they come what ``check`` says of a file with them, and says it at once."""

import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from referencing import Registry, Resource
from tests.commands.test_probe import environment
from tests.io.test_trace import observations
from tests.oracle.test_hostile import weight
from tests.oracle.wire import Wire

from reattach.clauses import load_registry
from reattach.cli import main
from reattach.io.answers import SCHEMA as SPOKEN
from reattach.io.answers import ready
from reattach.io.dialogue import LONGEST_NAME, MOST_KEPT, MOST_RUNS, WORDS, Dialogue, lines_of
from reattach.io.redact import make_redactor
from reattach.io.run import FailOn
from reattach.io.trace import LONGEST_LINE, SCHEMA, Entry, TraceHeader, trace_lines
from reattach.oracle.observation import Observation
from reattach.oracle.verdict import Fault, Kind, Level, Profile

ROOT = Path(__file__).parents[2]
BOUND = 60
REGISTRY = load_registry()
HEADER = f'{{"schema": "{SCHEMA}", "complete": true}}'
GET = '{"type": "request", "at": 1, "connection": 1, "method": "GET"}'
ASK, END = '{"type": "ask"}', '{"type": "end"}'

Json = dict[str, Any]


def schema(name: str) -> Json:
    read: Json = json.loads((ROOT / f"spec/schema/{name}-1.schema.json").read_text(encoding="utf-8"))
    return read


NAMES = ("oracle", "trace", "report")
SCHEMAS: Registry[Any] = Registry().with_resources(
    (f"{name}-1.schema.json", Resource.from_contents(schema(name))) for name in NAMES
)
ANSWERS, ASKED = (
    jsonschema.Draft202012Validator({"$ref": f"oracle-1.schema.json#/$defs/{name}"}, registry=SCHEMAS)
    for name in ("answer", "asked")
)


def lines(seen: Sequence[Observation], header: TraceHeader | None = None) -> list[str]:
    """A recording of what was observed."""
    return list(trace_lines(header or TraceHeader(complete=True), [Entry(each) for each in seen], make_redactor()))


def ask(dialogue: Dialogue, *said: str) -> list[Json]:
    """The answers to some lines."""
    return [checked(answer) for line in said for answer in dialogue.take(f"{line}\n".encode())]


def close(dialogue: Dialogue) -> list[Json]:
    return [checked(answer) for answer in dialogue.close()]


def checked(answer: Any) -> Json:
    ANSWERS.validate(answer)
    read: Json = json.loads(json.dumps(answer))
    return read


def dialogue(profile: Profile = Profile.MCP, fail_on: FailOn = FailOn.MUST) -> Dialogue:
    return Dialogue(registry=REGISTRY, profile=profile, fail_on=fail_on)


def of_type(answers: Sequence[Json], wanted: str) -> list[Json]:
    return [answer for answer in answers if answer["type"] == wanted]


def of_run(name: str, said: Sequence[str]) -> list[str]:
    return [json.dumps({"run": name, "line": json.loads(line)}) for line in said]


def right() -> Wire:
    """A call that is cut, and resumed without loss."""
    wire = Wire()
    session = wire.session()
    session.emit("A", 3).bare("a0").log("a1", "A", 1).cut()
    view = session.get("a1").answer().bare("a1").comment("resumed").log("a2", "A", 2).log("a3", "A", 3).result("a4", 2)
    view.end()
    return wire


def wrong() -> Wire:
    """The same, but the event of the cursor comes again."""
    wire = Wire()
    session = wire.session()
    session.emit("A", 3).bare("a0").log("a1", "A", 1).log("a2", "A", 2).cut()
    view = session.get("a1").answer().bare("a1").comment("resumed").log("a1", "A", 1).log("a2", "A", 2)
    view.log("a3", "A", 3).result("a4", 2).end()
    return wire


def line_of(said: Sequence[str], part: str, number: int = -1) -> int:
    """The number of a line: of those that hold a text, the last."""
    return [place for place, line in enumerate(said, start=1) if part in line][number]


# What is wrong


def test_the_wrong_step_is_named_with_what_would_have_been_right() -> None:
    said = lines(wrong().observations)
    (found,) = (each for each in of_type(ask(dialogue(), *said), "finding") if each["fails"])
    assert (found["clause"], found["fault"]) == ("DEL-1", "duplicate-delivery")
    assert (found["kind"], found["level"], found["run"]) == ("breaks its own contract", "MUST", "")
    assert found["line"] == found["told"] == found["places"][-1] == line_of(said, '"id": "a1"')
    assert found["right"] == "writes A#2"
    assert found["rule"] == REGISTRY["DEL-1"].statement
    assert found["steps"][-1].endswith("A#1   <== duplicate-delivery")
    assert [said[line - 1] for line in found["places"] if '"GET"' in said[line - 1]]
    assert set(found["connections"]) == {"A", "B", "C"}


def test_a_step_can_turn_out_to_be_wrong_later() -> None:
    wire = Wire()
    session = wire.session()
    session.emit("A", 3).bare("a0").log("a1", "A", 1).cut()
    session.get("a1").answer().bare("a1").comment("resumed").log("a3", "A", 3).result("a4", 2).end()
    said = lines(wire.observations)
    talk = dialogue()
    before = ask(talk, *said[:-1])
    assert [each for each in before if each.get("fails")] == []
    (found,) = of_type(ask(talk, said[-1]), "finding")
    assert (found["clause"], found["line"], found["told"]) == ("DEL-2", line_of(said, '"a3"'), len(said))
    assert found["right"] == "writes A#2"


def test_what_is_found_is_said_under_the_profile_and_the_level() -> None:
    wire = Wire()
    one, other = wire.session(), wire.session()
    one.emit("A", 2).bare("c9f09f89").log("a1b2c3d4", "A", 1).cut()
    other.get("a1b2c3d4").answer().quiet()
    said = lines(wire.observations)

    def told(profile: Profile, fail_on: FailOn) -> tuple[str, bool, str]:
        answers = of_type(ask(dialogue(profile, fail_on), *said), "finding")
        found = next(each for each in answers if each["clause"] == "CUR-3")
        return found["kind"], found["fails"], found["right"]

    refuses = "refuses the request: 409 with the reason cursor-foreign"
    assert told(Profile.MCP, FailOn.MUST) == ("differs in an undefined area", False, refuses)
    assert told(Profile.MCP, FailOn.ANY) == ("differs in an undefined area", True, refuses)
    assert told(Profile.REATTACH, FailOn.MUST) == ("violates a MUST", True, refuses)


def test_in_a_long_run_the_machine_is_asked_with_what_a_finding_shows() -> None:
    wire = Wire()
    session = wire.session()
    call = session.emit("A", MOST_KEPT).bare("a0")
    for n in range(1, MOST_KEPT):
        call.log(f"a{n}", "A", n)
    call.cut()
    session.get("a9").answer().bare("a9").comment("resumed").log("a9", "A", 9)
    (found,) = (each for each in of_type(ask(dialogue(), *lines(wire.observations)), "finding") if each["fails"])
    assert (found["clause"], found["right"]) == ("DEL-1", "writes nothing yet: the view stays open")


def test_session_ids_are_not_shown() -> None:
    secret = "c9f09f890cb2454b9abe017cbc48367b"
    wire = Wire()
    session = wire.session(secret)
    session.emit(f"of-{secret}", 2).bare("a0").log(f"{secret}:1", f"of-{secret}", 1).log("a2", "A", 1).cut()
    session.get(f"{secret}:1").answer().log(f"{secret}:1", f"of-{secret}", 1).end()
    answers = ask(dialogue(Profile.REATTACH), *lines(wire.observations), ASK)
    assert any(each.get("right") for each in answers)
    raw = [each for each in wire.observations if secret in str(each)]
    talk = dialogue(Profile.REATTACH)
    said = [HEADER, *(json.dumps(unredacted) for unredacted in map(as_it_stands, wire.observations))]
    told = json.dumps([*ask(talk, *said), *close(talk)])
    assert raw
    assert "duplicate-delivery" in told
    assert secret not in told


def as_it_stands(observation: Observation) -> Json:
    from reattach.io.trace import observation_to_json

    return dict(observation_to_json(observation))


# What holds


def told_by_check(folder: Path, said: Sequence[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, Json]:
    file = folder / "recording.jsonl"
    file.write_text("".join(f"{line}\n" for line in said), encoding="utf-8", errors="surrogatepass")
    code = main(["check", str(file), "--format", "json"])
    report: Json = json.loads(capsys.readouterr().out.replace(str(file), "stdin"))
    return code, report


def anywhere(report: Json) -> Json:
    """A report without the numbers of lines."""
    return {**report, "findings": [{**each, "places": []} for each in report["findings"]]}


def comparable(report: Json) -> Json:
    return {**report, "run": {**report["run"], "command": ""}}


@pytest.mark.parametrize("wire", [right, wrong, Wire], ids=["right", "wrong", "nothing"])
@pytest.mark.parametrize("bad", ["", "{", '{"type": "request"}', GET.replace('"at": 1', '"at": 0')])
def test_the_verdict_is_that_of_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wire: Callable[[], Wire], bad: str
) -> None:
    said = lines(wire().observations)
    said += [bad, *said[1:]] if bad else []
    code, report = told_by_check(tmp_path, said, capsys)
    talk = dialogue()
    ask(talk, *said)
    (verdict,) = of_type(close(talk), "verdict")
    assert (verdict["closing"], verdict["line"], verdict["run"]) == (True, len(said), "")
    assert comparable(verdict["report"]) == comparable(report)
    assert talk.exit_code == code


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20, deadline=None)
@given(
    seen=st.lists(observations(), max_size=8),
    odd=st.lists(
        st.tuples(st.integers(0, 9), st.sampled_from(["", "{", "[]", ASK, HEADER, '{"type": "ask", "a": 1}']))
    ),
)
def test_so_it_is_for_whatever_is_observed(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    seen: list[Observation],
    odd: list[tuple[int, str]],
) -> None:
    ordered = [evolve(each, connection=each.connection % 3) for each in sorted(seen, key=lambda each: each.at)]
    said = lines(ordered)
    for place, line in odd:
        said.insert(place, line)
    talk = dialogue()
    answers = [*ask(talk, *said), *close(talk)]
    verdict = of_type(answers, "verdict")[-1]
    words = [line for line in said if '"ask"' in line]
    code, report = told_by_check(tmp_path, [line if line not in words else "" for line in said], capsys)
    assert comparable(verdict["report"]) == comparable(report)
    assert talk.exit_code == (code if code == 1 or not of_type(answers, "error") else 2)


def test_the_verdict_so_far_and_the_last_one() -> None:
    said = lines(wrong().observations)
    cut = line_of(said, '"GET"')
    talk = dialogue()
    answers = ask(talk, *said[:cut], ASK, *said[cut:], ASK, END)
    so_far, then, last = of_type(answers, "verdict")
    assert [each["closing"] for each in (so_far, then, last)] == [False, False, True]
    assert [each["line"] for each in (so_far, then, last)] == [cut + 1, len(said) + 2, len(said) + 3]
    assert [each["report"]["verdict"] for each in (so_far, then, last)] == ["conforms", "violates", "violates"]
    assert answers.index(next(each for each in answers if each.get("fails"))) < answers.index(then)
    assert (close(talk), talk.exit_code) == ([], 1)


def test_a_run_may_follow_another() -> None:
    good, bad = lines(right().observations), lines(wrong().observations)
    talk = dialogue()
    answers = ask(talk, *bad, END, *good, END)
    verdicts = [each["report"]["verdict"] for each in of_type(answers, "verdict")]
    assert (verdicts, talk.exit_code) == (["violates", "conforms"], 1)


def test_runs_beside_each_other_are_judged_apart() -> None:
    good, bad = lines(right().observations), lines(wrong().observations)
    mixed = [line for pair in zip(of_run("good", good), of_run("bad", bad), strict=False) for line in pair]
    mixed += of_run("good", good[len(bad) :]) + of_run("bad", bad[len(good) :])
    talk = dialogue()
    answers = [*ask(talk, *mixed), *close(talk)]
    assert {each["run"] for each in of_type(answers, "finding") if each["fails"]} == {"bad"}
    (found,) = (each for each in of_type(answers, "finding") if each["fails"])
    assert json.loads(mixed[found["line"] - 1]) == {"run": "bad", "line": json.loads(bad[line_of(bad, '"a1"') - 1])}
    verdicts = {each["run"]: each["report"] for each in of_type(answers, "verdict")}
    for name, said in (("good", good), ("bad", bad)):
        talk = dialogue()
        ask(talk, *of_run(name, said))
        alone = close(talk)[-1]["report"]
        assert verdicts[name]["run"]["target"] == name
        assert anywhere(verdicts[name]) == anywhere(alone)


def test_the_exit_code_is_the_worst() -> None:
    good, nothing = lines(right().observations), [HEADER]
    talk = dialogue()
    ask(talk, *of_run("a", good), *of_run("b", nothing))
    close(talk)
    assert talk.exit_code == 3
    talk = dialogue()
    ask(talk, *of_run("a", good), *of_run("b", nothing), *of_run("c", ["{}"]))
    close(talk)
    assert talk.exit_code == 2
    talk = dialogue()
    ask(talk, *of_run("a", lines(wrong().observations)), *of_run("b", nothing), *of_run("c", ["{}"]))
    close(talk)
    assert talk.exit_code == 1


# What cannot be taken

BAD = {
    "not JSON": "not JSON",
    "[]": "not a JSON object",
    "{}": "type: one of request",
    '{"type": "aks"}': "end is needed",
    '{"type": ["ask"]}': "end is needed",
    '{"type": "request", "at": 1}': "connection: missing",
    GET.replace('"GET"', '"GET", "more": 1'): "unknown key: more",
    GET.replace('"at": 1', '"at": 1, "at": 2'): "the key at is there twice",
    GET.replace('"at": 1', '"at": 1e400'): "1e400 is beyond every double",
    GET.replace('"at": 1', '"at": 1.0'): "an integer",
    GET.replace('"at": 1', '"at": NaN'): "NaN is not JSON",
    HEADER: "a second header",
    "[" * 5000: "nested deeper than 100",
    '{"run": "x"}': "run and line",
    '{"run": 1, "line": {}}': "run and line",
    '{"run": "x", "line": []}': "run and line",
    '{"run": "x", "line": {}, "more": 1}': "run and line",
    json.dumps({"run": "x" * (LONGEST_NAME + 1), "line": {}}): "run and line",
}


@pytest.mark.parametrize(("line", "says"), BAD.items(), ids=lambda value: value[:40])
def test_a_bad_line_is_answered_by_one_and_ends_the_judging_of_its_run(line: str, says: str) -> None:
    said = lines(right().observations)
    talk = dialogue()
    ask(talk, *said[:5])
    answers = ask(talk, line, *said[5:])
    (error,) = answers
    assert (error["type"], error["line"], error["ends"]) == ("error", 6, [""])
    assert says in error["reason"]
    (verdict,) = ask(talk, ASK)
    assert (verdict["report"]["verdict"], verdict["report"]["exit_code"]) == ("no-verdict", 2)
    assert verdict["report"]["run"]["stopped"] == f"stdin:6: {error['reason']}"
    assert f"bad at stdin:6: {error['reason']}; 4 observations were before" in verdict["report"]["notes"][-1]
    assert ask(talk, END)[0]["closing"] is True
    # It goes on: another run is judged as ever.
    assert ask(talk, *said, END)[-1]["report"]["verdict"] == "conforms"
    assert (close(talk), talk.exit_code) == ([], 2)


@pytest.mark.parametrize("line", ["\xff", "\ud800"])
def test_what_is_not_utf_8(line: str) -> None:
    talk = dialogue()
    (error,) = talk.take(line.encode("latin-1" if line == "\xff" else "utf-8", "surrogatepass") + b"\n")
    assert (error["reason"], error["ends"]) == ("not UTF-8", [""])


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"type": "ask", "of": "me"}', "unknown key: of"),
        ('{"run": "none", "line": {"type": "ask"}}', "ask: there is no such run"),
        ('{"run": "none", "line": {"type": "end"}}', "end: there is no such run"),
    ],
)
def test_a_word_that_cannot_be_understood_ends_nothing(line: str, says: str) -> None:
    said = lines(wrong().observations)
    talk = dialogue()
    (error,) = ask(talk, said[0], line)
    assert (error["type"], error["ends"]) == ("error", [])
    assert says in error["reason"]
    assert of_type(ask(talk, *said[1:]), "finding")[-1]["clause"] == "DEL-1"


def test_a_bad_line_of_one_run_is_nothing_to_another() -> None:
    said = lines(right().observations)
    talk = dialogue()
    answers = ask(talk, *of_run("a", said[:3]), *of_run("b", said[:3]), *of_run("a", ["{}"]), *of_run("b", said[3:]))
    assert [each["ends"] for each in answers] == [["a"]]
    verdicts = {each["run"]: each["report"]["exit_code"] for each in close(talk)}
    assert verdicts == {"a": 2, "b": 0}


def test_a_line_that_may_be_of_any_run_ends_all() -> None:
    said = lines(right().observations)
    talk = dialogue()
    (error,) = ask(talk, *of_run("a", said), *of_run("b", said), "?", *of_run("b", said[1:]))
    assert error["ends"] == ["a", "b"]
    assert ask(talk, "?")[0]["ends"] == []
    assert {each["report"]["verdict"] for each in close(talk)} == {"no-verdict"}


def test_without_a_header_nothing_is_judged() -> None:
    talk = dialogue()
    (error,) = ask(talk, *lines(right().observations)[1:])
    assert (error["line"], error["reason"]) == (1, f'the first line must have "schema": "{SCHEMA}"')
    assert close(talk)[-1]["report"]["clauses"] == []
    assert talk.exit_code == 2


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ('{"schema": "reattach-trace/2"}', "the first line must have"),
        ('{"schema": "reattach-trace/1", "revision": "1999-01-01"}', "revision: one of"),
        ('{"schema": "reattach-trace/1", "declaration": {"window_events": -1}}', "window_events"),
    ],
)
def test_a_bad_header_is_told_with_its_line(header: str, says: str) -> None:
    talk = dialogue()
    (error,) = ask(talk, "", "", header, GET)
    assert (error["line"], error["ends"]) == (3, [""])
    assert says in error["reason"]


def test_no_line_at_all() -> None:
    talk = dialogue()
    (error,) = close(talk)
    assert (error["line"], error["reason"], talk.exit_code) == (0, "empty: a run begins with its header", 2)


def test_more_runs_than_can_be_kept() -> None:
    talk = dialogue()
    said = [line for number in range(MOST_RUNS) for line in of_run(str(number), [HEADER])]
    assert ask(talk, *said) == []
    for _ in range(2):
        (error,) = ask(talk, *of_run("one more", [HEADER]))
        assert (error["ends"], "runs that have not ended" in error["reason"]) == ([], True)
    assert len(talk.runs) == MOST_RUNS
    ask(talk, *of_run("0", [END]))
    assert ask(talk, *of_run("one more", [HEADER])) == []


class Endless:
    """A stream that begins with one very long line."""

    def __init__(self, length: int, then: bytes) -> None:
        self.left, self.then = length, [then]

    def readline(self, most: int) -> bytes:
        if self.left == 0:
            return self.then.pop() if self.then else b""
        piece = min(most, self.left)
        self.left -= piece
        return b" " * (piece - 1) + (b" " if self.left else b"\n")


@pytest.mark.parametrize("length", [LONGEST_LINE + 1, LONGEST_LINE + 2, 3 * LONGEST_LINE])
def test_a_line_above_the_bound_is_told_once_and_not_kept(length: int) -> None:
    stream: Any = Endless(length, f"{HEADER}\n".encode())
    talk = dialogue()
    answers = [each for line in lines_of(stream) for each in talk.take(line)]
    assert [(each["type"], each["line"]) for each in answers] == [("error", 1)]
    assert answers[0]["reason"] == f"a line of more than {LONGEST_LINE} bytes"
    assert talk.line == 2


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_bytes_changed_anywhere_are_answered(data: st.DataObject) -> None:
    whole = bytearray("".join(f"{line}\n" for line in [*lines(right().observations), ASK, END]).encode())
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(whole) - 1))
        whole[place : place + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=6))
        whole += b"\n" if not whole else b""
    talk = dialogue()
    for line in bytes(whole).splitlines(keepends=True):
        for answer in talk.take(line):
            checked(answer)
    close(talk)
    assert talk.exit_code in (0, 1, 2, 3)


def test_what_is_kept_of_a_run_does_not_grow() -> None:
    wire = Wire()
    wire.session().emit("A", 0).bare("a0")
    talk = dialogue()
    ask(talk, *lines(wire.observations))
    frame = lines([*wire.observations[-1:]])[1].replace('"a0"', '"a%d"').replace(f'"at": {wire.now - 5}', '"at": %d')
    weights = []
    for n in range(1, 10_001):
        ask(talk, frame % (wire.now + n, n))
        if n in (5_000, 10_000):
            weights.append(weight(talk))
    assert talk.runs[""].whole is None
    assert weights[0] > 4_096
    assert weights[1] < weights[0] * 1.1


# The process


@pytest.fixture
def start() -> Iterator[Callable[..., "subprocess.Popen[bytes]"]]:
    started: list[subprocess.Popen[bytes]] = []

    def run(*arguments: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "reattach.cli", "oracle", *arguments]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), bufsize=0
        )
        started.append(process)
        return process

    yield run
    for process in started:
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None and not stream.closed:
                stream.close()
        if process.poll() is None:
            process.kill()
        process.wait()


def write(process: "subprocess.Popen[bytes]", *said: str) -> None:
    assert process.stdin is not None
    process.stdin.write("".join(f"{line}\n" for line in said).encode())


def read(process: "subprocess.Popen[bytes]") -> Json:
    """The next line, waited for within a bound."""
    assert process.stdout is not None
    line = b""
    while not line.endswith(b"\n"):
        assert select.select([process.stdout], [], [], BOUND)[0], "no answer came"
        piece = os.read(process.stdout.fileno(), 1)
        assert piece, process.stderr.read().decode() if process.stderr else ""
        line += piece
    return checked(json.loads(line))


def test_answers_come_at_once_and_the_process_ends_with_its_input(start: Callable[..., Any]) -> None:
    said = lines(wrong().observations)
    process = start("--fail-on", "must")
    assert read(process) == ready()
    place = line_of(said, '"a1"')
    write(process, *said[:place])
    assert (read(process)["line"], place) == (place, place)
    write(process, "no line")
    assert read(process)["type"] == "error"
    write(process, ASK)
    assert read(process)["report"]["verdict"] == "violates"
    process.stdin.close()
    assert read(process)["closing"] is True
    assert (process.wait(BOUND), process.stderr.read()) == (1, b"")


def test_interrupted_it_says_what_was_judged(start: Callable[..., Any]) -> None:
    process = start()
    assert read(process) == ready()
    write(process, *lines(right().observations), ASK)
    assert read(process)["report"]["verdict"] == "conforms"
    process.send_signal(signal.SIGINT)
    last = read(process)
    assert (last["closing"], last["report"]["verdict"]) == (True, "no-verdict")
    assert last["report"]["run"]["stopped"] == "interrupted while stdin was being read"
    assert (process.wait(BOUND), process.stderr.read()) == (3, b"")


def test_who_does_not_read_is_not_read(start: Callable[..., Any]) -> None:
    process = start()
    os.set_blocking(process.stdin.fileno(), False)
    line = f"{ASK}{' ' * 4_000}\n".encode()
    write(process, HEADER)
    written = 0
    while select.select([], [process.stdin], [], 1)[1]:
        try:
            written += os.write(process.stdin.fileno(), line)
        except BlockingIOError:
            break
        assert written < 100_000_000
    # Whoever reads then gets an answer to each whole line.
    process.stdin.close()
    out = process.stdout.read().decode().splitlines()
    verdicts = [each for each in map(json.loads, out) if each["type"] == "verdict"]
    assert len(verdicts) == -(-written // len(line)) + 1
    assert process.wait(BOUND) == 3


def test_nobody_reads_any_more(start: Callable[..., Any]) -> None:
    process = start()
    assert read(process) == ready()
    process.stdout.close()
    write(process, HEADER, ASK)
    process.stdin.close()
    assert (process.wait(BOUND), process.stderr.read()) == (3, b"")


# The contract


def test_the_schema_lists_what_the_code_has() -> None:
    document = schema("oracle")
    jsonschema.Draft202012Validator.check_schema(document)
    defined = document["$defs"]
    assert defined["word"]["properties"]["type"]["enum"] == list(WORDS)
    assert defined["name"]["maxLength"] == LONGEST_NAME
    assert defined["finding"]["properties"]["kind"]["enum"] == [kind.value for kind in Kind]
    assert defined["finding"]["properties"]["level"]["enum"] == [level.value for level in Level]
    assert all(re.match(defined["finding"]["properties"]["fault"]["pattern"], fault.value) for fault in Fault)
    assert all(re.match(defined["finding"]["properties"]["clause"]["pattern"], clause) for clause in REGISTRY)
    for name in ("ready", "finding", "verdict", "error"):
        assert defined[name]["required"] == list(defined[name]["properties"])
    assert defined["ready"]["properties"]["schema"]["const"] == SPOKEN


@pytest.mark.parametrize("line", [HEADER, GET, ASK, END, *of_run("x", [HEADER, GET, ASK]), *(each for each in BAD)])
def test_the_schema_takes_the_lines_that_are_taken(line: str) -> None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return
    needs_a_reader = ("NaN", "1e400", '"at": 2', "1.0", HEADER)  # what chapter 13 demands beyond a schema
    if any(each in line for each in needs_a_reader) and line in BAD:
        return
    assert ASKED.is_valid(value) == (line not in BAD)


DOCUMENT = (ROOT / "docs/oracle.md").read_text(encoding="utf-8")


def test_the_example_in_the_document_is_what_is_said() -> None:
    (said,) = re.findall(r"```jsonl\n(.*?)```", DOCUMENT, re.DOTALL)
    (shown,) = re.findall(r"```json\n(.*?)```", DOCUMENT, re.DOTALL)
    answers = ask(dialogue(), *said.splitlines())
    assert [each for each in answers if each.get("fails")] == [json.loads(shown)]
    found = json.loads(shown)
    assert f"With line {found['told']}," in DOCUMENT
    assert f"line {found['line']} was wrong" in DOCUMENT


@pytest.mark.parametrize("name", ["finding", "verdict", "error"])
def test_the_document_lists_the_keys(name: str) -> None:
    section = DOCUMENT.partition(f"### `{name}`")[2].partition("\n#")[0]
    listed = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert ["type", *listed] == list(schema("oracle")["$defs"][name]["properties"])


def test_the_document_lists_the_answers_and_the_bounds() -> None:
    section = DOCUMENT.partition("## Lines from the oracle")[2].partition("\n##")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == ["ready", "finding", "verdict", "error"]
    for bound in (f"{MOST_KEPT} observations", "1 MiB of lines", f"{MOST_RUNS} runs", "16 MiB"):
        assert bound in DOCUMENT
    assert LONGEST_LINE == 16 * 1024 * 1024
