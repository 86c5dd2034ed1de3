"""The few ways in which a command can end without doing its work, and the exit code of each.

::

    Problem
    |- UsageProblem         2  wrong usage or bad input: the caller can mend it
    |- EnvironmentProblem   3  a missing layer, database, server or folder: the machine must be mended
    |- Interruption       130  a person's Ctrl-C, with what there is to know about it

A negative verdict (exit 1) is not a problem: the command did its work and prints what it found.
"""

from __future__ import annotations


class Problem(Exception):
    """One clear sentence for the user: the thing, the value, the rule, the way out."""

    exit_code = 2
    kind = "usage"


class UsageProblem(Problem):
    """Wrong usage or bad input. Change the command or the file and run it again."""


class EnvironmentProblem(Problem):
    """The machine lacks something. Mend it, or choose the named setting that does without."""

    exit_code = 3
    kind = "environment"


class Interruption(Problem):
    """Somebody stopped it. Say what is kept, and how it goes on."""

    exit_code = 130
    kind = "interrupted"
