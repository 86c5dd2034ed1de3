"""Make ``runtime/market/builtin/us-large-caps.csv.gz`` from the stock prices in the package bokeh-sampledata.

    python scripts/make_builtin.py

The source is read as a file and never imported. What is done to it, and why, is in
``runtime/market/builtin/PROVENANCE.md``; a test compares the shipped file with what this script makes.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import sys
from importlib.metadata import distribution
from pathlib import Path

SOURCE_SHA256 = "5abadf99b2d394f920120a27de6f0df129859d71d4cfb0bf661bcc99446ab1fd"
SYMBOLS = ("AAPL", "IBM", "MSFT")
TARGET = Path(__file__).resolve().parent.parent / "runtime" / "market" / "builtin" / "us-large-caps.csv.gz"

# The adjustment factor jumps by exactly 2 on the three split days in the span, and by at most 1.1125 (the special
# dividend of 2004) otherwise.
_SPLIT_JUMP = 1.25
_SPLIT_DENOMINATOR = 2  # splits are multiples of a half: 3 for 2, 2 for 1


def source_path() -> Path:
    """Where the installed bokeh-sampledata keeps the prices."""
    return Path(str(distribution("bokeh-sampledata").locate_file("bokeh_sampledata/_data/stocks.csv.gz")))


def build(source: bytes) -> str:
    """The text of the built-in file.

    Args:
        source: The gzip-compressed source file.

    Raises:
        ValueError: it is not the file that PROVENANCE.md describes.
    """
    digest = hashlib.sha256(source).hexdigest()
    if digest != SOURCE_SHA256:
        raise ValueError(f"source has sha256 {digest}, expected {SOURCE_SHA256}: another version of the data")
    rows = list(csv.DictReader(io.StringIO(gzip.decompress(source).decode("utf-8"), newline="")))
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("timestamp", "symbol", "open", "high", "low", "close", "volume"))
    for symbol in SYMBOLS:
        writer.writerows(_adjusted(symbol, [row for row in rows if row["Ticker"] == symbol]))
    return out.getvalue()


def _adjusted(symbol: str, rows: list[dict[str, str]]) -> list[tuple[str, ...]]:
    """Rows of one symbol, oldest first, prices times adjusted close over close, volume in shares after all splits."""
    factors = [float(row["Adj Close"]) / float(row["Close"]) for row in rows]
    shares = _shares(factors)
    return [
        (
            row["Date"],
            symbol,
            *(f"{float(row[name]) * factor:.6f}" for name in ("Open", "High", "Low", "Close")),
            f"{float(row['Volume']) * share:.0f}",
        )
        for row, factor, share in zip(rows, factors, shares, strict=True)
    ]


def _shares(factors: list[float]) -> list[float]:
    """For each row, how many shares of the last row one of its shares became by the splits in between."""
    shares = [1.0] * len(factors)
    for row in range(len(factors) - 2, -1, -1):
        jump = factors[row + 1] / factors[row]
        ratio = round(jump * _SPLIT_DENOMINATOR) / _SPLIT_DENOMINATOR if jump > _SPLIT_JUMP else 1.0
        shares[row] = shares[row + 1] * ratio
    return shares


def main() -> None:
    """Write the file; the gzip header holds no time and no name, so that equal data give equal bytes."""
    text = build(source_path().read_bytes())
    with TARGET.open("wb") as target, gzip.GzipFile("", "wb", 9, target, mtime=0) as stream:
        stream.write(text.encode("ascii"))
    sys.stdout.write(
        f"{TARGET}: {text.count(chr(10)) - 1} bars, text sha256 {hashlib.sha256(text.encode()).hexdigest()}\n"
    )


if __name__ == "__main__":
    main()
