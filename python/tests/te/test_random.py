"""Random operators and schedules: what `tirc.te` writes is right, and what it takes the compiler takes."""

import re

import anything
import generator
import pytest
import tools


@pytest.mark.parametrize("seed", range(100))
def test_random_schedules_are_right(seed):
    tools.check(generator.Case(seed).lowered.text)


def test_schedules_are_deterministic():
    for seed in range(20):
        assert generator.Case(seed).lowered.annotated == generator.Case(seed).lowered.annotated


@pytest.mark.filterwarnings("ignore::tirc.te.TeWarning")
def test_what_is_taken_the_compiler_takes():
    """Random directives in random order. Only the extents of attached loops, which bounds decide, may still disagree."""
    accepted = refused = 0
    for seed in range(600):
        attempt = anything.Attempt(seed)
        if attempt.text is None:
            refused += 1
            continue
        status, _, err = tools.run("tc-opt", attempt.text, "--pass-pipeline=module(schedule)")
        codes = set(re.findall(r"error\[([\w-]+)\]", err))
        assert status == 0 or codes == {"bind-extents"}, f"seed {seed}\n{err}\n{attempt.text}"
        accepted += status == 0
    assert accepted > 200 and refused > 100
