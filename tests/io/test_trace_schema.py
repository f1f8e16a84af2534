"""The schema of a recording's lines: it takes what the code writes, and refuses what the reader refuses."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from attrs import NOTHING, fields
from hypothesis import given
from hypothesis import strategies as st
from tests.io.test_trace import GOOD, observations

from reattach.io.redact import make_redactor
from reattach.io.trace import TYPES, Entry, TraceError, TraceHeader, open_trace, read_trace, trace_lines
from reattach.machine.cursor import MAX_INTEGER
from reattach.oracle.declaration import Declaration
from reattach.oracle.observation import Observation, Party, Vantage

SCHEMA = json.loads((Path(__file__).parents[2] / "spec/schema/trace-1.schema.json").read_text(encoding="utf-8"))
DEFINED = SCHEMA["$defs"]
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def fits(line: object) -> bool:
    return bool(VALIDATOR.is_valid(line))


def is_read(folder: Path, line: object) -> bool:
    """Whether the reader takes a line: a header as the first, anything else after a header."""
    path = folder / "line.jsonl"
    first = isinstance(line, dict) and "schema" in line
    path.write_text(("" if first else GOOD) + json.dumps(line) + "\n")
    try:
        read_trace(path)
    except TraceError:
        return False
    return True


def test_it_is_a_schema_and_lists_what_the_code_has() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert [each["$ref"] for each in DEFINED["observation"]["oneOf"]] == [f"#/$defs/{tag}" for tag in TYPES]
    for tag, cls in TYPES.items():
        names = [attribute.name for attribute in fields(cls)]
        needed = [attribute.name for attribute in fields(cls) if attribute.default is NOTHING]
        assert list(DEFINED[tag]["properties"]) == ["type", *names, "experiment"]
        assert DEFINED[tag]["required"] == ["type", *needed]
        assert DEFINED[tag]["properties"]["type"] == {"const": tag}
    assert list(DEFINED["header"]["properties"]) == ["schema", *(each.name for each in fields(TraceHeader))]
    assert list(DEFINED["declaration"]["properties"]) == [each.name for each in fields(Declaration)]
    assert DEFINED["header"]["properties"]["vantage"]["enum"] == [each.value for each in Vantage]
    assert DEFINED["closed"]["properties"]["by"]["enum"] == [each.value for each in Party]
    assert DEFINED["natural"]["maximum"] == MAX_INTEGER


@pytest.mark.parametrize("tag", TYPES)
@given(data=st.data())
def test_every_observation_that_is_written_fits(tag: str, data: st.DataObject) -> None:
    observation = data.draw(observations([TYPES[tag]]))
    header = TraceHeader(
        seed=data.draw(st.none() | st.integers()), declaration=Declaration(takeover=True), complete=True
    )
    entry = Entry(observation, data.draw(st.text(max_size=3)))
    lines = [json.loads(line) for line in trace_lines(header, [entry], make_redactor())]
    assert [line for line in lines if not fits(line)] == []
    assert lines[1]["type"] == tag


ANYTHING: Sequence[object] = (None, True, -1, 1.5, MAX_INTEGER + 1, "", "x", [], [1], ["x"], {}, {"x": 1})


def header_lines() -> list[dict[str, Any]]:
    """Headers with a wrong value, or a right one, under each key."""
    good = {"schema": "reattach-trace/1"}
    keys = [*DEFINED["header"]["properties"], "unknown"]
    changed = [{**good, key: value} for key in keys for value in ANYTHING]
    inside = [{**good, "declaration": {key: value}} for key in ("window_ms", "takeover", "x") for value in ANYTHING]
    return [*changed, *inside]


def observation_lines() -> list[dict[str, Any]]:
    """Of each observation: one key left out, or with a value of every sort."""
    lines = []
    for tag, cls in TYPES.items():
        samples = {"at": 1, "connection": 2, "last": 2, "waited": 3, "status": 200, "by": "client", "keys": ["a"]}
        names = [attribute.name for attribute in fields(cls) if attribute.default is NOTHING]
        good = {"type": tag, **{name: samples.get(name, "x") for name in names}}
        lines += [good, *({k: v for k, v in good.items() if k != name} for name in good)]
        lines += [{**good, key: v} for key in (*DEFINED[tag]["properties"], "unknown") for v in ANYTHING]
    return lines


def test_it_refuses_what_the_reader_refuses_and_nothing_else(tmp_path: Path) -> None:
    lines = [*header_lines(), *observation_lines()]
    wrong = [line for line in lines if fits(line) != is_read(tmp_path, line)]
    assert wrong == []
    assert {fits(line) for line in lines} == {True, False}


def test_a_recording_is_read_a_line_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_text(GOOD + '{"type": "restarted", "at": 1}\n' * 3 + "bad\n")
    with open_trace(path) as (header, entries):
        assert header == TraceHeader()
        seen: list[tuple[int, Observation]] = [(n, entry.observation) for n, entry in (next(entries), next(entries))]
        assert [number for number, _ in seen] == [2, 3]
        next(entries)
        with pytest.raises(TraceError, match="5: not JSON"):
            next(entries)
