"""Market data: bars from files and built-in sets, judged, split in time, and kept with the last part locked away.

``read_file`` gives the checked ``Bars`` of a free-standing file, CSV or Parquet. ``open_dataset`` gives a ``DataSet``: the part of a
registered set that a search may see, with its split and its cells; the first opening registers it in the home folder.
``open_vault`` reads the rest; only a promotion calls it. ``list_datasets`` shows what there is. Whatever is wrong with
data is a ``DataError`` with one sentence for the person; ``check_quality`` and ``check_file`` list every issue.
``add_file`` registers a file with all its symbols, ``resample`` makes longer bars, ``CALENDARS`` are the known markets;
``runtime.market.feeds`` brings bars over HTTP.
"""

from runtime.market.bars import PRICE_COLUMNS, Bars
from runtime.market.builtin import builtin_names
from runtime.market.dataset import DataSet, DataSetSummary, Label
from runtime.market.errors import DataError
from runtime.market.files import SUFFIXES, check_file, read_file, write_file
from runtime.market.quality import Gap, QualityIssue, QualityReport, check_quality, gaps
from runtime.market.registration import Added
from runtime.market.registry import FileRequest, add_file, list_datasets, open_dataset, overlapping_vaults
from runtime.market.resample import Resampled, resample
from runtime.market.sessions import CALENDARS, Calendar, find_calendar
from runtime.market.split import EMBARGO_BARS, MIN_BARS, WARMUP_BARS, Cell, Split
from runtime.market.vault import Vault, open_vault

__all__ = [
    "CALENDARS",
    "EMBARGO_BARS",
    "MIN_BARS",
    "PRICE_COLUMNS",
    "SUFFIXES",
    "WARMUP_BARS",
    "Added",
    "Bars",
    "Calendar",
    "Cell",
    "DataError",
    "DataSet",
    "DataSetSummary",
    "FileRequest",
    "Gap",
    "Label",
    "QualityIssue",
    "QualityReport",
    "Resampled",
    "Split",
    "Vault",
    "add_file",
    "builtin_names",
    "check_file",
    "check_quality",
    "find_calendar",
    "gaps",
    "list_datasets",
    "open_dataset",
    "open_vault",
    "overlapping_vaults",
    "read_file",
    "resample",
    "write_file",
]
