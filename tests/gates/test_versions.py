"""Gate one says the same on every Python that we support: same verdict, same rules, same lines."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from gate_corpus import TESTS

from gates import Rejected, scan
from gates.scan import judge_contract
from runtime.source import StrategySource

ROOT = TESTS.parent
# Gate one needs the standard library alone; the package's face needs more, so it is stepped around.
SCRIPT = """
import json, sys, types
root, *files = sys.argv[1:]
sys.path.insert(0, root)
package = types.ModuleType("gates")
package.__path__ = [root + "/gates"]
sys.modules["gates"] = package
from gates.scan import judge_contract, scan, Scanned
from runtime.source import StrategySource
said = {}
for name in files:
    with open(name, "rb") as stream:
        scanned = scan(StrategySource(stream.read()))
    verdict = judge_contract(scanned) if isinstance(scanned, Scanned) else scanned
    said[name] = None if verdict is None else [verdict.gate, [[f.rule, f.line] for f in verdict.findings]]
print(json.dumps(said))
"""


def interpreter(version: str) -> str | None:
    """A working interpreter of that version, on the path or among the ones that pyenv keeps."""
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [shutil.which(f"python{version}"), *map(str, sorted(home.glob(f"versions/{version}*/bin/python")))]
    for candidate in filter(None, candidates):
        answer = subprocess.run(
            [candidate, "-c", "import sys; print(sys.version_info[:2])"], capture_output=True, text=True
        )
        if answer.stdout.strip() == f"({version.replace('.', ', ')})":
            return candidate
    return None


def _here(source):
    scanned = scan(source)
    verdict = scanned if isinstance(scanned, Rejected) else judge_contract(scanned)
    return None if verdict is None else [verdict.gate, [[found.rule, found.line] for found in verdict.findings]]


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_every_file_gets_the_same_verdict_on(version):
    python = interpreter(version)
    if python is None:
        pytest.skip(f"no Python {version} on the path or in pyenv")
    paths = [str(path) for folder in ("escapes", "benign") for path in sorted((TESTS / folder).glob("*.py"))]
    answer = subprocess.run([python, "-W", "error", "-c", SCRIPT, str(ROOT), *paths], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    theirs = list(json.loads(answer.stdout).values())
    ours = [_here(StrategySource(Path(path).read_bytes())) for path in paths]
    different = [Path(path).name for path, mine, other in zip(paths, ours, theirs, strict=True) if mine != other]
    assert different == [], sys.version
