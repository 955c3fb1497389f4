"""Which folder becomes which package; `pyproject.toml` says all else.

The kernels and the records lie at the top of the repository and go into `gdn_ref` in a wheel, with
no symbolic link, which many a checkout and zip file lacks.
"""

from pathlib import Path

from setuptools import find_namespace_packages, setup

HERE = Path(__file__).parent
LEFT_OUT = ["*__pycache__*", "bench*", "gdn_ref.proofs.formal*"]
FOLDERS = {"gdn_ref.kernels": "kernels", "gdn_ref.records": "book/_data"}
NEEDED = {"kernels": "rule.py", "book/_data": "bench/*.json"}


def packages():
    """The names of all packages; stops with a sentence where a folder is not what it should be."""
    for folder, files in NEEDED.items():
        if not any((HERE / folder).glob(files)):
            raise SystemExit(
                f"gdn_ref: expected {files} in the folder {folder}, found none: an install would "
                "lack its kernels or its records; take the whole repository, or the sdist"
            )
    kernels = find_namespace_packages(str(HERE / "kernels"), exclude=LEFT_OUT)
    ours = find_namespace_packages(str(HERE), include=["gdn_ref*"], exclude=LEFT_OUT)
    return sorted({*ours, *FOLDERS, *(f"gdn_ref.kernels.{name}" for name in kernels)})


setup(packages=packages(), package_dir=FOLDERS)
