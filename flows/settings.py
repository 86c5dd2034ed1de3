"""What a run is made with: ``trigate.toml``, the environment and flags, as one frozen value.

The only module that reads configuration files and environment variables; everything else receives values. Secrets are
not part of it: a profile names the environment variable that holds its key, and the key is read when the client opens.
"""

from __future__ import annotations

import hashlib
import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evolution.llm.budget import Budget
from evolution.llm.profile import LlmProfile
from flows.dask_section import DaskSection
from flows.feeds import FeedSection
from flows.hooks import PlanHooks
from flows.problems import EnvironmentProblem, UsageProblem
from flows.wording import sentence
from runtime.cage.outcome import CageLimits
from runtime.kernel.report import Costs, RunConfig
from runtime.paper.limits import RiskLimits
from runtime.paper.permissions import Permissions

CONFIG_NAME = "trigate.toml"


# What a search does unless it is told otherwise, whoever starts it.
ARCHIVE_RATE = 0.2
TUNE_RATE = 0.3
BOX_WIDTH = 0.5


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SearchSection(_Section):
    """``[search]``: how much is tried."""

    generations: Annotated[int, Field(ge=1, le=1_000)] = 6
    """Generations after which a run ends."""
    population: Annotated[int, Field(ge=4, le=1_000)] = 24
    """Candidates in each generation."""
    crossover_rate: Annotated[float, Field(ge=0, le=1)] = 0.3
    """Share of children that have two parents."""
    llm_share: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Share of children that a model writes when a profile is chosen; the rest comes from the offline operators."""
    islands: Annotated[int, Field(ge=1, le=64)] = 1
    """Parts of the population that are selected apart, with 4 places each at least."""
    archive_rate: Annotated[float, Field(ge=0, le=1)] = ARCHIVE_RATE
    """Share of places that take a parent from the archive of ways of trading."""
    tune_rate: Annotated[float, Field(ge=0, le=1)] = TUNE_RATE
    """Share of mutations that move several numbers at once, to where relatives did well or nobody has been."""
    box_width: Annotated[float, Field(ge=0, le=4)] = BOX_WIDTH
    """Members of the front that differ by less are one: in standard errors of the objectives over the folds, as measured on the
    starting generation; 0 keeps all of them."""
    patience: Annotated[int, Field(ge=1, le=1_000)] | None = None
    """Generations without a better front on train after which a run ends."""
    candidates: Annotated[int, Field(ge=4)] | None = None
    """Most candidates of a run."""
    cpu_s: Annotated[float, Field(gt=0)] | None = None
    """Most processor time of a run's candidates, in seconds."""
    warm_start: bool = False
    """Start also from the front of earlier nights on the same data."""
    documents: bool = False
    """Start also from documents of the closed language, and breed them beside Python."""
    admissions: Annotated[int, Field(ge=0, le=20)] = 10
    """Most candidates a night that may read validation data."""


class RunSection(_Section):
    """``[run]``: cash and costs, the same for every candidate and for buy and hold."""

    cash: Annotated[float, Field(ge=1, le=1e12)] = 100_000.0
    fee_bps: Annotated[float, Field(ge=0, le=1_000)] = 10.0
    slippage_bps: Annotated[float, Field(ge=0, le=1_000)] = 0.0


class CageSection(_Section):
    """``[limits]``: what one candidate may use."""

    cpu_s: Annotated[float, Field(gt=0, le=600)] = 10.0
    wall_s: Annotated[float, Field(gt=0, le=3_600)] = 60.0
    memory_mib: Annotated[int, Field(ge=32, le=16_384)] = 256


class ModelSection(_Section):
    """``[models]``: how models take part in a search, whichever they are."""

    on_failure: Literal["stop", "offline"] = "stop"
    """When no model can fill a place: ``stop`` keeps the run for ``--resume``; ``offline`` lets the offline operators
    fill it, and the child says so."""
    patience_s: Annotated[float, Field(ge=0, le=86_400)] = 900.0
    """How long a run waits for an endpoint that is out before ``on_failure`` decides."""
    scratch_share: Annotated[float, Field(ge=0, le=1)] = 0.15
    """Share of a model's mutations that it writes without a parent: the search's only way to what no starter has."""


class PaperSection(_Section):
    """``[paper]``: paper trading. Guards are on unless a person starts a run without them, by name."""

    runs_per_account: Annotated[int, Field(ge=1, le=1_000)] = 10
    """Runs of one person at a time."""
    max_notional: Annotated[float, Field(gt=0, le=1e12)] = 1_000_000.0
    """Signed into each deployment: most that one order may be worth, whatever the guards say."""
    deployment_days: Annotated[int, Field(ge=1, le=3_650)] = 90
    """How long a signed deployment is good for."""
    faults_in_a_row: Annotated[int, Field(ge=1, le=10_000)] = 20
    """So many faults that may pass (feed, database, a process that was killed), one after the other, end a run: pauses of 1 s, doubled up
    to 60 s, make that a quarter of an hour."""
    most_gap: Annotated[float, Field(gt=1, le=1_000)] | None = 2.0
    """Live bars: an open that is more than so many times the close before it, or less than that part of it, stops the run."""
    guards: RiskLimits = RiskLimits()
    """``[paper.guards]``."""
    plans: Permissions = Permissions()
    """``[paper.plans]``: what people and models may plan by hand."""
    hooks: PlanHooks = PlanHooks()
    """``[paper.hooks]``: commands around the steps of a plan, its execution in an unattended run included."""


