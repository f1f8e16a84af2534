"""The catalogue of experiments: what it covers, and that a finding can be shown again from plain data."""

import json
import random

import pytest

from reattach.clauses import load_registry
from reattach.forged import LONG, between, malformed, similar, unissued
from reattach.live.experiments import EXPERIMENTS, Cost
from reattach.live.experiments.handover import hand_over
from reattach.live.experiments.registry import ParameterError, integer
from reattach.live.probe import jobs_for
from reattach.machine.cursor import MALFORMED, Presence, format_event_id, parse_cursor

TAG = "Ab3_-xYz9Ab3_-xYz9Ab3_"
OURS = format_event_id(TAG, 3, 17)
OTHER = format_event_id(TAG, 4, 21)


def test_every_clause_that_the_wire_can_show_has_an_experiment() -> None:
    judged = {clause.id for clause in load_registry().values() if "oracle" in clause.checks}
    meant = {clause for one in EXPERIMENTS.values() for clause in one.clauses}
    assert meant == judged


def test_every_experiment_says_what_it_does() -> None:
    for one in EXPERIMENTS.values():
        assert one.about.endswith("."), one.name
        assert one.clauses, one.name


@pytest.mark.parametrize("seed", [0, 7])
def test_a_seed_gives_the_same_jobs_in_plain_json(seed: int) -> None:
    jobs = jobs_for(EXPERIMENTS.values(), seed)
    again = jobs_for(EXPERIMENTS.values(), seed)
    assert [(job.tag, job.parameters) for job in jobs] == [(job.tag, job.parameters) for job in again]
    for job in jobs:
        assert json.loads(json.dumps(job.parameters)) == job.parameters
    assert len({job.tag for job in jobs}) == len(jobs)


def test_another_seed_or_another_round_gives_other_trials() -> None:
    racy = [one for one in EXPERIMENTS.values() if one.cost is Cost.RACY]
    drawn = [jobs_for(racy, seed, round_) for seed, round_ in ((1, 0), (2, 0), (1, 1))]
    parameters = [[job.parameters for job in jobs] for jobs in drawn]
    assert parameters[0] != parameters[1]
    assert parameters[0] != parameters[2]
    tags = [job.tag for job in (*drawn[0], *drawn[2])]
    assert len(set(tags)) == len(tags)


def test_the_hand_over_is_tried_as_often_as_promised() -> None:
    [racy] = [one for one in EXPERIMENTS.values() if one.run is hand_over]
    trials = racy.plan(random.Random(1))
    assert len(trials) >= 10
    for trial in trials:
        assert trial["count"] == 60
        assert trial["interval_ms"] == 3
        assert isinstance(trial["cuts"], list)
        assert 3 <= len(trial["cuts"]) <= 4


def test_parameters_of_the_wrong_type_are_refused() -> None:
    with pytest.raises(ParameterError, match="after"):
        integer({"after": "3"}, "after")
    with pytest.raises(ParameterError, match="after"):
        integer({}, "after")
    with pytest.raises(ParameterError, match="after"):
        integer({"after": True}, "after")


@pytest.mark.parametrize("good", [OURS, "12", "a1b2c3d4e5f6", "stream_41", "no-digits-at-the-end-x"])
def test_malformed_cursors_are_a_dozen_kinds_and_more(good: str) -> None:
    cursors = malformed(good)
    assert len(set(cursors)) >= 14
    assert (good,) not in cursors
    assert ("",) in cursors
    assert (good, good) in cursors
    assert any(len(value) >= LONG for headers in cursors for value in headers)
    assert any(not value.isascii() for headers in cursors for value in headers)
    assert all(value == value.strip() and "\n" not in value for headers in cursors for value in headers)


def test_malformed_cursors_are_none_by_the_standards_grammar() -> None:
    assert [parse_cursor(headers) for headers in malformed(OURS)] == [MALFORMED] * len(malformed(OURS))


def test_unissued_cursors_of_the_standards_grammar_reach_every_case() -> None:
    parsed = [parse_cursor((cursor,)) for cursor in unissued([OURS], [OTHER], random.Random(1))]
    assert all(cursor.presence is Presence.PRESENT for cursor in parsed)
    own = [cursor for cursor in parsed if cursor.tag == TAG]
    assert any(cursor.stream == 3 and cursor.seq == 22 for cursor in own), "ahead by one"
    assert any(cursor.stream == 3 and cursor.seq > 1_000 for cursor in own), "ahead by many"
    assert any((cursor.stream, cursor.seq) == (3, 21) for cursor in own), "another stream's seq"
    assert any(cursor.stream > 4 for cursor in own), "no such stream"
    assert any(cursor.tag != TAG for cursor in parsed), "another tag"


def test_a_seq_of_another_stream_is_tried_between_two_of_its_own() -> None:
    own = [format_event_id(TAG, 3, seq) for seq in (10, 12, 14)]
    assert between(own, [format_event_id(TAG, 4, seq) for seq in (9, 11, 16)]) == [format_event_id(TAG, 3, 11)]
    assert between(own, [format_event_id(TAG, 4, 16)]) == []
    assert between([], own) == between(["7", "9"], ["8"]) == []


@pytest.mark.parametrize(("ids", "others"), [(["7"], ["9"]), (["s_3"], ["t_3"]), (["f" * 32], ["a" * 32])])
def test_unissued_cursors_of_other_grammars_are_none_that_was_given(ids: list[str], others: list[str]) -> None:
    cursors = unissued(ids, others, random.Random(1))
    assert len(cursors) >= 2
    assert not {*ids, *others} & set(cursors)


@pytest.mark.parametrize("text", ["1d52f8aa", "session-00000001", "rKjv0l_Zz.9", "42"])
def test_a_similar_text_has_the_same_shape(text: str) -> None:
    rng = random.Random(3)
    drawn = {similar(text, rng) for _ in range(20)}
    assert len(drawn) > 5
    assert all(len(one) == len(text) for one in drawn)
    for one in drawn:
        assert [not c.isalnum() for c in one] == [not c.isalnum() for c in text]
