"""Secrets go, what the clauses look at stays."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reattach.io.redact import (
    make_redactor,
    query_credentials,
    redact_report,
    report_observations,
    without_query,
)
from reattach.oracle.observation import Frame, Json, Request, Response
from reattach.oracle.verdict import Report

SESSION = "c9f09f890cb2454b9abe017cbc48367b"
IDS = st.text(alphabet=st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=8, max_size=40)


def request(session: str) -> Request:
    return Request(at=0, connection=1, method="GET", session=session)


def test_a_session_id_inside_an_event_id_and_a_payload() -> None:
    frame = Frame(at=1, connection=1, id=f"{SESSION}:4", payload={"text": [f"in {SESSION}.", {SESSION: 1}]})
    cursor = Request(at=2, connection=2, method="GET", session=SESSION, cursors=(f"{SESSION}:4", "other"))
    redacted_frame, redacted_cursor = make_redactor([request(SESSION)]).observations([frame, cursor])
    assert redacted_frame == Frame(
        at=1, connection=1, id="session-1:4", payload={"text": ["in session-1.", {"session-1": 1}]}
    )
    assert redacted_cursor == Request(
        at=2, connection=2, method="GET", session="session-1", cursors=("session-1:4", "other")
    )


@pytest.mark.parametrize("lead", ["", "s", "st", "stream-1:"])
@pytest.mark.parametrize("altchars", [b"+/", b"-_"])
def test_a_session_id_in_base64_at_any_alignment(lead: str, altchars: bytes) -> None:
    session = "secret?>session~~id"
    text = base64.b64encode(f"{lead}{session}:17".encode(), altchars).decode()
    head, name, tail = make_redactor([request(session)]).text(text).partition("session1")
    # Six bits a character: what holds bits of the session id alone is gone, and nothing else is.
    assert name
    assert len(head) == -(-8 * len(lead) // 6)
    assert len(text) - len(tail) == 8 * len(f"{lead}{session}") // 6
    assert text.startswith(head)
    assert text.endswith(tail)


@pytest.mark.parametrize("form", [SESSION.encode().hex(), SESSION.encode().hex().upper()])
def test_a_session_id_in_hexadecimal(form: str) -> None:
    assert make_redactor([request(SESSION)]).text(f"{form}-3") == "session1-3"


def test_credentials_go_with_and_without_their_scheme() -> None:
    redactor = make_redactor(credentials=["Bearer hunter22hunter22"])
    assert redactor.text("got Bearer hunter22hunter22") == "got secret-1"
    assert redactor.text("token hunter22hunter22 is bad") == "token secret-1 is bad"


@pytest.mark.parametrize(
    ("url", "shown", "credentials"),
    [
        ("http://h/mcp", "http://h/mcp", ()),
        ("http://h/mcp?", "http://h/mcp?", ()),
        ("http://h/?api_key=hunter22==&t=a&e=#x", "http://h/?api_key=…&t=…&e=…", ("hunter22==",)),
        ("http://h/?hunter22", "http://h/?…", ("hunter22",)),
        ("http://h/?k=hunter%2B22", "http://h/?k=…", ("hunter%2B22", "hunter+22")),
        ("http://h/?v=2025-11-25", "http://h/?v=…", ()),  # what the clauses look at
    ],
)
def test_the_values_of_a_query_are_not_shown(url: str, shown: str, credentials: tuple[str, ...]) -> None:
    assert (without_query(url), query_credentials(url)) == (shown, credentials)


def test_short_session_ids_are_replaced_where_they_stand_by_themselves() -> None:
    redactor = make_redactor([request("abcd")])
    assert redactor.text("abcd:1 abcde xabcd") == "session-1:1 abcde xabcd"


def test_tiny_session_ids_are_replaced_in_headers_only() -> None:
    redactor = make_redactor([request("1")])
    assert redactor.text("1:1") == "1:1"
    assert redactor.observation(request("1")) == request("session-1")


def test_an_exact_copy_keeps_lengths() -> None:
    redactor = make_redactor([request(SESSION)], exact=True)
    redacted = redactor.observation(Frame(at=0, connection=1, id=f"{SESSION}.1.2"))
    assert isinstance(redacted, Frame)
    assert redacted.id is not None
    assert len(redacted.id) == len(f"{SESSION}.1.2")
    assert redacted.id.endswith(".1.2")
    assert SESSION not in redacted.id


def test_a_character_that_a_session_id_must_not_have_stays() -> None:
    redacted = make_redactor([Response(at=0, connection=1, status=200, session="bad session\u00e9")]).sessions
    assert set(redacted["bad session\u00e9"]) >= {" ", "\u00e9"}


@given(st.lists(IDS, min_size=1, max_size=5, unique=True), st.data())
def test_no_secret_is_left_and_different_stays_different(sessions: list[str], data: st.DataObject) -> None:
    redactor = make_redactor([request(session) for session in sessions])
    pseudonyms = [redactor.sessions[session] for session in sessions]
    assert len(set(pseudonyms)) == len(sessions)
    parts = data.draw(st.lists(st.sampled_from(sessions), min_size=1, max_size=4))
    redacted = redactor.text(" ".join(parts))
    # A pseudonym may, by chance, be drawn as a session id; then there is nothing to hide.
    assert all(session not in redacted for session in sessions if session not in " ".join(pseudonyms))
    assert redactor.text(sessions[0]) == redactor.sessions[sessions[0]]


def test_many_sessions_do_not_make_it_slow_or_ambiguous() -> None:
    sessions = [f"session-id-with-a-long-shared-prefix-{number:04}" for number in range(2_000)]
    redactor = make_redactor([request(session) for session in sessions])
    assert redactor.text(f"{sessions[1]}:{sessions[1999]}") == "session-2:session-2000"


def test_a_report_without_secrets(report: Report) -> None:
    secrets = ["c9f09f890cb2454b9abe017cbc48367b", "0b33aa890cb2454b9abe017cbc48367b", "hunter22hunter22"]
    text = repr(report)
    assert all(secret in text for secret in secrets)
    redactor = make_redactor(report_observations(report), ["Bearer hunter22hunter22"])
    redacted = repr(redact_report(report, redactor))
    assert not any(secret in redacted for secret in secrets)


JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(JSON)
def test_what_holds_no_secret_is_left_alone(value: Json) -> None:
    redactor = make_redactor([request(SESSION)])
    assert json.dumps(redactor.value(value)) == json.dumps(value)
