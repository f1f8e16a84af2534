"""HAR files that are none, or bad from some entry on, each with how its error begins after the file's name."""

import base64
import gzip
import json
from collections.abc import Callable
from typing import Any

from tests.io.hars import INITIALIZE, STREAM, entry, event, har

from reattach.oracle.observation import Json

GOOD = entry(0, message=INITIALIZE, given="S" * 24, text=json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}))
CALL: dict[str, Json] = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "t"}}
SECOND = entry(10, session="S" * 24, message=CALL, kind=STREAM, text=event("1") + event("2", {"jsonrpc": "2.0"}))


def changed(change: Callable[[dict[str, Any]], Any]) -> bytes:
    """A HAR of two entries, the second one changed."""
    second = json.loads(json.dumps(SECOND))
    change(second)
    return json.dumps(har([GOOD, second])).encode()


def at(*keys: str, value: Any) -> bytes:
    """The second entry with a value of another kind somewhere."""

    def change(second: dict[str, Any]) -> None:
        inner = second
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value

    return changed(change)


def without(*keys: str) -> bytes:
    """The second entry without something that it needs."""

    def change(second: dict[str, Any]) -> None:
        inner = second
        for key in keys[:-1]:
            inner = inner[key]
        del inner[keys[-1]]

    return changed(change)


def raw(second: str) -> bytes:
    """The second entry as it is to stand in the text."""
    return json.dumps(har([GOOD, {"here": 0}])).replace('{"here": 0}', second).encode()


def stream(text: str) -> bytes:
    """The second entry's answer with this body, which is not text."""
    return at("response", "content", value={"mimeType": STREAM, "encoding": "base64", "text": text})


TEXT = json.dumps(har([GOOD, SECOND]))
LONG = json.dumps(har([GOOD, *[SECOND] * 100]))
DEEP = '{"a":' * 400 + "1" + "}" * 400
PATHS: list[tuple[str, ...]] = [
    ("request",), ("request", "method"), ("request", "url"), ("request", "headers"), ("request", "postData"),
    ("request", "postData", "text"), ("response",), ("response", "status"), ("response", "headers"),
    ("response", "content"), ("response", "content", "text"), ("response", "content", "encoding"),
    ("response", "content", "mimeType"), ("response", "_fetchedViaServiceWorker"),
    ("startedDateTime",), ("time",), ("timings",), ("timings", "wait"), ("timings", "receive"),
]  # fmt: skip
WRONG: list[Any] = [True, 1.5, "x", [1], {"a": 1}]
RIGHT: dict[str, tuple[type, ...]] = {
    "method": (str,), "url": (str,), "text": (str,), "encoding": (), "mimeType": (str,), "startedDateTime": (),
    "status": (), "time": (float,), "wait": (float,), "receive": (float,), "content": (dict,), "timings": (dict,),
    "_fetchedViaServiceWorker": (bool,), "postData": (dict,), "request": (), "response": (), "headers": (),
}  # fmt: skip

