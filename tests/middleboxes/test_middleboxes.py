"""What stands between client and server is seen by its effect; the page is in step with what was seen."""

import asyncio
import shutil

import pytest
from tests.matrix.document import from_json, to_json
from tests.matrix.manifest import ROOT, Middlebox, middleboxes
from tests.middleboxes.effects import Effects, observe
from tests.middleboxes.page import DIRECT, Middleboxes, to_markdown
from tests.middleboxes.serve import find

from reattach.clauses import load_registry

DOCS = ROOT / "docs"
LOSSLESS = "6 of 6, and the response"


def seen(name: str) -> Effects:
    return asyncio.run(observe(*find(name)))


def test_the_server_alone_passes_everything_on() -> None:
    assert seen(DIRECT) == Effects(
        session="the server's",
        ids="the server's",
        priming="at once",
        messages="3 of 3, as they come",
        listening="a stream",
        moved=0,
        crossed=0,
        resumed=LOSSLESS,
        goodbye="204, and the server's session ends",
        quiet="answered",
        heartbeats="answered",
    )


@pytest.mark.real
def test_nginx_holds_back_unless_it_is_told_not_to() -> None:
    if shutil.which("nginx") is None:
        pytest.skip(reason="there is no nginx (`make test-real` installs Debian's)")
    default, buffering, unbuffered = (seen(name) for name in ("nginx", "nginx/buffering", "nginx/unbuffered"))
    assert default == unbuffered, "the reference server says X-Accel-Buffering: no, and by its defaults nginx heeds it"
    assert (unbuffered.priming, unbuffered.messages) == ("at once", "3 of 3, as they come")
    assert (buffering.priming, buffering.messages) == ("held back", "3 of 3, once the call is over")
    assert (buffering.session, buffering.ids) == (unbuffered.session, unbuffered.ids) == ("the server's",) * 2
    assert buffering.resumed == unbuffered.resumed == LOSSLESS


@pytest.mark.real
def test_a_quiet_call_outlives_a_timeout_by_heartbeats_alone() -> None:
    if shutil.which("nginx") is None:
        pytest.skip(reason="there is no nginx (`make test-real` installs Debian's)")
    short = seen("nginx/short-timeout")
    assert (short.quiet, short.heartbeats) == ("ended before the answer", "answered")


# The documents in docs/.


@pytest.fixture
def written() -> Middleboxes:
    return from_json((DOCS / "middleboxes.json").read_text(encoding="utf-8"), Middleboxes)


def test_the_page_is_in_step_with_its_data(written: Middleboxes) -> None:
    assert (DOCS / "middleboxes.md").read_text(encoding="utf-8") == to_markdown(written, load_registry()), (
        "run `make middleboxes`"
    )
    assert from_json(to_json(written), Middleboxes) == written


def test_the_page_is_of_the_middleboxes_that_are_there(written: Middleboxes) -> None:
    def names(box: Middlebox) -> list[str]:
        return [box.name, *(f"{box.name}/{variant.name}" for variant in box.variant)]

    assert [row.name for row in written.rows] == [DIRECT, *(name for box in middleboxes() for name in names(box))]
    assert not any(row.stopped for row in written.rows)


def test_what_the_probe_found_through_a_box_it_did_not_find_directly(written: Middleboxes) -> None:
    direct, *others = written.rows
    assert direct.findings == []
    assert direct.unseen == []
    assert any(row.findings or row.unseen for row in others)
