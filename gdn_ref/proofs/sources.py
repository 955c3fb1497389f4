"""Fingerprints of the code that the checks run, so that stale results can be told from fresh."""

import hashlib
from pathlib import Path


def digests(package=Path(__file__).parents[1]):
    """SHA-256 of each module of `package` and of its proofs, by path relative to the package."""
    package = Path(package)
    kinds = (
        "*.py",
        "proofs/*.py",
        "proofs/printed/*.py",
        "proofs/printed/*.lark",
        "proofs/printed/*.txt",
    )
    modules = sorted(path for kind in kinds for path in package.glob(kind))
    return {
        module.relative_to(package).as_posix(): hashlib.sha256(module.read_bytes()).hexdigest()
        for module in modules
    }
