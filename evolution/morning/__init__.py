"""The morning report: one run as one HTML page that opens offline, for reading with the first coffee.

``choose_shown`` says whose equity is worth drawing; whoever has a cage at hand runs those and hands their ``Curve`` over
(``evolution.morning.curves``). ``read_stored`` and ``morning_of`` gather everything that is stored about a run into one frozen ``Morning``, and
``render_page`` makes the page: a pure function, with no script, nothing from outside, and every value escaped on its way in.
"""

from evolution.morning.curves import Curve, curve_of
from evolution.morning.gather import Stored, morning_of, read_stored
from evolution.morning.page import Morning
from evolution.morning.render import GENERATOR, LARGEST_PAGE, render_page
from evolution.morning.shown import choose_shown

__all__ = [
    "GENERATOR",
    "LARGEST_PAGE",
    "Curve",
    "Morning",
    "Stored",
    "choose_shown",
    "curve_of",
    "morning_of",
    "read_stored",
    "render_page",
]
