"""Breeding with a language model: ask, read, let the gates judge, send findings back, keep every word.

A **profile** (``LlmProfile``) is one model at one endpoint, without its key. ``open_client`` reads the key from the
environment and gives a **client** (``LlmClient``): one request, one **outcome** (``Outcome``, a closed union in
``evolution.llm.outcomes``), one retry layer. Every attempt goes through a **book** (``CallBook``); a run's is the
``CallLedger`` of ``evolution.llm.ledger``, which stores, pays and holds under a ``Budget``, and answers a replay.
``evolution.llm.parse`` has exactly one reading of an answer, or a code. ``evolution.llm.breeder`` holds ``LlmBreeder``, which does the round from a proposal to a
candidate; ``evolution.llm.contract`` holds ``standard_prompts``, the texts it works with. These two are not imported here
because they bring the search and the indicator library with them, and a settings file only needs the profile.

A model's answer reaches the gates and nothing else. There are no tools for it to call, no secret in its prompt, and no
figure of validation or vault.
"""

from evolution.llm.book import CallBook, CallRecord
from evolution.llm.budget import Budget, BudgetError, Ceiling, Scope
from evolution.llm.client import (
    EndpointClient,
    KeyMissingError,
    LlmClient,
    LlmRequest,
    Message,
    Role,
    open_client,
    open_replay,
)
from evolution.llm.outcomes import Outcome
from evolution.llm.profile import LlmProfile, Price, Timeouts
from evolution.llm.usage import Usage

__all__ = [
    "Budget",
    "BudgetError",
    "CallBook",
    "CallRecord",
    "Ceiling",
    "EndpointClient",
    "KeyMissingError",
    "LlmClient",
    "LlmProfile",
    "LlmRequest",
    "Message",
    "Outcome",
    "Price",
    "Role",
    "Scope",
    "Timeouts",
    "Usage",
    "open_client",
    "open_replay",
]
