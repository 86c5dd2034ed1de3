"""The five names exist on the public index too: ours must come from us, and nothing else may come along."""

from __future__ import annotations

import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAMES = ("evolution", "fitness", "flows", "gates", "runtime")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.mark.parametrize("name", NAMES)
def test_each_package_comes_from_this_distribution_alone(name):
    owners = packages_distributions().get(name, ["trigate"])  # an editable install may list none
    assert set(owners) == {"trigate"}


def test_every_package_folder_is_declared_and_every_declared_one_exists():
    declared = set(PROJECT["tool"]["setuptools"]["packages"])
    found = {
        ".".join(file.parent.relative_to(ROOT).parts) for name in NAMES for file in (ROOT / name).rglob("__init__.py")
    }
    assert declared == found


def test_it_can_never_be_uploaded():
    assert "Private :: Do Not Upload" in PROJECT["project"]["classifiers"]


def test_the_constraints_pin_every_direct_dependency():
    pinned = {
        line.split("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line
    }
    for requirement in PROJECT["project"]["dependencies"]:
        name = requirement.split(">")[0].split("=")[0].strip().lower()
        assert name in pinned, name


def test_deployments_name_modules_not_files():
    import yaml

    deployments = yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]
    for each in deployments:
        assert "/" not in each["entrypoint"]
        assert ":" not in each["entrypoint"]
