"""What stands around the book: what an index shows, how it is cited, what other machines run."""

import json
import os
import re
import subprocess
import sys
import tomllib
from email.parser import Parser
from itertools import chain
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml

import gdn_ref

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import publishing  # noqa: E402

README = (ROOT / "README.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LOCK = tomllib.loads((ROOT / "uv.lock").read_text("utf-8"))
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
WORKFLOWS = sorted(ROOT.glob(".github/workflows/*.yml"))
FORMS = sorted(ROOT.glob(".github/ISSUE_TEMPLATE/[!c]*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
URL = "https://example.org/owner/book"


def addresses(markdown):
    """Every link and image of a text, as a renderer finds them."""
    from markdown_it import MarkdownIt

    found = []
    for token in chain.from_iterable(t.children or [t] for t in MarkdownIt().parse(markdown)):
        found += [token.attrs[name] for name in ("href", "src") if name in token.attrs]
    return found


class TestTheDescription:
    def test_every_link_leads_to_a_file_of_the_repository(self):
        for before, after in zip(
            addresses(README),
            addresses(publishing.description(README, URL, "main")),
            strict=True,
        ):
            if before != after:
                kind = "raw" if before.endswith(".svg") else "blob"
                assert after == f"{URL}/{kind}/main/{before}" and (ROOT / before).exists()
            assert after.startswith("https://")

    def test_without_an_address_no_link_is_broken(self):
        text = publishing.description(README, "", "main")
        assert all(address.startswith("https://") for address in addresses(text))
        assert "CC BY 4.0" in text and "LICENSE-text" not in text and "![" not in text

    def test_what_stands_in_a_code_block_is_no_link(self):
        text = "[a](b)\n\n```\n[a](b)\n```\n"
        assert publishing.description(text, URL, "x").endswith(
            f"{URL}/blob/x/b)\n\n```\n[a](b)\n```\n"
        )

    def test_the_address_is_that_of_the_book(self, tmp_path):
        config = (ROOT / "_config.yml").read_text("utf-8")
        said = yaml.safe_load(config)["repository"]
        assert publishing.repository() == (said["url"].rstrip("/"), said["branch"])
        config = re.sub(r"\n  url: .*", f"\n  url: {URL}/  # here", config)
        (tmp_path / "_config.yml").write_text(config)
        assert publishing.repository(tmp_path / "_config.yml") == (URL, "main")

    @pytest.mark.parametrize(
        "text, got", [("repository:\n  url: x\n", "url"), ("url: x\nbranch: y\n", "neither")]
    )
    def test_a_config_without_it_is_named(self, text, got, tmp_path):
        (tmp_path / "c.yml").write_text(text)
        with pytest.raises(ValueError, match=f"config: expected `url` and `branch`.*got {got}"):
            publishing.repository(tmp_path / "c.yml")


@pytest.fixture(scope="module")
def about(tmp_path_factory):
    """The metadata of a wheel of this tree, for a repository at `URL`; and the wheel's files."""
    at = tmp_path_factory.mktemp("wheel")
    for name in (
        "pyproject.toml", "setup.py", "publishing.py", "_config.yml", "README.md", "LICENSE",
        "LICENSE-text", "MANIFEST.in", "gdn_ref", "kernels", "book/_data",
    ):  # fmt: skip
        (at / name).parent.mkdir(exist_ok=True)
        subprocess.run(["cp", "-RP", str(ROOT / name), str((at / name).parent)], check=True)
    config = (at / "_config.yml").read_text("utf-8")
    (at / "_config.yml").write_text(re.sub(r"\n  url: .*", f"\n  url: {URL}", config))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", at, at], check=True, stdin=subprocess.DEVNULL)
    with ZipFile(next(at.glob("*.whl"))) as wheel:
        names = wheel.namelist()
        (path,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        return Parser().parsestr(wheel.read(path).decode()), names


class TestTheWheel:
    def test_its_description_has_no_relative_link(self, about):
        metadata, _ = about
        assert metadata["Description-Content-Type"] == "text/markdown"
        text = metadata.get_payload()
        assert (
            text.startswith("# Gated DeltaNet")
            and f"{URL}/raw/main/book/_static/readme.svg" in text
        )
        assert all(address.startswith("https://") for address in addresses(text))

    def test_its_links_begin_with_the_address(self, about):
        links = dict(line.split(", ") for line in about[0].get_all("Project-URL"))
        assert links == publishing.links(URL, "main")
        assert publishing.links("", "main") == {}

    def test_both_licences_are_in_it(self, about):
        metadata, names = about
        assert metadata.get_all("License-File") == ["LICENSE", "LICENSE-text"]
        assert sum("/licenses/LICENSE" in name for name in names) == 2

    def test_the_proofs_ask_for_two_packages(self, about):
        asked = [line for line in about[0].get_all("Requires-Dist") if 'extra == "proofs"' in line]
        assert {re.match(r"\w+", line)[0] for line in asked} == {"sympy", "tqdm"}


class TestTheCitation:
    def test_the_bibtex_entry_says_what_the_file_says(self):
        from pybtex.database import parse_string

        (printed,) = re.findall(r"^```bibtex\n(.*?)^```", README, re.M | re.S)
        (entry,) = parse_string(printed, "bibtex").entries.values()
        said = CITATION["preferred-citation"]
        assert entry.type == said["type"]
        assert [str(author).strip("{}") for author in entry.persons["author"]] == [
            author["name"] for author in said["authors"]
        ]
        names = {"title": "title", "year": "year", "version": "version", "notes": "note"}
        names |= {"repository-code": "url"}
        expected = {names[key]: str(value) for key, value in said.items() if key in names}
        assert {key: value.strip("{}") for key, value in entry.fields.items()} == expected

    def test_it_is_of_this_version(self):
        for part in (CITATION, CITATION["preferred-citation"]):
            assert part["version"] == gdn_ref.__version__
            assert part["title"] == yaml.safe_load((ROOT / "_config.yml").read_text())["title"]
            assert part.get("repository-code", "") == publishing.repository()[0]

    def test_a_released_version_has_its_date(self):
        version, state = re.search(
            r"^## (\S+) \((.*)\)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M
        ).groups()
        assert version == gdn_ref.__version__
        assert str(CITATION.get("date-released", "unreleased")) == state


class TestTheLock:
    def test_it_has_the_versions_of_the_requirements(self):
        pins = re.findall(
            r"^([\w.-]+)==([^ ;\n]+)", (ROOT / "requirements.txt").read_text("utf-8"), re.M
        )
        locked = [(package["name"], package.get("version")) for package in LOCK["package"]]
        plain = {(re.sub(r"[-_.]+", "-", name).lower(), version) for name, version in pins}
        assert plain and plain <= set(locked)
        assert len({name for name, _ in locked}) == len(locked)

    def test_every_file_has_a_hash_and_a_public_address(self):
        for package in LOCK["package"]:
            if package["name"] == "gdn-ref":
                assert package["source"] == {"editable": "."}
                continue
            assert package["source"] == {"registry": "https://pypi.org/simple"}
            files = [*package.get("wheels", ()), *filter(None, [package.get("sdist")])]
            assert files
            for file in files:
                assert file["url"].startswith("https://files.pythonhosted.org/packages/")
                assert re.fullmatch("sha256:[0-9a-f]{64}", file["hash"])

    def test_it_is_of_this_project(self):
        (own,) = [package for package in LOCK["package"] if package["name"] == "gdn-ref"]
        project = PROJECT["project"]
        assert LOCK["requires-python"] == project["requires-python"]
        assert own["metadata"]["provides-extras"] == list(project["optional-dependencies"])
        asked = chain(project["dependencies"], *project["optional-dependencies"].values())
        locked = [
            item["name"] + item.get("specifier", "") for item in own["metadata"]["requires-dist"]
        ]
        plain = [re.sub(r"\[.*?\]|;.*| ", "", line) for line in asked]
        assert sorted(map(sorted, locked)) == sorted(map(sorted, plain))  # uv orders a range anew
        dev = [item["name"] for item in own["metadata"]["requires-dev"]["dev"]]
        assert sorted(dev) == sorted(x.lower() for x in PROJECT["dependency-groups"]["dev"])


def commands(workflow):
    """What a workflow runs, a string for each step."""
    jobs = yaml.safe_load(workflow.read_text("utf-8"))["jobs"].values()
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


class TestElsewhere:
    def test_workflows_run_what_there_is(self):
        assert [path.stem for path in WORKFLOWS] == ["ci", "elsewhere", "pages"]
        for path in WORKFLOWS:
            text = "\n".join(commands(path))
            assert set(re.findall(r"\bmake ([a-z-]+)", text)) <= TARGETS
            for name in re.findall(r"(?<![\w/])(?:tests/\S+|\.ci/\S+)", text):
                assert (ROOT / name).is_file(), name
            for extras in re.findall(r'"\.\[(.*?)\]"', text):
                assert set(extras.split(",")) <= set(PROJECT["project"]["optional-dependencies"])
            for name in re.findall(r"not (\w+)", text):
                assert any(
                    x.startswith(f"{name}:")
                    for x in PROJECT["tool"]["pytest"]["ini_options"]["markers"]
                )
        assert commands(ROOT / ".github/workflows/ci.yml") == [".ci/run"]
        assert os.access(ROOT / ".ci" / "run", os.X_OK)

    def test_workflows_may_not_write_but_where_they_deploy(self):
        for path in WORKFLOWS:
            workflow = yaml.safe_load(path.read_text("utf-8"))
            assert workflow["permissions"] == {"contents": "read"}
            may = [job.get("permissions") for job in workflow["jobs"].values()]
            assert set(map(str, filter(None, may))) <= {"{'pages': 'write', 'id-token': 'write'}"}
            assert all(
                job.get("permissions") or "timeout-minutes" in job
                for job in workflow["jobs"].values()
            )

    def test_the_pages_are_what_make_book_makes(self):
        jobs = yaml.safe_load((ROOT / ".github/workflows/pages.yml").read_text())["jobs"]
        build, upload = jobs["book"]["steps"][1:]
        assert build["run"] == "make book" and upload["with"]["path"] == "_build/html"
        assert jobs["deploy"]["needs"] == "book"

    def test_every_python_of_the_classifiers_is_tested(self):
        named = {line.rpartition(" ")[2] for line in PROJECT["project"]["classifiers"]}
        matrix = yaml.safe_load((ROOT / ".github/workflows/elsewhere.yml").read_text())["jobs"]
        assert set(matrix["linux"]["strategy"]["matrix"]["python"]) == {
            version for version in named if re.fullmatch(r"3\.\d+", version)
        }

    def test_forms_ask_for_what_they_need(self):
        assert [path.stem for path in FORMS] == ["question", "wrong-equation", "wrong-number"]
        for path in FORMS:
            form = yaml.safe_load(path.read_text("utf-8"))
            assert {"name", "description", "title", "labels", "body"} == set(form)
            ids = [field["id"] for field in form["body"]]
            assert len(set(ids)) == len(ids)
            for field in form["body"]:
                assert field["type"] in ("input", "textarea") and field["attributes"]["label"]
            assert any(field.get("validations", {}).get("required") for field in form["body"])

    def test_a_container_and_binder_have_a_python_that_the_package_takes(self):
        least = tuple(map(int, PROJECT["project"]["requires-python"].strip(">=").split(".")))
        container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
        binder = (ROOT / ".binder/runtime.txt").read_text().strip()
        for text in (container["image"], binder):
            assert tuple(map(int, re.search(r"(\d+)\.(\d+)", text).groups())) >= least
        assert container["postCreateCommand"].removeprefix("make ") in TARGETS
        asked = (ROOT / ".binder/requirements.txt").read_text().splitlines()
        (extra,) = [re.fullmatch(r"\.\[(\w+)\]", line)[1] for line in asked if line.startswith(".")]
        assert extra in PROJECT["project"]["optional-dependencies"]


def lab(tmp_path, user, *options):
    """`make lab` as a user of this number, with a JupyterLab that only says how it was called."""
    for name, line in (("id", f"echo {user}"), ("jupyter", 'echo "called with $*"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / name).chmod(0o755)
    return subprocess.run(
        ["make", "--old-file=env", f"BIN={tmp_path}", "lab", *options],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "MAKEFLAGS": ""},
        capture_output=True,
        text=True,
    )


def test_make_lab_says_what_to_do_as_root(tmp_path):
    done = lab(tmp_path, 0)
    assert done.returncode and "called" not in done.stdout
    assert "does not start as root" in done.stdout and "make lab LAB=--allow-root" in done.stdout
    assert "called with lab --allow-root chapters" in lab(tmp_path, 0, "LAB=--allow-root").stdout
    assert "called with lab chapters" in lab(tmp_path, 1000).stdout


def test_the_readme_names_the_host_that_a_browser_asks():
    from jupyterlite_pyodide_kernel.constants import PYODIDE_CDN_URL

    hosts = README[README.index("## What contacts other hosts") :]
    assert PYODIDE_CDN_URL.split("/")[2] in hosts


def test_the_readme_begins_with_an_example():
    """Before the first section, and before any table."""
    assert "```python" in README[: README.index("\n## ")]
