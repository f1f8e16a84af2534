"""The vectors: as committed they are what the machine says now, they fit their schema, and they reach all of it."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import jsonschema
import pytest

from reattach.clauses import load_registry
from reattach.cli import main
from reattach.machine.cursor import format_event_id
from reattach.machine.decision import Reason
from reattach.vectors.kinds import KINDS, files
from reattach.vectors.search import Scene, Target, shortest
from reattach.vectors.targets import POLICY
from reattach.vectors.vector import Plain, question_of, to_text

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "spec/vectors"
SCHEMA = json.loads((ROOT / "spec/schema/vector-1.schema.json").read_text(encoding="utf-8"))
MACHINE = "model/reattach/machine"
REACHED = ("cursor", "decision", "window", "transition", "client")
"""Modules of the machine of which the vectors execute every line and every branch."""

TOTAL_BYTES, FILE_BYTES = 1_000_000, 100_000


def committed() -> dict[str, str]:
    return {str(path.relative_to(FOLDER)): path.read_text("utf-8") for path in FOLDER.rglob("*") if path.is_file()}


def vectors(kind: str) -> dict[str, Plain]:
    """The committed vectors of a kind, by name."""
    paths = sorted((FOLDER / kind).glob("*.json"))
    return {path.stem: json.loads(path.read_text("utf-8")) for path in paths if path.name != "manifest.json"}


def everything() -> list[tuple[str, Plain]]:
    return [(kind, document) for kind in KINDS for document in vectors(kind).values()]


def test_the_committed_files_are_what_the_machine_says() -> None:
    written, there = files(), committed()
    assert sorted(there) == sorted(written), "reattach vectors --out spec/vectors writes them; delete what is too much"
    assert [path for path in written if there[path] != written[path]] == []


def test_each_holds_when_it_is_replayed() -> None:
    for kind, document in everything():
        question = question_of(document)
        answered = KINDS[kind].answered(question)
        assert answered == {key: document[key] for key in answered}, document["name"]
        assert answered != question, f"{document['name']} expects nothing"


def test_a_changed_expectation_does_not_hold() -> None:
    document = vectors("decision")["interleaved-stream-2-seq-5-the-mark"]
    document["expect"]["position"] += 1
    answered = KINDS["decision"].answered(question_of(document))
    assert answered["expect"] != document["expect"]


def test_each_fits_its_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for kind, document in everything():
        # Of the schema's alternatives only its own is asked: five times faster, and a better message.
        assert [
            error.message for error in validator.evolve(schema=SCHEMA["$defs"][kind] | defs()).iter_errors(document)
        ] == []
    for kind in KINDS:
        jsonschema.validate(json.loads((FOLDER / kind / "manifest.json").read_text("utf-8")), SCHEMA)


def defs() -> Plain:
    return {"$defs": SCHEMA["$defs"]}


def test_what_is_no_vector_does_not_fit() -> None:
    document = vectors("cursor")["the-smallest-cursor"]
    jsonschema.validate(document, SCHEMA)
    for wrong in (
        {"kind": "decision"},
        {"schema": "reattach-vector/2"},
        {"more": 1},
        {"expect": {"presence": "present"}},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(document | wrong, SCHEMA)


@pytest.mark.parametrize("kind", KINDS)
def test_a_manifest_lists_the_files_that_ask_least_first(kind: str) -> None:
    manifest = json.loads((FOLDER / kind / "manifest.json").read_text("utf-8"))
    there = vectors(kind)
    names = [case["file"].removesuffix(".json") for case in manifest["cases"]]
    assert sorted(names) == sorted(there)
    assert [case["tests"] for case in manifest["cases"]] == [there[name]["tests"] for name in names]
    sizes = [len(to_text(question_of(there[name]))) for name in names]
    assert sizes == sorted(sizes)


def test_no_two_ask_the_same() -> None:
    asked = Counter(json.dumps([kind, question_of(document)]) for kind, document in everything())
    assert [question for question, times in asked.items() if times > 1] == []


def test_they_are_small() -> None:
    sizes = [len(text.encode()) for text in committed().values()]
    assert max(sizes) < FILE_BYTES
    assert sum(sizes) < TOTAL_BYTES


def test_the_clauses_are_clauses() -> None:
    assert {name for _, document in everything() for name in document["clauses"]} <= set(load_registry().clauses)


def test_a_cursor_that_is_read_is_written_the_same() -> None:
    for document in vectors("cursor").values():
        if document["expect"]["presence"] == "present":
            _, tag, stream, seq = document["expect"].values()
            assert [format_event_id(tag, stream, seq)] == document["last_event_id"]


def test_every_reason_of_the_decision_is_given() -> None:
    given = {document["expect"].get("reason") for document in vectors("decision").values()}
    of_a_request_for_a_view = set(list(Reason)[: list(Reason).index(Reason.STREAMS_EXHAUSTED)])
    assert given - {None} == {reason.value for reason in of_a_request_for_a_view}


def test_every_clause_about_clients_has_a_vector() -> None:
    named = {clause for document in vectors("client").values() for clause in document["clauses"]}
    assert named >= {clause for clause in load_registry().clauses if clause.startswith("CLI-")}


def test_they_execute_every_line_and_branch(tmp_path: Path) -> None:
    coverage = [sys.executable, "-m", "coverage"]
    data = f"--data-file={tmp_path / 'data'}"
    replay = Path(__file__).with_name("replaying.py")
    subprocess.run([*coverage, "run", data, "--branch", "--source=reattach.machine", str(replay)], cwd=ROOT, check=True)
    subprocess.run([*coverage, "json", data, "-q", "-o", str(tmp_path / "out.json")], cwd=ROOT, check=True)
    measured = json.loads((tmp_path / "out.json").read_text())["files"]
    missed = {
        name: (measured[f"{MACHINE}/{name}.py"]["missing_lines"], measured[f"{MACHINE}/{name}.py"]["missing_branches"])
        for name in REACHED
    }
    assert missed == dict.fromkeys(REACHED, ([], []))


def test_what_no_history_reaches_is_an_error() -> None:
    never = Target("never", (), lambda happened: False)
    with pytest.raises(LookupError, match="never"):
        shortest(Scene(POLICY, (), (never,)))


def test_the_command_writes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "vectors"
    assert main(["vectors", "--out", str(out)]) == 0
    assert f"{len(files())} files" in capsys.readouterr().out
    assert {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()} == set(files())


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["vectors", "--out", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
