"""What pyproject.toml cannot state: the description and the links, made from other files."""

import sys
from pathlib import Path

from setuptools import setup

sys.path.insert(0, str(Path(__file__).parent))  # a build's backend does not look here

from publishing import metadata  # noqa: E402

setup(**metadata())
