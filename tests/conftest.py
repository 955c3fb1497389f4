"""How the kernels run in this session, what they are compared with, tiers, and which skips fail.

`pytest -m gpu` compiles the kernels and runs them on the CUDA device. Any other run interprets
them on the CPU and skips the tests marked `gpu`. Triton reads TRITON_INTERPRET when a kernel is
decorated, so it is set here, before any test module is imported.

flash-linear-attention lies in .venv/peers, where `make test` puts it, at the end of the path: an
installed one goes before it. transformers finds it and calls it, for CPU tensors too, where it
fails: tests that compute with transformers take its plain functions.

GDN_REQUIRE=browser,interpreter,formal,peers turns a skipped test with one of these markers into a
failure, and fails the session if no test with the marker ran.
"""

import os
import sys
from pathlib import Path

import pytest
import tiers
from processes import LONGEST, scheduler

ROOT = Path(__file__).parents[1]
PEERS = ROOT / ".venv" / "peers"
if PEERS.is_dir():
    sys.path.append(str(PEERS))
REQUIRED = [name for name in os.environ.get("GDN_REQUIRE", "").split(",") if name]
RAN = set()  # the markers of the tests that ran, gathered from every worker


def on_device(config):
    return config.getoption("markexpr") == "gpu"


def pytest_configure(config):
    if not on_device(config):
        os.environ["TRITON_INTERPRET"] = "1"
    # the arrays are small and the workers share the cores: more threads only wait for each other
    os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return scheduler(config, log)


def pytest_ignore_collect(collection_path, config):
    """Modules of which a tier has nothing are not imported."""
    if collection_path.suffix != ".py":
        return None
    path = collection_path.relative_to(ROOT).as_posix()
    return True if tiers.unwanted(config.getoption("markexpr"), path) else None


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at the marks
def pytest_collection_modifyitems(config, items):
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))
    for item in items:
        item.add_marker(tiers.tier(item.nodeid))
        if item.get_closest_marker("gpu") and not (on_device(config) and cuda()):
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device and `make test-gpu`"))


def cuda():
    import torch

    return torch.cuda.is_available()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    required = [name for name in REQUIRED if item.get_closest_marker(name)]
    if required and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"GDN_REQUIRE has {required[0]}, but: {report.longrepr[2]}"
    return report


def pytest_runtest_logreport(report):
    if report.when == "call" and not report.skipped:
        RAN.update(report.keywords)


def pytest_sessionfinish(session):
    is_worker = hasattr(session.config, "workerinput")
    if missing() and not is_worker and not session.config.option.collectonly:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    for name in missing():
        terminalreporter.write_line(f"GDN_REQUIRE: no test marked {name} ran", red=True)


def missing():
    return [name for name in REQUIRED if name not in RAN]
