"""The decoder against the SSE standard, at every way to cut the bytes into pieces."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reattach.live.sse import MAX_BLOCK, BlockTooLargeError, CommentLine, Decoder, Event


def decode(pieces: list[bytes], limit: int = MAX_BLOCK) -> list[Event | CommentLine]:
    decoder = Decoder(limit)
    return [item for piece in pieces for item in decoder.feed(piece)]


def reference(text: bytes) -> list[tuple[str | None, ...] | str]:
    """The whole text decoded in one go, written from the standard and not from the decoder.

    What follows the last line end is not a line, and a block without a blank line after it is not an event.
    """
    text = text.removeprefix(b"\xef\xbb\xbf")
    lines = [line.decode("utf-8", "replace") for line in re.split(rb"\r\n|\r|\n", text)[:-1]]
    items: list[tuple[str | None, ...] | str] = []
    block: dict[str, str] = {}
    for line in lines:
        if not line:
            if block:
                items.append(tuple(block.get(name) for name in ("id", "event", "retry", "data")))
            block = {}
            continue
        if line[0] == ":":
            items.append(line[2:] if line[1:2] == " " else line[1:])
            continue
        name, value = line, ""
        if ":" in line:
            name, value = line.split(":", 1)
            value = value[1:] if value[:1] == " " else value
        if name == "data":
            block["data"] = f"{block['data']}\n{value}" if "data" in block else value
        elif name == "event" or (name == "id" and "\0" not in value):
            block[name] = value
        elif name == "retry" and re.fullmatch("[0-9]+", value):
            block[name] = str(int(value))
    return items


def flat(items: list[Event | CommentLine]) -> list[tuple[str | None, ...] | str]:
    return [
        item.text
        if isinstance(item, CommentLine)
        else (item.id, item.event, None if item.retry is None else str(item.retry), item.data)
        for item in items
    ]


LINES = st.one_of(
    st.sampled_from(
        ["", "", "", "data", "data:", "data: ", "data:  x", "id", "id: 7", "id:é", "id: a\0b", ": hi", ":"]
    ),
    st.sampled_from(
        ["retry: 10", "retry: -1", "retry: ١", "retry:", "event: message", "event:", "unknown: x", " data: x"]
    ),
    st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=8),
).map(str.encode)
STREAMS = st.builds(
    lambda bom, parts: bom + b"".join(line + end for line, end in parts),
    st.sampled_from([b"", b"", b"\xef\xbb\xbf", b"\xef\xbb", b"\xef\xbb\xbf\xef\xbb\xbf"]),
    st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r", b"\r\n"])), max_size=12),
)


@given(STREAMS, st.data())
def test_every_split_decodes_as_the_whole(text: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=len(text))))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert flat(decode(pieces)) == reference(text)


@given(STREAMS)
def test_byte_by_byte_gives_the_same_offsets_as_the_whole(text: bytes) -> None:
    # A CR that ends the input completes its line: nothing says yet whether an LF follows, and nothing may wait for it.
    # So the offset after a CRLF may be the one before its LF, and only then.
    whole, single = decode([text]), decode([bytes([byte]) for byte in text])
    assert flat(whole) == flat(single)
    for one, other in zip(whole, single, strict=True):
        assert one.end - other.end in (0, 1)
        assert one.end == other.end or text[other.end - 1 : one.end] == b"\r\n"


def test_priming_is_an_event_with_an_id_and_empty_data() -> None:
    assert decode([b"id: p0\ndata:\n\n"]) == [Event("p0", None, None, "", 14)]


def test_a_block_that_the_stream_ends_inside_of_is_not_an_event() -> None:
    assert decode([b"id: 1\ndata: {}\n"]) == []


def test_an_empty_id_is_an_id() -> None:
    [event] = decode([b"id:\ndata: x\n\n"])
    assert isinstance(event, Event)
    assert event.id == ""


def test_an_id_is_not_carried_over_to_the_next_block() -> None:
    first, second = decode([b"id: 1\ndata: x\n\ndata: y\n\n"])
    assert isinstance(first, Event)
    assert isinstance(second, Event)
    assert (first.id, second.id) == ("1", None)


def test_memory_is_bounded() -> None:
    with pytest.raises(BlockTooLargeError):
        decode([b"data: x\n"] * 200, limit=100)
    assert len(decode([b"data: 1234567890\n\n"] * 100, limit=100)) == 100


def test_memory_is_bounded_without_a_line_end() -> None:
    with pytest.raises(BlockTooLargeError):
        decode([b"x"] * 200, limit=100)
