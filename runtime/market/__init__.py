"""Market data: bars from files and built-in sets, judged, split in time, and kept with the last part locked away.

``read_csv`` gives the checked ``Bars`` of a free-standing file. ``open_dataset`` gives a ``DataSet``: the part of a
registered set that a search may see, with its split and its cells; the first opening registers it in the home folder.
``open_vault`` reads the rest; only a promotion calls it. ``list_datasets`` shows what there is. Whatever is wrong with
data is a ``DataError`` with one sentence for the person; ``check_quality`` and ``check_csv`` list every issue.
"""

from runtime.market.bars import PRICE_COLUMNS, Bars
from runtime.market.builtin import builtin_names
from runtime.market.csvfile import check_csv, read_csv
from runtime.market.dataset import DataSet, DataSetSummary, Label
from runtime.market.errors import DataError
from runtime.market.quality import QualityIssue, QualityReport, check_quality
from runtime.market.registry import list_datasets, open_dataset, overlapping_vaults
from runtime.market.split import EMBARGO_BARS, MIN_BARS, WARMUP_BARS, Cell, Split
from runtime.market.vault import Vault, open_vault

__all__ = [
    "EMBARGO_BARS",
    "MIN_BARS",
    "PRICE_COLUMNS",
    "WARMUP_BARS",
    "Bars",
    "Cell",
    "DataError",
    "DataSet",
    "DataSetSummary",
    "Label",
    "QualityIssue",
    "QualityReport",
    "Split",
    "Vault",
    "builtin_names",
    "check_csv",
    "check_quality",
    "list_datasets",
    "open_dataset",
    "open_vault",
    "overlapping_vaults",
    "read_csv",
]
