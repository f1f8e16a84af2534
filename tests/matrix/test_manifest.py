"""Manifests of real servers are read strictly, and those that are there fit together with what is beside them."""

import re
from pathlib import Path

import pytest
from attrs import evolve
from tests.matrix.manifest import (
    BuildError,
    Client,
    ManifestError,
    Middlebox,
    Program,
    Server,
    build,
    clients,
    middleboxes,
    read_client,
    read_server,
    servers,
)
from tests.matrix.runs import Purpose, newest_with_resumption, plan

from reattach.clauses import load_registry
from reattach.io.baseline import read_baseline
from reattach.machine.revision import TRAITS, Revision

GOOD = """\
name = "some"
language = "Go"
package = "example"
version = "1.2.3"
needs = ["go"]
build = ["go build -o {build}/server ."]
run = "{build}/server --port {port}"
path = "/mcp"
store = "in memory"
revisions = ["2025-06-18", "2025-11-25", "2026-07-28"]
"""
ALL = servers()
CLIENTS = clients()


def manifest(folder: Path, text: str = GOOD) -> Path:
    (folder / "some").mkdir(exist_ok=True)
    path = folder / "some" / "server.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_manifest_is_read(tmp_path: Path) -> None:
    server = read_server(manifest(tmp_path))
    assert server.command(server.run)[0].endswith("/some/server")
    assert server.command(server.run)[1:] == ["--port", "{port}"]
    assert newest_with_resumption(server) is Revision("2025-11-25")
    assert [server.name for server in servers(tmp_path)] == ["some"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (GOOD + "extra = 1\n", "unknown key: extra"),
        (GOOD.replace('path = "/mcp"\n', ""), "path: missing"),
        (GOOD.replace('"some"', '"other"'), "not the folder's"),
        (GOOD.replace("2025-06-18", "2025"), "revisions"),
        (GOOD.replace('"2025-06-18", "2025-11-25", "2026-07-28"', ""), "at least one"),
        (GOOD.replace("--port {port}", ""), "has no {port}"),
        (GOOD + '[[variant]]\nname = "a"\nwhat = "b"\nrun = "c"\n', "has no {port}"),
        (GOOD + '[[variant]]\nname = "a"\nwhat = "b"\nrun = "{port}"\n' * 2, "two have one name"),
        ("name = ", "Invalid"),
    ],
)
def test_a_bad_manifest_is_told(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ManifestError) as raised:
        read_server(manifest(tmp_path, text))
    assert says in str(raised.value)


def test_a_clients_manifest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "some" / "client.toml"
    path.parent.mkdir()
    text = "".join(f"{line}\n" for line in GOOD.splitlines() if line.split()[0] not in ("path", "store", "revisions"))
    path.write_text(text.replace("{port}", "{url}"))
    client = read_client(path)
    assert client.command(client.run)[1:] == ["--port", "{url}"]
    assert client.built.parent.name == "clients"
    assert evolve(client, builds_in="servers/some").built == evolve(ALL[0], name="some", builds_in="").built
    path.write_text(text)
    with pytest.raises(ManifestError, match=r"has no \{url\}"):
        read_client(path)


def test_a_build_that_fails_says_how(tmp_path: Path) -> None:
    server = evolve(read_server(manifest(tmp_path)), name="independent", needs=[])  # any folder of a server
    failing = evolve(server, build=["{python} -c 'raise SystemExit(\"no such luck\")'"])
    with pytest.raises(BuildError, match="no such luck"):
        build(failing)
    with pytest.raises(BuildError, match="cannot run no-such-program"):
        build(evolve(server, build=["no-such-program"]))
    with pytest.raises(BuildError, match="this machine has no no-such-program"):
        build(evolve(server, needs=["no-such-program"]))


def test_there_are_ten_servers_in_five_languages() -> None:
    assert len(ALL) >= 10
    assert len({server.language for server in ALL}) >= 5


def pinned(program: Program) -> None:
    said = [path for path in program.folder.iterdir() if path.is_file() and program.version in path.read_text()]
    assert len(said) >= 2 or program.version in " ".join(program.build), "the version is pinned where it is installed"
    assert not re.search(r"[\^~*]", program.version)


def test_there_are_eight_clients_in_five_languages() -> None:
    assert len(CLIENTS) >= 8
    assert len({client.language for client in CLIENTS}) >= 5


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_client_has_what_belongs_to_it(client: Client) -> None:
    pinned(client)


@pytest.mark.parametrize("box", middleboxes(), ids=lambda box: box.name)
def test_a_middlebox_is_pinned_or_says_which_it_is(box: Middlebox) -> None:
    if not box.asks:
        pinned(box)
    assert all("{upstream}" in run and "{port}" in run for run in box.runs())


@pytest.mark.parametrize("server", ALL, ids=lambda server: server.name)
def test_a_server_has_what_belongs_to_it(server: Server) -> None:
    read_baseline(server.baseline, load_registry())
    pinned(server)
    whole, *others = plan(server)
    assert whole.purpose is Purpose.WHOLE
    assert TRAITS[whole.revision].resumption
    assert {one.revision for one in others if one.variant is None} == set(server.revisions) - {whole.revision}
