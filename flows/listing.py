"""A group of commands whose help lists each with its whole first sentence."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

# Letters; the library cuts a sentence to one line and ends it with three dots, which hides what a command does.
_WHOLE = 1_000


class Listing(TyperGroup):
    """Lists commands in the order in which they were added; a sentence that needs a second line gets one."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands."""
        known = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, command.get_short_help_str(_WHOLE)) for name, command in known if command and not command.hidden]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