HARS: dict[str, tuple[bytes, str]] = {
    "no entries": (b'{"log": {"version": "1.2"}}', " log.entries: missing"),
    "entries that are no list": (b'{"log": {"entries": {}}}', " log.entries: a list is needed"),
    "a log that is no object": (b'{"log": []}', " log: an object is needed"),
    "a log that is null": (b'{"log": null}', " log: an object is needed"),
    "a creator without a name of text": (b'{"log": {"creator": {"name": 1}, "entries": []}}', " log.creator.name: a"),
    "an entry that is no object": (raw("[]"), " entry 2: an object is needed"),
    "an entry that is a number": (raw("1"), " entry 2: an object is needed"),
    "an entry that is null": (raw("null"), " entry 2: an object is needed"),
    "two logs": (f'{TEXT[:-1]}, "log": {{}}}}'.encode(), " the key log is there twice"),
    "two lists of entries": (TEXT[:-2].encode() + b', "entries": []}}', " the key entries is there twice"),
    "a key twice in an entry": (raw('{"time": 1, "time": 2}'), " entry 2: the key time is there twice"),
    "a key twice deep in an entry": (raw('{"x": [{"y": 1, "y": 2}]}'), " entry 2: the key y is there twice"),
    "NaN": (raw('{"time": NaN}'), " entry 2: not JSON"),
    "beyond every double": (raw('{"time": 1e400}'), " entry 2: not JSON"),
    "beyond every integer": (raw('{"time": ' + "9" * 400 + "}"), " entry 2: not JSON"),
    "a leading zero": (raw('{"time": 01}'), " entry 2: not JSON"),
    "a time beyond 2^53": (at("time", value=2**60), " entry 2: time: a number is needed, within 2^53 - 1"),
    "a year that is none": (at("startedDateTime", value="10000-01-01T00:00:00Z"), " entry 2: startedDateTime: a time"),
    "a time before all times": (at("startedDateTime", value="0001-01-01T00:00:00+23:59"), " entry 2: startedDateTime"),
    "a status beyond every status": (at("response", "status", value=10**18), " entry 2: response.status: a status"),
    "nested too deep": (raw(DEEP), " entry 2: nested deeper than 100"),
    "nested far too deep": (raw("[" * 100_000), " entry 2: an object is needed"),
    "brackets without end in an entry": (raw('{"x": ' + "[" * 1_000_000), " entry 2: nested deeper than 100"),
    "nested too deep before the entries": (f'{{"log": {{"pages": {DEEP}'.encode(), " nested deeper than 100"),
    "a message nested too deep": (at("request", "postData", value={"text": DEEP}), " entry 2: a message nested deeper"),
    "a message nested far too deep": (
        at("request", "postData", value={"text": "[" * 100_000}), " entry 2: a message nested deeper"),
    "an event nested too deep": (
        stream(base64.b64encode(f"data: {DEEP}\n\n".encode()).decode()), " entry 2: a message nested deeper"),
    "a body nested too deep": (
        at("response", value={"status": 200, "content": {"mimeType": "application/json", "text": DEEP}}),
        " entry 2: a message nested deeper"),
    "a body that is not base64": (stream("%%%"), " entry 2: response.content.text: not base64"),
    "a body in another encoding": (
        at("response", "content", "encoding", value="hex"), " entry 2: response.content.encoding: base64"),
    "a request in another encoding": (
        at("request", "postData", value={"text": "{}", "encoding": "rot13"}), " entry 2: request.postData.encoding"),
    "a URL that is none": (at("request", "url", value="http://[::1/mcp"), " entry 2: request.url: not a URL"),
    "a port that is none": (at("request", "url", value="http://h:99999/mcp"), " entry 2: request.url: not a URL"),
    "cut between entries": (TEXT[: TEXT.index(json.dumps(SECOND))].encode(), " entry 2: not JSON"),
    "cut in an entry": (TEXT[:-30].encode(), " entry 2: not JSON"),
    "cut at the end": (TEXT[:-1].encode(), " not JSON"),
    "something after": (TEXT.encode() + b"{}", " not JSON"),
    "Latin-1": (TEXT.replace("tools/call", "tools/\xfc").encode("latin-1"), " entry 2: not JSON"),
    "an encoded surrogate": (TEXT.encode().replace(b"tools/call", b"tools/\xed\xa0\x80"), " entry 2: not UTF-8"),
    "a raw NUL": (TEXT.encode().replace(b"tools/call", b"tools/\0"), " entry 2: not JSON"),
    "an escape that is none": (TEXT.encode().replace(b"tools/call", b"tools\\x"), " entry 2: not JSON"),
    "damaged gzip": (gzip.compress(TEXT.encode() * 2)[:300] + b"\xff" * 40, "1: not whole gzip"),
    "gzip cut short": (gzip.compress(TEXT.encode())[:-20], "1: not whole gzip"),
    "gzip with a wrong sum": (gzip.compress(TEXT.encode())[:-8] + bytes(8), "1: not whole gzip"),
    "gzip cut short far behind": (gzip.compress(LONG.encode(), 0)[:-9_000], " entry 76: not whole gzip"),
    **{f"{'.'.join(keys)} missing": (without(*keys), f" entry 2: {'.'.join(keys)}: missing")
       for keys in (("request",), ("response",), ("startedDateTime",), ("request", "method"), ("request", "url"),
                    ("response", "status"))},
    **{f"{'.'.join(keys)} {json.dumps(value)}": (at(*keys, value=value), f" entry 2: {'.'.join(keys)}")
       for keys in PATHS for value in WRONG
       if type(value) not in RIGHT[keys[-1]]},
}  # fmt: skip
