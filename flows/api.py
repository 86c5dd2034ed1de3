"""Prefect's API without Prefect: a few calls by commands that must stay quick, and work as well when no server answers."""

from __future__ import annotations

import base64
import json
import os
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flows import standing

if TYPE_CHECKING:
    from pathlib import Path

_TIMEOUT_S = 30.0
# What Prefect's server says while somebody else writes to its database.
_BUSY, _ATTEMPTS, _PAUSE_S = 503, 5, 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the server said."""

    status: int
    body: Any

    @property
    def is_good(self) -> bool:
        """Whether it did what was asked."""
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Api:
    """A server's API, with the password where there is one."""

    url: str
    auth: str | None

    def call(self, path: str, body: Any = None, *, method: str | None = None) -> Answer | None:
        """One call; None when nobody answers.

        Args:
            path: Below ``/api``.
            body: A JSON document; None sends none.
            method: As in HTTP; POST with a body and GET without one when None.
        """
        for _ in range(_ATTEMPTS - 1):
            answer = self._once(path, body, method)
            if answer is None or answer.status != _BUSY:
                return answer
            time.sleep(_PAUSE_S)
        return self._once(path, body, method)

    def _once(self, path: str, body: Any, method: str | None) -> Answer | None:
        headers = {"Content-Type": "application/json"}
        if self.auth:
            headers["Authorization"] = "Basic " + base64.b64encode(self.auth.encode()).decode()
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/{path}", data, headers, method=method)  # noqa: S310 - the operator's own address
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310 - see above
                return Answer(status=answer.status, body=_document(answer.read()))
        except urllib.error.HTTPError as error:
            return Answer(status=error.code, body=_document(error.read()))
        except (OSError, ValueError):
            return None


def find_api(home: Path) -> Api | None:
    """The server that the environment names, else the one that ``trigate up`` keeps; None when there is neither."""
    named = os.environ.get("PREFECT_API_URL")
    if named:
        return Api(url=named.rstrip("/"), auth=os.environ.get("PREFECT_API_AUTH_STRING"))
    found = standing.find(home)
    if found is None or found.phase is not standing.Phase.READY:
        return None
    return Api(url=found.api_url, auth=standing.auth_string(home))


def _document(data: bytes) -> Any:
    try:
        return json.loads(data) if data else None
    except ValueError:
        return None
