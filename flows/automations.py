"""The automations of ``automations.json``: what Prefect does by itself when one of our events comes in.

Events are ``trigate.run.generation``, ``.budget`` and ``.finished`` of a night, ``trigate.pool.admitted`` and ``.refused`` of its
admission, and ``trigate.pool.promoted``, ``.failed-look``, ``.declined``, ``.retired``, ``.rescored`` and ``.failed-rescore`` of people.
In the file an action names its deployment (``review/review``); a server knows deployments by id only, so the name is looked up.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from flows.api import Api

FILE = "automations.json"


def add_automations(api: Api, checkout: Path) -> str | None:
    """Register the automations that the server does not have by name. One that is there stays as somebody left it.

    Args:
        api: The server; its deployments are registered.
        checkout: The folder with the file.

    Returns:
        Why one could not be registered, in one sentence; None when all are there.
    """
    try:
        wanted = json.loads((checkout / FILE).read_text(encoding="utf-8"))["automations"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError) as error:
        return f"{FILE}: cannot be read ({error})"
    for automation in wanted:
        problem = _add(api, automation)
        if problem is not None:
            return f"{FILE}, automation {automation['name']!r}: {problem}"
    return None


def _add(api: Api, automation: dict[str, Any]) -> str | None:
    found = api.call("automations/filter", {"automations": {"name": {"any_": [automation["name"]]}}})
    if found is not None and found.is_good and found.body:
        return None
    actions = []
    for action in automation["actions"]:
        name = action.get("deployment")
        if name is None:
            actions.append(action)
            continue
        deployment = api.call(f"deployments/name/{name}")
        if deployment is None or not deployment.is_good:
            return f"there is no deployment {name}"
        rest = {key: value for key, value in action.items() if key != "deployment"}
        actions.append(rest | {"deployment_id": deployment.body["id"]})
    answer = api.call("automations/", automation | {"actions": actions})
    if answer is None:
        return "the server does not answer"
    return None if answer.is_good else f"the server refuses it with status {answer.status}: {str(answer.body)[:300]}"
