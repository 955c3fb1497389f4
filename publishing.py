"""What a package index shows of gdn-ref: the README and the links, with addresses that hold there.

The README links to files by their paths and shows a figure of the book. Outside the repository a
path leads nowhere, so that setup.py puts the repository's address before it. The address stands in
one place, `repository` in `_config.yml`. While there is none, a link is left as its words and an
image is left out.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parent
FENCE = re.compile(r"(^```.*?^```\n)", re.M | re.S)
LINK = re.compile(r"(?P<image>!?)\[(?P<words>[^\[\]]*)\]\((?P<target>[^()\s]+)\)")
ELSEWHERE = re.compile(r"[a-z]+:|#")  # a whole address, or a place on the page itself
REPOSITORY = re.compile(r"^repository:\n((?: .*\n|\n)+)", re.M)


def repository(config=ROOT / "_config.yml"):
    """`(url, branch)` of the repository; the url is empty while there is none.

    Raises
    ------
    ValueError
        if `config` does not state both
    """
    block = REPOSITORY.search(Path(config).read_text(encoding="utf-8"))
    stated = re.findall(r"^ +(url|branch): *[\"']?([^\"'\s#]*)", block[1] if block else "", re.M)
    found = dict(stated)
    if found.keys() != {"url", "branch"}:
        got = ", ".join(sorted(found)) or "neither"
        raise ValueError(f"config: expected `url` and `branch` under `repository`, got {got}")
    return found["url"].rstrip("/"), found["branch"]


def description(markdown, url, branch):
    """`markdown` without a relative link: files and figures by their addresses under `url`.

    Parameters
    ----------
    markdown : str
        A file at the root of the repository. What stands in its code blocks is no link.
    url, branch : str
        As `repository` returns them. Without a url, links become words and images are dropped.
    """

    def absolute(match):
        image, words, target = match["image"], match["words"], match["target"]
        if ELSEWHERE.match(target):
            return match[0]
        if not url:
            return "" if image else words
        return f"{image}[{words}]({url}/{'raw' if image else 'blob'}/{branch}/{target})"

    parts = FENCE.split(markdown)  # code blocks at the odd places
    return "".join(part if n % 2 else LINK.sub(absolute, part) for n, part in enumerate(parts))


def links(url, branch):
    """The named links beside the description; none while there is no address."""
    if not url:
        return {}
    return {
        "Source": url,
        "Issues": f"{url}/issues",
        "Changelog": f"{url}/blob/{branch}/CHANGELOG.md",
    }


def metadata():
    """The arguments of `setuptools.setup` that depend on the repository's address."""
    where = repository()
    return {
        "long_description": description((ROOT / "README.md").read_text(encoding="utf-8"), *where),
        "long_description_content_type": "text/markdown",
        "project_urls": links(*where),
    }
