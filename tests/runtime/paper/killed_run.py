"""Run as a program by test_runner: a paper run that kills itself at some statement of its order path.

python killed_run.py HOME RUN STATEMENTS DAYS
"""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path


def main():
    home, run, statements, days = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    spec = importlib.util.spec_from_file_location("paper_conftest", Path(__file__).with_name("conftest.py"))
    conftest = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = conftest
    spec.loader.exec_module(conftest)
    desk = conftest.Desk(home)
    # Past the lease of the one that was killed before.
    desk.now.at += timedelta(hours=1 + days)
    left = statements

    def checkpoint(_name):
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    desk.run(run, checkpoint=checkpoint)


if __name__ == "__main__":
    main()
