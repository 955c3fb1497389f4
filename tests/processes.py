"""Which tests run in one process when there are several: those that share what takes long to make.

pytest-xdist's `--dist loadgroup` would read this from marks, but with pytest 9.2 it drops them
without a word (pytest-xdist's issue 1386). Here it is read from the tests' names.
"""

import re

TOGETHER = (  # a module or a class; a page's tests share the visits to it
    "tests/book/test_pdf.py",
    "tests/book/test_trust.py::TestFilter",
    "tests/book/test_zip.py",
    "tests/test_examples.py",
    "tests/test_formal.py",
    "tests/test_package.py",
)
LONGEST = ("tests/test_proofs.py", "tests/book/test_lite.py")  # begun last, they would end alone
OF_A_PAGE = re.compile(
    r"tests/book/test_every_page\.py::.*?\[(?:(?:desk|phone|files)-)?(.*\.html)\]"
)


def share(test):
    """The name of what a test shares with others, or its own."""
    page = OF_A_PAGE.fullmatch(test)
    return page[1] if page else next((name for name in TOGETHER if test.startswith(name)), test)


def scheduler(config, log):
    """Whatever shares goes to one process, the largest share first."""
    from xdist.scheduler import LoadScopeScheduling

    class ByShare(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return share(nodeid)

    return ByShare(config, log)
