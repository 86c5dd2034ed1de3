"""What the form of a deployment asks for: names and sizes.

Endpoints, keys, paths, the cage's mode and the database come from the ``trigate.toml`` and the environment of the machine that runs the
flow, and there is no field for them here: whatever else somebody sends through the API is refused.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

RUN_ID = "r-[0-9-]{1,40}"
"""Form of a run's id, as a pattern; no path."""
SetName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{0,99}$")]
"""Name of a data set; no path."""
PROFILES = r"^[\w.@+-]+( *, *[\w.@+-]+)*$"
"""Names of profiles, by comma; no path and no address."""
RunName = Annotated[str, Field(pattern=f"^{RUN_ID}$")]
"""Id of a run."""


class NightForm(BaseModel):
    """One night of evolution."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: SetName = Field(
        default="us-large-caps", title="Data set", description="Name of a registered or built-in data set; no path."
    )
    generations: Annotated[int, Field(ge=1, le=1_000)] = Field(
        default=6, title="Generations", description="After so many the run ends."
    )
    population: Annotated[int, Field(ge=4, le=1_000)] = Field(
        default=24, title="Population", description="Candidates in each generation."
    )
    seed: int | None = Field(
        default=None, title="Seed", description="Equal seeds give equal candidates, scores and pool; empty draws one."
    )
    profile: Annotated[str, Field(max_length=200, pattern=PROFILES)] | None = Field(
        default=None,
        title="Model profile",
        description="Name in the worker's trigate.toml, several by comma; empty keeps to the offline operators.",
    )
    deadline_minutes: Annotated[int, Field(ge=1, le=10_080)] | None = Field(
        default=None,
        title="Deadline in minutes",
        description="After that no further generation begins; what there is goes to admission. Empty: no deadline.",
    )
    until: AwareDatetime | None = Field(
        default=None,
        title="Done by",
        description="A moment with its time zone, by which admission is over, too; the earlier one where there is a deadline in minutes.",
    )
    resume: RunName | None = Field(
        default=None,
        title="Run to go on with",
        description="Its own data, sizes, seed and profile are used; empty starts a new run.",
    )


class RefreshForm(BaseModel):
    """Data sets to bring up to date."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: Annotated[tuple[SetName, ...], Field(max_length=100)] = Field(
        default=(), title="Data sets", description="Names of sets that came from a feed; none means all of them."
    )


class ReviewRequest(BaseModel):
    """What to review. Nothing here decides anything: who decides proves it with a one-time code, in the review itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    entry: Annotated[str, Field(pattern=r"^p-[0-9]{4,9}$")] = Field(
        title="Entry", description="Id of an entry of the pool, like p-0007."
    )


ONE_NIGHT = NightForm()
"""What a form begins with."""
EVERY_SET = RefreshForm()
"""All sets that came from a feed."""
