"""A night without Prefect, in a process of its own: ``python plain_night.py [RESUME]`` in the home that the environment names.

Prints the run's id as soon as it is known, and at the end how it ended.
"""

from __future__ import annotations

import sys

from flows import opening
from flows.plain import search_plainly
from flows.problems import Problem
from flows.settings import home_folder, load_settings
from flows.start import new_order, open_night, stored_order
from flows.watch import SilentWatch
from runtime.store import StoreError


def main(resume):
    home = home_folder()
    settings = load_settings(None, home, data="planted-edge", search__generations=3, search__population=8)
    order = stored_order(opening.engine(home), resume) if resume else new_order(settings, seed=5, profile=None)
    with open_night(settings, home, SilentWatch(), order) as night:
        print(night.run_id, flush=True)  # noqa: T201 - the test reads it
        search_plainly(night)


if __name__ == "__main__":
    try:
        main(sys.argv[1] if len(sys.argv) > 1 else None)
    except (Problem, StoreError) as problem:
        sys.exit(f"{type(problem).__name__}: {problem}")
