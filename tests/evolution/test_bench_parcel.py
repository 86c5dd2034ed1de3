"""What helpers get: exact, the same bytes for the same bars, and never code."""

from __future__ import annotations

import io
import pickle
import zipfile

import numpy as np
import pytest

from evolution.bench import CellBench
from evolution.bench_parcel import LARGEST_PARCEL, NoParcelError, pack, unpack
from runtime.kernel import RunConfig
from runtime.kernel.report import AccountKind, Costs
from runtime.market import open_dataset

CONFIG = RunConfig(cash=12_345.6, costs=Costs(fee_bps=3.3, slippage_bps=0.1), account=AccountKind.MARGIN)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return open_dataset("planted-edge", tmp_path_factory.mktemp("home"))


def test_the_way_there_and_back_is_exact(dataset):
    bars, cells = dataset.train_bars(), dataset.train_cells()
    parcel = pack(bars, cells, CONFIG)
    assert parcel == pack(bars, cells, CONFIG)
    unpacked = unpack(parcel)
    assert {name: each.sha256 for name, each in unpacked.bars.items()} == {
        name: each.sha256 for name, each in bars.items()
    }
    assert [each.instrument for each in unpacked.bars.values()] == [each.instrument for each in bars.values()]
    here = CellBench.build(bars, cells, CONFIG)
    assert unpacked.bench.jobs == here.jobs
    assert unpacked.bench.config == CONFIG
    assert [each.buy_and_hold for each in unpacked.bench.cells] == [each.buy_and_hold for each in here.cells]


def test_nothing_later_than_train_is_in_it(dataset):
    """A helper's machine has no validation and no vault to lose."""
    unpacked = unpack(pack(dataset.train_bars(), dataset.train_cells(), CONFIG))
    for symbol, bars in unpacked.bars.items():
        last = max(cell.stop for cell in dataset.train_cells() if cell.symbol == symbol)
        assert len(bars) == last
        assert bars.ts[-1] < min(dataset.bars[symbol].ts[cell.start] for cell in dataset.validation_cells())


def test_a_parcel_with_an_object_inside_is_refused():
    buffer = io.BytesIO()
    np.savez(buffer, head=np.array([{"a": 1}], dtype=object))
    for parcel in (buffer.getvalue(), pickle.dumps({"a": 1}), b""):
        with pytest.raises(NoParcelError, match="it is no parcel"):
            unpack(parcel)


def test_a_parcel_that_would_fill_the_memory_is_refused_unopened():
    """Zeros pack a thousandfold; the archive says what they come to."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("head.npy", b"{}")
        archive.writestr("A/ts.npy", b"")
    packed = bytearray(buffer.getvalue())
    at = packed.rindex(b"PK\x01\x02") + 24
    packed[at : at + 4] = (LARGEST_PARCEL + 1).to_bytes(4, "little")
    with pytest.raises(NoParcelError, match="are the most"):
        unpack(bytes(packed))