class Settings(_Section):
    """Everything from ``trigate.toml``; unknown keys are refused."""

    data: str = "us-large-caps"
    """Name of a data set, or path of a CSV file."""
    cage: Literal["full", "reduced"] = "full"
    """``full`` needs Landlock and seccomp; ``reduced`` does without and is for machines that lack them."""
    workers: Annotated[int, Field(ge=1, le=256)] | None = None
    """Candidates that run at the same time; None means one per core."""
    single_operator: bool = False
    """One person may approve what they proposed themselves; each such approval is stamped ``self-approved``. There is no flag for it:
    a person writes it down here. What a machine proposes is always another party's, with or without it."""
    search: SearchSection = SearchSection()
    run: RunSection = RunSection()
    limits: CageSection = CageSection()
    models: ModelSection = ModelSection()
    budget: Budget = Budget()
    """Ceilings in tokens and money: ``[budget.call]``, ``candidate``, ``generation``, ``run`` and ``day``."""
    paper: PaperSection = PaperSection()
    feeds: dict[str, FeedSection] = Field(default_factory=dict)
    """Where bars can be fetched from, by name: ``[feeds.NAME]``."""
    dask: DaskSection | None = None
    """A cluster that tries candidates, ``[dask]``; None tries them in threads of this process."""
    llm: dict[str, LlmProfile] = Field(default_factory=dict)
    """Endpoints by profile name: ``[llm.NAME]``."""

    def run_config(self) -> RunConfig:
        """Cash and costs as the kernel wants them."""
        return RunConfig(cash=self.run.cash, costs=Costs(fee_bps=self.run.fee_bps, slippage_bps=self.run.slippage_bps))

    def cage_limits(self) -> CageLimits:
        """Limits of one candidate."""
        return CageLimits(cpu_s=self.limits.cpu_s, wall_s=self.limits.wall_s, memory_mib=self.limits.memory_mib)

    def worker_count(self) -> int:
        """Candidates that run at the same time."""
        return self.workers or len(os.sched_getaffinity(0))

    def profile(self, name: str) -> LlmProfile:
        """The endpoint called ``name``.

        Raises:
            UsageProblem: no such profile; the sentence lists those that exist.
        """
        if name not in self.llm:
            known = ", ".join(sorted(self.llm)) or "none"
            raise UsageProblem(
                f"LLM profile {name!r} is not in {CONFIG_NAME} (it has: {known}): add a section [llm.{name}]"
            )
        return self.llm[name]

    def profiles(self, names: str) -> tuple[LlmProfile, ...]:
        """The endpoints called ``names``, separated by commas; several share the work.

        Raises:
            UsageProblem: one of them does not exist, or is named twice.
        """
        wanted = [name.strip() for name in names.split(",")]
        if len(set(wanted)) < len(wanted):
            raise UsageProblem(f"--llm {names}: a profile is named twice; name each once")
        return tuple(self.profile(name) for name in wanted)

    def sha256(self) -> str:
        """Identity of the settings; stored with each run."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


def home_folder() -> Path:
    """``TRIGATE_HOME``, or ``~/.trigate``; made (mode 0700) when it is not there.

    Raises:
        EnvironmentProblem: it cannot be made or written.
    """
    named = os.environ.get("TRIGATE_HOME")
    try:
        home = Path(named).expanduser().absolute() if named else Path.home() / ".trigate"
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:
        where = named or "~/.trigate"
        raise EnvironmentProblem(
            f"home folder {where}: {_words(error)}; set TRIGATE_HOME to a folder that you can write"
        ) from error
    require_writable(home, "TRIGATE_HOME")
    return home


def require_writable(folder: Path, variable: str) -> None:
    """Check by trying: permission bits say nothing on read-only mounts or for root.

    Raises:
        EnvironmentProblem: nothing can be written there.
    """
    probe = folder / f".write-test-{os.getpid()}"
    try:
        probe.touch(mode=0o600)
        probe.unlink()
    except OSError as error:
        raise EnvironmentProblem(
            f"folder {folder}: {_words(error)}; set {variable} to a folder that you can write"
        ) from error


def database_url() -> str | None:
    """``TRIGATE_DATABASE_URL``; None means SQLite in the home folder."""
    return os.environ.get("TRIGATE_DATABASE_URL") or None


def load_settings(path: Path | None, home: Path, **changes: Any) -> Settings:
    """Read ``path``, else ``./trigate.toml``, else the one in the home folder, else defaults; then apply flags.

    Args:
        path: A configuration file that must exist; None looks in the usual places.
        home: The home folder.
        **changes: Flags as ``section__key`` or ``key``; None means that the flag was not given.

    Raises:
        UsageProblem: the file cannot be read, or a key or value is not allowed; names the first one.
    """
    file = path or next((place for place in (Path(CONFIG_NAME), home / CONFIG_NAME) if place.is_file()), None)
    content = _read_toml(file) if file else {}
    for name, value in changes.items():
        if value is not None:
            _set(content, name.split("__"), value)
    profiles = content.get("llm")
    for name, profile in profiles.items() if isinstance(profiles, dict) else ():
        if isinstance(profile, dict):
            profile.setdefault("name", name)
    try:
        return Settings.model_validate(content)
    except ValidationError as error:
        where = file or "command line"
        raise UsageProblem(f"{where}: {sentence(error.errors()[0], content, Settings)}") from None


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageProblem(f"configuration {file}: {_words(error)}") from error


def _set(content: dict[str, Any], keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        content = content.setdefault(key, {})
    content[keys[-1]] = value


def _words(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text[:1].lower() + text[1:]
