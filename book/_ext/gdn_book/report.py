"""Links to report a slip, on every page, once `_config.yml` has the address of the repository."""

from html import escape
from urllib.parse import urlencode


def connect(app):
    app.connect("html-page-context", add_to_page)


def repository(app):
    """The address under `repository: url:` in `_config.yml`; empty while there is none."""
    return app.config.html_theme_options.get("repository_url", "").rstrip("/")


def link(app, title, words):
    """A link to a new issue of that title, as HTML; empty while there is no repository."""
    address = repository(app)
    if not address:
        return ""
    query = escape(urlencode({"title": title}))
    return f'<a class="gdn-report" href="{escape(address)}/issues/new?{query}">{escape(words)}</a>'


def add_to_page(app, pagename, templatename, context, doctree):
    """The last line of each page that was written for the book."""
    if doctree is not None and app.builder.format == "html":
        report = link(app, f"Slip in {pagename}", "Report a slip on this page")
        context["body"] += f'<p class="gdn-report-line">{report}</p>' if report else ""
