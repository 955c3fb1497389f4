"""Where the records and the kernels' files are: at the top of a checkout, inside of an install."""

from pathlib import Path

PACKAGE = Path(__file__).parents[1]
CHECKOUT = (PACKAGE / "kernels" / "__init__.py").is_file()  # which a wheel leaves out

DATA = PACKAGE.parent / "book" / "_data" if CHECKOUT else PACKAGE / "records"
RECORDS = DATA / "bench"
KERNELS = PACKAGE.parent / "kernels" if CHECKOUT else PACKAGE / "kernels"
LOG = KERNELS / "bench" / "NOTES.md"
