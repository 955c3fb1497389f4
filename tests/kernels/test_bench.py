"""What the benchmarks print of what they have measured."""

import importlib
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "kernels" / "bench"


def test_a_row_of_both_passes(monkeypatch, capsys):
    pytest.importorskip("triton")
    monkeypatch.syspath_prepend(BENCH)
    monkeypatch.setenv("TRITON_CACHE_DIR", "unused")  # `compare` would take an empty one
    run = {"device_us": 772.4, "eager_us": 1029.0, "memory_bytes": 456_138_752, "repeats": True}
    found = {"gdn_ref": run, "fla": {"device_us": 1951.2, "memory_bytes": 994e6, "repeats": False}}
    errors = {"gdn_ref": {"dq": 3.6e-3, "dg": 3.1e-3}, "fla": {"dq": 3.9e-3}}
    row = {"shape": "B16 T2048 H8 D128", "runs": found, "errors": errors}
    importlib.import_module("compare_backward").show(row)
    assert capsys.readouterr().out.splitlines() == [
        "B16 T2048 H8 D128",
        "  gdn_ref    device 772 us eager 1029 us, 456 MB, same bits, dq 3.6e-03 dg 3.1e-03",
        "  fla        device 1951 us, 994 MB, other bits, dq 3.9e-03",
    ]
