"""The buttons that run a page: in the browser where it can, on Binder and Colab where it may.

A notebook runs in the browser if it imports no torch; `book/lite/build.py` puts just those there.
Binder and Colab need the repository's address (`repository: url` in _config.yml): without one
there are no such buttons.
"""

import subprocess
import sys
from pathlib import Path

IN_BROWSER = "lite/notebooks/index.html"


def connect(app):
    app.add_config_value("gdn_lite", False, "html", types=[bool])
    app.connect("html-page-context", add_buttons, priority=600)  # after the theme's own


def torchless(paths, root):
    """Those of the notebooks `paths` that run where there is no torch; imports are tried."""
    script = Path(__file__).with_name("torchless.py")
    command = [sys.executable, str(script), *map(str, paths)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return [Path(line) for line in done.stdout.splitlines()]


def add_buttons(app, pagename, templatename, context, doctree):
    """Put the buttons of a notebook's page in its header."""
    if "header_buttons" not in context or not app.env.doc2path(pagename).endswith(".ipynb"):
        return
    links = [*_in_browser(app, pagename, context), *_elsewhere(app, pagename)]
    if links:
        context["header_buttons"].append(
            {
                "type": "group",
                "tooltip": "Run this page",
                "icon": "fas fa-rocket",
                "label": "launch-buttons",
                "buttons": [{"type": "link", **link} for link in links],
            }
        )


def _in_browser(app, pagename, context):
    if app.config.gdn_lite and pagename in _pages_in_browser(app):
        page = context["pathto"](IN_BROWSER, resource=True)
        yield {
            "text": "In the browser",
            "tooltip": "Run in the browser, without installing anything",
            "icon": "_static/images/logo_jupyterlite.svg",
            "url": f"{page}?path={pagename}.ipynb",
        }


def _pages_in_browser(app):
    """The notebooks of this book that run in the browser, found out once."""
    if getattr(app, "gdn_pages_in_browser", None) is None:
        paths = {app.env.doc2path(page): page for page in app.env.found_docs}
        notebooks = [path for path in paths if path.endswith(".ipynb")]
        found = torchless(notebooks, app.srcdir)
        app.gdn_pages_in_browser = {paths[str(path)] for path in found}
    return app.gdn_pages_in_browser


def _elsewhere(app, pagename):
    options = app.config.html_theme_options
    address = options.get("repository_url", "").rstrip("/")
    if not address:
        return
    owner_and_name = "/".join(address.split("/")[-2:])
    branch = options.get("repository_branch") or "main"
    yield {
        "text": "Binder",
        "tooltip": "Run on Binder",
        "icon": "_static/images/logo_binder.svg",
        "url": f"https://mybinder.org/v2/gh/{owner_and_name}/{branch}"
        f"?urlpath=lab/tree/{pagename}.ipynb",
    }
    yield {
        "text": "Colab",
        "tooltip": "Run on Colab",
        "icon": "_static/images/logo_colab.png",
        "url": f"https://colab.research.google.com/github/{owner_and_name}/blob/{branch}/{pagename}.ipynb",
    }
