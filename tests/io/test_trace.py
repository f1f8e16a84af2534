"""Recordings: written and read back, without secrets, and with one clear line for what is wrong with a bad one."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reattach.io.redact import make_redactor
from reattach.io.trace import SCHEMA, TYPES, Entry, TraceError, TraceHeader, read_trace, trace_lines, write_trace
from reattach.machine.cursor import MAX_INTEGER
from reattach.oracle.observation import Frame, Json, Observation, Request, Vantage

PAYLOADS: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)

NATURALS = st.integers(0, MAX_INTEGER)


def observations(classes: Iterable[type[Observation]] = TYPES.values()) -> st.SearchStrategy[Observation]:
    """Of every sort, or of these."""
    fields: dict[type, dict[str, st.SearchStrategy[object]]] = {
        Request: {"payload": PAYLOADS, "rpc_id": st.none() | st.text() | st.integers()},
        Frame: {"payload": PAYLOADS},
    }
    of_type: dict[object, st.SearchStrategy[object]] = {int: NATURALS, int | None: st.none() | NATURALS, Json: PAYLOADS}
    extra = {
        cls: {name: of_type[kind] for name, kind in cls.__annotations__.items() if kind in of_type}
        for cls in TYPES.values()
    }
    return st.one_of([st.builds(cls, **{**extra[cls], **fields.get(cls, {})}) for cls in classes])


@given(st.lists(st.builds(Entry, observations(), st.text(max_size=5)), max_size=5))
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, entries: Sequence[Entry]) -> None:
    path = tmp_path_factory.mktemp("trace") / "trace.jsonl"
    header = TraceHeader(vantage=Vantage.BETWEEN, target="http://127.0.0.1/mcp", seed=3, experiment="hand-over")
    write_trace(path, header, entries, make_redactor())
    trace = read_trace(path)
    assert trace.header == header
    assert trace.entries == tuple(entries)


def test_a_recording_is_plain_text_without_secrets() -> None:
    session = "c9f09f890cb2454b9abe017cbc48367b"
    seen: list[Observation] = [
        Request(at=0, connection=1, method="GET", session=session, cursors=(f"{session}:1",)),
        Frame(at=1, connection=1, id=f"{session}:2", payload={"text": "\x1b[2J\u202e\ud800"}),
    ]
    text = "\n".join(trace_lines(TraceHeader(), [Entry(each) for each in seen], make_redactor(seen)))
    assert session not in text
    assert text.isascii()
    assert all(line.isprintable() for line in text.splitlines())


GOOD = f'{{"schema": "{SCHEMA}"}}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": empty: a recording begins with its header"),
        ("[]\n", ":1: not a JSON object"),
        ("{\n", ":1: not JSON: "),
        ('{"type": "frame"}\n', f':1: the first line must have "schema": "{SCHEMA}"'),
        ('{"schema": "reattach-trace/2"}\n', ":1: the first line must have"),
        (f'{{"schema": "{SCHEMA}", "seed": true}}\n', ":1: seed: an integer is needed"),
        (f'{{"schema": "{SCHEMA}", "sed": 1}}\n', ":1: unknown key: sed"),
        (GOOD + '{"type": "fram", "at": 1}\n', ":2: type: one of request, "),
        (GOOD + '{"at": 1}\n', ":2: type: one of request, "),
        (GOOD + '\n{"type": "closed", "at": 1, "connection": 1}\n', ":3: by: missing"),
        (GOOD + '{"type": "closed", "at": "1", "connection": 1, "by": "client"}\n', ":2: at: an integer from 0 to"),
        (GOOD + '{"type": "closed", "at": 1, "connection": 1, "by": "me"}\n', ":2: by: one of client, server, network"),
        (GOOD + '{"type": "frame", "at": 1, "connection": 1, "idd": "x"}\n', ":2: unknown key: idd"),
        (GOOD + '{"type": "frame", "at": 1, "connection": 1, "payload": NaN}\n', ":2: not JSON: NaN"),
        (GOOD + '{"type": "request", "at": 1, "connection": 1, "method": "GET", "cursors": [1]}\n', ":2: cursors: a l"),
        (GOOD + '{"type": "request", "at": 1, "connection": 1, "method": "GET", "rpc_id": 1.5}\n', ":2: rpc_id: a s"),
        (GOOD + "[" * 100_000 + "\n", ":2: nested deeper than 100"),
    ],
)  # fmt: skip
def test_a_bad_recording_is_told_in_one_line_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text)
    with pytest.raises(TraceError) as caught:
        read_trace(path)
    assert str(caught.value).startswith(f"{path}{message}")
    assert "\n" not in str(caught.value)


def test_a_recording_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read"):
        read_trace(tmp_path / "none.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b"\xff\xfe\n")
    with pytest.raises(TraceError, match="not UTF-8"):
        read_trace(tmp_path / "latin.jsonl")
