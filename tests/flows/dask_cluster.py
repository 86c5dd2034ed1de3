"""A Dask cluster on this machine, in processes of its own: ``python dask_cluster.py HOME``.

Its workers get HOME as their home folder. Prints the scheduler's address, kills a worker for each line ``kill`` that it reads, and ends with its input.
"""

from __future__ import annotations

import os
import signal
import sys

from distributed import LocalCluster


def main(home):
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        env={"TRIGATE_HOME": home, "TRIGATE_DATABASE_URL": "", "OMP_NUM_THREADS": "1"},
    ) as cluster:
        print(cluster.scheduler_address, flush=True)  # noqa: T201 - the test reads it
        for line in sys.stdin:
            if line.strip() == "kill":
                os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1])
