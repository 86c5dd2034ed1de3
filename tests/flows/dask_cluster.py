"""A Dask cluster on this machine, in processes of its own, behind TLS: ``python dask_cluster.py HOME PEM``.

Its workers get HOME as their home folder; PEM becomes the certificate and key that all sides use. Prints the scheduler's address, kills a worker for each line ``kill`` that it reads, and ends with its input.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from distributed import LocalCluster
from distributed.security import Security


def main(home, pem):
    security = Security.temporary()
    Path(pem).write_text(security.tls_client_key + security.tls_ca_file)
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        protocol="tls",
        security=security,
        dashboard_address="127.0.0.1:0",
        env={"TRIGATE_HOME": home, "TRIGATE_DATABASE_URL": "", "OMP_NUM_THREADS": "1"},
    ) as cluster:
        print(cluster.scheduler_address, flush=True)  # noqa: T201 - the test reads it
        for line in sys.stdin:
            if line.strip() == "kill":
                os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
