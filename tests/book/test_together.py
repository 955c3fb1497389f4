"""What all pages load is put together: addresses, order, media, and what stays apart."""

import sys
from types import SimpleNamespace

import pytest
from tiny_book import EXTENSION

sys.path.insert(0, str(EXTENSION))
from gdn_book import together  # noqa: E402

sys.path.remove(str(EXTENSION))

HEAD = """<link rel="stylesheet" href="{up}_static/styles/theme.css?digest=1" />
<link media="print" rel="stylesheet" href="{up}_static/print.css" />
<script src="{up}_static/first.js?v=1"></script><script>let x = 1;</script>
<script defer="defer" src="{up}_static/second.js"></script>"""
FILES = {
    "_static/styles/theme.css": '@import "../basic.css";a{background:url(../own.png)}',
    "_static/basic.css": "b{background:url(file.png)}",
    "_static/print.css": "p{color:red}",
    "_static/first.js": '"use strict";\nconst one = 1;',
    "_static/second.js": """/* It has
 * two lines. */
/*! Its licence. */
  // aside
  two = 2;
  /* counts */ three = 3; /* ends */
//# sourceMappingURL=second.js.map""",
    "_static/second.js.map": "{}",
    "_static/alone.js": "",
    "index.html": HEAD.format(up=""),
    "chapters/1.html": HEAD.format(up="../") + '<script src="../_static/alone.js"></script>',
    "redirect.html": "nothing",
}


@pytest.fixture
def site(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    app = SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=tmp_path)
    together.put_together(app, None)
    together.put_together(app, None)  # a second build that writes no page changes nothing
    return tmp_path


def test_a_page_has_one_sheet_and_one_script_and_its_own(site):
    page = (site / "chapters/1.html").read_text()
    assert page.count("stylesheet") == 1 and 'href="../_static/book.css?v=' in page
    assert page.count(" src=") == 2 and '<script defer src="../_static/book.js?v=' in page
    assert '<script defer src="../_static/alone.js">' in page and "let x = 1;" in page
    assert page.index("book.js") < page.index("alone.js")
    assert (site / "redirect.html").read_text() == "nothing"


def test_sheets_keep_order_media_and_addresses(site):
    assert " ".join((site / "_static/book.css").read_text().split()) == (
        'b{background:url("file.png")} a{background:url("own.png")} @media print { p{color:red} }'
    )


def test_a_strict_script_does_not_rule_the_others_and_licences_stay(site):
    assert (site / "_static/book.js").read_text() == (
        ';\n"use strict";\nconst one = 1;;\n/*! Its licence. */\ntwo = 2;\n'
        "/* counts */ three = 3; /* ends */"
    )


def test_what_was_put_together_is_gone(site):
    left = {path.name for path in (site / "_static").rglob("*") if path.is_file()}
    assert left == {"book.css", "book.js", "alone.js", "basic.css"}  # the last was imported
