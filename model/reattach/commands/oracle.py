"""``reattach oracle``: observations in, verdicts out, for a test suite in any language."""

import json
import os
import sys
from collections.abc import Iterable

from reattach.clauses import load_registry
from reattach.commands import options as shared
from reattach.io.answers import Answer, ready
from reattach.io.dialogue import Dialogue, lines_of
from reattach.io.policy_file import read_declaration
from reattach.io.run import EXIT_CODES, FailOn, Verdict
from reattach.oracle.verdict import Profile


def oracle(
    profile: shared.ProfileOption = Profile.MCP,
    policy: shared.RecordedPolicy = None,
    fail_on: shared.FailOnOption = FailOn.MUST,
) -> int:
    """Judge as a test suite goes: lines of a recording on standard input, verdicts on standard output.

    docs/oracle.md says what the lines are. Exit code 2: a line could not be taken, and nothing is violated. 3: in one
    of the runs nothing exercises a clause, or nobody reads the verdicts.
    """
    dialogue = Dialogue(
        registry=load_registry(),
        profile=profile,
        fail_on=fail_on,
        declaration=None if policy is None else read_declaration(policy),
    )
    try:
        _tell([ready()])
        try:
            for line in lines_of(sys.stdin.buffer):
                _tell(dialogue.take(line))
        except KeyboardInterrupt:
            _tell(dialogue.close(interrupted=True))
        else:
            _tell(dialogue.close())
    except BrokenPipeError:
        # Nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_CODES[Verdict.NO_VERDICT]
    return dialogue.exit_code


def _tell(answers: Iterable[Answer]) -> None:
    """Each is out before the next line is read: who does not read is not read."""
    for answer in answers:
        print(json.dumps(answer), flush=True)
