"""The parser: what is a cursor, and that nothing else is (CUR-2, EVT-5)."""

import itertools
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.machine.profiles import examples

from reattach.machine.cursor import (
    ABSENT,
    MALFORMED,
    MAX_INTEGER,
    TAG_LENGTHS,
    Cursor,
    Presence,
    format_event_id,
    parse_cursor,
)

TAG = "abcdefghijklmnopqrstuv"
TAG_CHARACTERS = string.ascii_letters + string.digits + "_-"

SHORT_NUMBERS = {str(number) for number in range(1, 1000)}

# Each is dear to some parser: digits, a leading zero, separators, signs, space, int()'s underscore and exponent,
# another script's digit, a superscript that isdigit() accepts, control characters, and what HTTP lists are joined with.
ADVERSARIAL = '019.-+_ ex٣²\t\n\0,"'


def test_no_header_is_absent() -> None:
    assert parse_cursor(()) == ABSENT


def test_a_repeated_header_is_malformed_even_if_both_agree() -> None:
    good = format_event_id(TAG, 1, 2)
    assert parse_cursor((good, good)) == MALFORMED


def test_an_empty_header_is_malformed_and_not_absent() -> None:
    assert parse_cursor(("",)) == MALFORMED


def test_an_event_id_is_a_cursor() -> None:
    assert parse_cursor((f"{TAG}.2.8",)) == Cursor(Presence.PRESENT, TAG, 2, 8)


def test_every_short_number_is_judged_by_the_grammar() -> None:
    accepted = 0
    for length in range(4):
        for characters in itertools.product(ADVERSARIAL, repeat=length):
            text = "".join(characters)
            expected = Cursor(Presence.PRESENT, TAG, 2, int(text)) if text in SHORT_NUMBERS else MALFORMED
            assert parse_cursor((f"{TAG}.2.{text}",)) == expected, text
            swapped = Cursor(Presence.PRESENT, TAG, int(text), 2) if expected is not MALFORMED else MALFORMED
            assert parse_cursor((f"{TAG}.{text}.2",)) == swapped, text
            accepted += expected is not MALFORMED
    assert accepted == 2 + 2 * 3 + 2 * 3 * 3  # 1 or 9, then up to two of 0, 1 and 9


def test_every_short_text_alone_is_malformed() -> None:
    for length in range(5):
        for characters in itertools.product("019.-a \n", repeat=length):
            assert parse_cursor(("".join(characters),)) == MALFORMED


@pytest.mark.parametrize("length", [0, 1, 21, 33, 64])
def test_a_tag_of_another_length_is_malformed(length: int) -> None:
    assert parse_cursor((f"{'a' * length}.1.1",)) == MALFORMED


@pytest.mark.parametrize("length", TAG_LENGTHS)
def test_a_tag_of_each_length_is_taken(length: int) -> None:
    assert parse_cursor((f"{'a' * length}.1.1",)) == Cursor(Presence.PRESENT, "a" * length, 1, 1)


def test_each_character_of_latin_1_and_some_beyond_is_in_a_tag_or_not() -> None:
    for character in [*map(chr, range(256)), "é", "А", "０", "\u2028", "\ufeff"]:
        text = f"{TAG}{character}.1.1"
        expected = Cursor(Presence.PRESENT, TAG + character, 1, 1) if character in TAG_CHARACTERS else MALFORMED
        assert parse_cursor((text,)) == expected, repr(character)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (str(MAX_INTEGER), MAX_INTEGER),
        (str(MAX_INTEGER + 1), None),
        ("9" * 15, 10**15 - 1),
        ("9" * 16, None),
        ("1" + "0" * 16, None),
        ("1" * 5000, None),
    ],
)
def test_numbers_end_at_two_to_the_53(text: str, value: int | None) -> None:
    expected = MALFORMED if value is None else Cursor(Presence.PRESENT, TAG, 1, value)
    assert parse_cursor((f"{TAG}.1.{text}",)) == expected


@pytest.mark.parametrize(
    "text",
    [
        f" {TAG}.1.1",
        f"{TAG}.1.1 ",
        f"{TAG}.1.1\n",
        f'"{TAG}.1.1"',
        f"{TAG}.1.1,{TAG}.1.2",
        f"{TAG}.1",
        f"{TAG}.1.1.1",
        f"{TAG}..1",
        f".{TAG}.1.1",
        f"{TAG}:1:1",
        f"{TAG}.1.1e0",
        f"{TAG}.0x1.1",
        f"{TAG}.1.１",
        f"{TAG}.1.۱",
        f"{TAG}.1.1_0",
        "undefined",
        "null",
    ],
)
def test_what_looks_like_a_cursor_is_not_one(text: str) -> None:
    assert parse_cursor((text,)) == MALFORMED


tags = st.text(TAG_CHARACTERS, min_size=TAG_LENGTHS.start, max_size=TAG_LENGTHS.stop - 1)
numbers = st.integers(1, MAX_INTEGER)


@examples(200)
@given(tags, numbers, numbers)
def test_what_is_formatted_parses_to_the_same(tag: str, stream: int, seq: int) -> None:
    written = format_event_id(tag, stream, seq)
    assert parse_cursor((written,)) == Cursor(Presence.PRESENT, tag, stream, seq)
    assert all(0x21 <= ord(character) <= 0x7E for character in written)  # EVT-5


@examples(300)
@given(st.one_of(st.text(max_size=60), st.from_regex(r"\A[a-zA-Z0-9_-]{21,33}\.[019+]{1,3}\.[019_ ٣]{1,3}\Z")))
def test_what_parses_formats_to_the_same(text: str) -> None:
    cursor = parse_cursor((text,))
    assert cursor == MALFORMED or format_event_id(cursor.tag, cursor.stream, cursor.seq) == text
