"""Lines read quickly are read as strictly: the same observations, the same errors, whatever is on them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.io.test_trace import observations

from reattach.io import quick, trace
from reattach.io.trace import SCHEMA, Entry, TraceError, observation_to_json, open_flat, open_trace
from reattach.oracle.flat import FlatFrame
from reattach.oracle.observation import Frame

HERE = Path("trace.jsonl")
DEEP = '{"type": "frame", "at": 1, "connection": 1, "payload": ' + "[" * 99 + "]" * 99 + "}"

values: st.SearchStrategy[str] = st.one_of(
    st.sampled_from(
        ["1", "-1", "1.0", "1e3", "1e999", "-0", "0.1", "NaN", "Infinity", "true", "null", '""', '"a:b"', '"\\":"',
         "[]", '"\\u003a"', '"\\ud800"', '"\\ud83d\\ude00"', "{}", '{"a": 1}', '{"a": 1, "a": 1}',
         '{"a": {"b": 1, "b": 2}}',
         "9007199254740991", "9007199254740992", "123456789012345678901234567890", "01", "1.", "\u00e9", '"\u00e9"',
         "[1, [2, {}]]", '{"jsonrpc": "2.0", "method": "m", "params": {"x": [1, 2]}}', '"\x7f"', '"a\tb"', "[" * 101]
    ),
    st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=4).map(
        json.dumps
    ),
)  # fmt: skip
keys = st.sampled_from(
    ["type", "at", "connection", "id", "event", "retry", "payload", "has_data", "size", "experiment", "packed", "by",
     "at\\u003a", "x", "clean", "cursors", "rpc_id", "keys", "schema", "method"]
)  # fmt: skip
members = st.lists(st.tuples(keys, values), max_size=8)
colons = st.sampled_from([": ", ":", " : ", "\t:"])


@st.composite
def lines(draw: st.DrawFn) -> str:
    """Lines that are nearly observations, written by hand; a key may be there twice."""
    colon = draw(colons)
    tag = draw(st.sampled_from(["frame", "frame", "closed", "request", "expect", "body", "none"]))
    said = [("type", f'"{tag}"'), ("at", draw(values)), ("connection", "1"), *draw(members)]
    if draw(st.booleans()):
        said[1] = ("at", "5")
    return (
        "{" + ", ".join(f'"{key}"{colon}{value}' for key, value in said) + "}" + draw(st.sampled_from(["", " ", "}"]))
    )


def _read(line: bytes, read: Callable[[Path, int, bytes], dict[str, object]]) -> Entry | str:
    try:
        return trace.entry_of(HERE, 7, read(HERE, 7, line))
    except TraceError as error:
        return str(error)


READ = trace.line_reader()


def _strictly(line: bytes) -> Entry | str:
    """As it was read before anything was quick."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace, "_QUICK", {tag: lambda _: None for tag in trace.TYPES})
        return _read(line, trace.strict_object)


def _is_the_same(line: bytes) -> bool:
    strictly, quickly = _strictly(line), _read(line, trace.json_object)
    told = READ(line)
    if told is not None and not isinstance(told[0], FlatFrame) and repr(Entry(*told)) != repr(strictly):
        return False
    if told is not None and isinstance(told[0], FlatFrame):
        frame, experiment = told
        whole = Entry(frame.frame(), experiment)
        frame.let_go()
        if repr(whole) != repr(strictly) or repr(Entry(frame.frame(), experiment)) != repr(strictly):
            return False
    return repr(strictly) == repr(quickly)  # and not ==, for which 1, 1.0 and True are one


@settings(max_examples=150)
@given(lines())
@example(DEEP)
@example(DEEP.replace("[" * 99, "[" * 100).replace("]" * 99, "]" * 100))
@example('{"type": "frame", "at": 1, "connection": 1, "at": 1}')
@example('{"type": "frame", "at": 1, "connection": 1, "payload": {"a": 1, "a": "\\u003a"}}')
@example('{"type": "frame", "at": 1, "connection": 1, "packed": 1}')
@example('{"type": "frame", "at": 1, "connection": 1, "packed": "null", "payload": {"a": 1}}')
@example('{"type": "frame", "at": 1, "connection": 1, "id": "\\"payload\\":", "payload": {"payload": 1}}')
@example('{"type": "frame", "at": 1, "connection": 1, "payload": null, "id": "a:b", "experiment": "c:d"}')
@example('{"type": "closed", "at": 1, "connection": 1, "by": "server", "by": "client"}')
@example('{"type": "closed", "at": 1, "connection": 1, "by": "server", "type": "closed"}')
@example('{"at": 1, "connection": 1, "by": "server", "experiment": "\\u003a", "experiment": "x", "type": "closed"}')
@example('{"type": "frame", "at": 1.0, "connection": 1}')
def test_a_line_is_read_the_same_quickly_and_strictly(line: str) -> None:
    assert _is_the_same(line.encode("utf-8", "surrogatepass"))


@given(st.binary(max_size=60))
def test_so_is_what_is_no_line(line: bytes) -> None:
    assert _is_the_same(line)


@given(observations())
def test_what_a_recorder_writes_is_read_quickly(observation: object) -> None:
    line = json.dumps(observation_to_json(observation)).encode()  # type: ignore[arg-type]
    assert _is_the_same(line)
    if b"\\u" not in line:
        assert quick.quick_object(line, trace.DEEPEST) is not None
        assert READ(line) is not None


def test_a_quick_reading_that_counts_nothing_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "quick_object", lambda line, _: quick._decode(line))
    assert not _is_the_same(b'{"type": "frame", "at": 1, "connection": 1, "at": 1}')


def test_one_that_overlooks_escapes_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(line: bytes, _: int) -> object:
        value = quick._decode(line)
        return value if line.count(b":") == quick._encode(value).count(b":") else None

    monkeypatch.setattr(trace, "quick_object", careless)
    assert not _is_the_same(b'{"type": "frame", "at": 1, "connection": 1, "payload": {"a": 1, "a": 2, "b": "\\u003a"}}')


def test_a_recording_is_the_same_flat(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    payload = '{"jsonrpc": "2.0", "method": "m", "params": {"x": 1.5}}'
    path.write_text(
        f'{{"schema": "{SCHEMA}"}}\n'
        '{"type": "request", "at": 1, "connection": 1, "method": "GET", "cursors": ["a"], "experiment": "e"}\n\n'
        f'{{"type": "frame", "at": 2, "connection": 1, "payload": {payload}, "has_data": true, "experiment": "e"}}\n'
    )
    with open_trace(path) as (header, entries), open_flat(path) as (same, flat):
        told = [(n, each.frame() if isinstance(each, FlatFrame) else each, tag) for n, each, tag in flat]
        assert header == same
        assert told == [(n, entry.observation, entry.experiment) for n, entry in entries]


def test_a_flat_frame_has_the_fields_of_a_frame() -> None:
    assert set(FlatFrame.__struct_fields__) - {"packed", "experiment"} == set(Frame.__annotations__)
