"""The package as people get it: light to import, and whole in the wheel and in the sdist."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

import gdn_ref

ROOT = Path(__file__).parents[1]
HEAVY = ("torch", "triton", "sympy", "matplotlib", "ipywidgets")
IMPORT_SECONDS = 0.3


def python(code, cwd, **environment):
    """Run code in a fresh Python; returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def kernels_in(folder):
    """The modules of the kernels, as paths from their folder."""
    names = {path.relative_to(folder).as_posix() for path in Path(folder).rglob("*.py")}
    return sorted(name for name in names if not name.startswith("bench/"))


def contents(kernels, records):
    """The package's files, as paths from the root, given the folders of kernels and of records.

    Those are modules, kernels with their log, the records that figures draw, and their face.
    """
    home, data = ROOT / "gdn_ref", ROOT / "book" / "_data"
    folders = [p for p in home.iterdir() if p.is_dir() and p.name != "kernels"]
    printed = home / "proofs" / "printed"
    files = [p for folder in (home, *folders, printed) for p in folder.glob("*.py")]
    files += (home / "figures" / "type").iterdir()
    files += [home / "py.typed", printed / "grammar.lark", printed / "sentences.txt"]
    names = {p.relative_to(ROOT).as_posix() for p in files}
    names |= {f"{kernels}/{name}" for name in (*kernels_in(ROOT / "kernels"), "bench/NOTES.md")}
    found = [*data.glob("*.json"), *data.glob("bench/*.json")]
    return names | {f"{records}/{p.relative_to(data).as_posix()}" for p in found}


def test_every_public_name_is_there():
    assert sorted(gdn_ref.__all__) == dir(gdn_ref)
    for name in gdn_ref.__all__:
        assert getattr(gdn_ref, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'chunk_gated_delta'"):
        _ = gdn_ref.chunk_gated_delta


def test_import_is_light(tmp_path):
    """`import gdn_ref` loads no library that a user may lack, and takes no time to speak of."""
    code = f"""
import sys, time
start = time.perf_counter()
import gdn_ref
seconds = time.perf_counter() - start
print(seconds, [name for name in {HEAVY} if name in sys.modules])
"""
    seconds, _, loaded = python(code, tmp_path).partition(" ")
    assert loaded == "[]"
    assert float(seconds) < IMPORT_SECONDS


def test_the_rules_run_without_the_extras(tmp_path):
    """NumPy arrays need numpy and array-api-compat, nothing else."""
    code = f"""
import sys
sys.modules.update(dict.fromkeys({HEAVY}))  # importing any of them raises ImportError
import numpy as np
from gdn_ref import delta_rule, gated_delta_rule, linear_attention, scalar_decay
k, v, g = np.eye(3), np.ones((3, 2)), np.zeros(3)
O, S = gated_delta_rule.chunkwise(k, k, v, g, np.ones(3))
print(np.abs(O - v).max(), S.shape)
"""
    assert python(code, tmp_path) == "0.0 (2, 3)"


def test_without_torch_a_name_says_what_it_needs(tmp_path):
    """And `help` and completion, which look at every name in `dir`, still work."""
    code = """
import sys
sys.modules["torch"] = None
import pydoc, gdn_ref
print(*dir(gdn_ref))
print("chunk_gated_delta_rule" in pydoc.render_doc(gdn_ref))
for name in sorted(set(gdn_ref.__all__) - set(dir(gdn_ref))):
    try:
        getattr(gdn_ref, name)
    except ModuleNotFoundError as error:
        assert str(error).startswith(f"gdn_ref.{name} needs PyTorch"), error
    else:
        print(name)
"""
    rules = "delta_rule family gated_delta_rule linear_attention scalar_decay"
    assert python(code, tmp_path) == f"__version__ affine backward chunking {rules} wy\nTrue"


def test_the_example_of_the_package_runs(tmp_path):
    example = "".join(re.findall(r"^    (.*\n)", gdn_ref.__doc__, re.M))
    assert python(example + "print(*o.shape)", tmp_path) == "1 100 2 16"


def test_the_examples_of_the_readme_run(tmp_path):
    examples = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    assert len(examples) == 2
    shapes = "\nprint(tuple(o.shape), tuple(S.shape), o.isfinite().all().item())"
    assert python(examples[0] + shapes, tmp_path) == "(2, 1000, 4, 64) (2, 4, 64, 64) True"
    assert python(examples[1], tmp_path) == "[[0. 1.]\n [2. 3.]\n [4. 5.]]"


FOLDERS = ("gdn_ref", "kernels", "book/_data", "tests")
FILES = (
    "pyproject.toml", "setup.py", "publishing.py", "_config.yml", "MANIFEST.in", "README.md",
    "LICENSE", "LICENSE-text",
)  # fmt: skip


def attempt(*command, **options):
    """A command that may fail, its output kept."""
    options |= {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL}
    return subprocess.run(list(map(str, command)), **options)


def run(*command, **options):
    """What a command prints; it must succeed."""
    done = attempt(*command, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(*arguments):
    run(sys.executable, "-m", "build", "--no-isolation", *arguments)


def pip(*arguments, check=run):
    """Install offline, with the tools that are here."""
    offline = ("--no-deps", "--no-index", "--no-build-isolation", "--quiet")
    return check(sys.executable, "-m", "pip", "install", *offline, *arguments)


def copy(to, folders=FOLDERS):
    """A checkout of the tree as it stands; where it has a link, a file that says where to.

    So does git with `core.symlinks=false`, and so do many programs that unpack a zip file.
    """
    for name in folders:
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, to / name, symlinks=True, ignore=ignore)
    for name in FILES:
        shutil.copy(ROOT / name, to)
    for link in [p for p in to.rglob("*") if p.is_symlink()]:
        target = os.readlink(link)
        link.unlink()
        link.write_text(target)
    return to


def cloned(to):
    """A clone of the last commit, without symbolic links."""
    run("git", "clone", "--quiet", "--shared", "-c", "core.symlinks=false", ROOT, to)
    return to


def archived(to):
    """The last commit as a zip file, unpacked by a program that makes no links."""
    run("git", "-C", ROOT, "archive", "--format=zip", "-o", f"{to}.zip", "HEAD")
    with zipfile.ZipFile(f"{to}.zip") as file:
        file.extractall(to)
    return to


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return copy(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="module")
def distributions(checkout, tmp_path_factory):
    """The sdist, the wheel built from the checkout, and the wheel built from the sdist."""
    at = tmp_path_factory.mktemp("distributions")
    build("--wheel", "--outdir", at / "direct", checkout)
    build("--sdist", "--outdir", at, checkout)
    (sdist,) = at.glob("*.tar.gz")
    with tarfile.open(sdist) as tar:
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # from 3.11.4 on
        tar.extractall(at / "unpacked", **safely)
    (unpacked,) = (at / "unpacked").iterdir()
    build("--wheel", "--outdir", at / "from_sdist", unpacked)
    return {
        "sdist": sdist,
        "wheel": next((at / "direct").glob("*.whl")),
        "wheel from sdist": next((at / "from_sdist").glob("*.whl")),
        "unpacked": unpacked,
    }


def test_the_sdist_holds_files(distributions):
    with tarfile.open(distributions["sdist"]) as tar:
        members = {member.name.partition("/")[2]: member for member in tar.getmembers()}
    assert contents("kernels", "book/_data") <= set(members)
    assert {"LICENSE", "setup.py", "gdn_ref/kernels/__init__.py"} <= set(members)
    assert not [name for name, member in members.items() if member.issym()]
    assert not [name for name in members if name.startswith(("chapters", "tests"))]
    assert {n for n in members if n.startswith("book/") and n.endswith((".md", ".py"))} == set()


@pytest.mark.parametrize("which", ["wheel", "wheel from sdist"])
def test_the_wheel_holds_all_that_it_should_and_no_more(distributions, which):
    with zipfile.ZipFile(distributions[which]) as wheel:
        names = set(wheel.namelist())
    assert {n for n in names if ".dist-info/" not in n} == contents(
        "gdn_ref/kernels", "gdn_ref/records"
    )


# Every kernel is there, one runs, its source is found, and so are the records and the log.
WORKS = """
import inspect, json, pathlib, torch, gdn_ref, gdn_ref.kernels
from gdn_ref.figures import ch14_model, ch14_records, ch15_measure, ch15_source, ch16_model
from gdn_ref.figures import ch17_records, ch20_swap
found = [[*ch14_model.listed()], ch15_measure.record(), ch15_measure.variants_of_the_inverse()]
found += [ch16_model.side_by_side(), ch17_records.decode_record(), ch20_swap.RECORD.read_text()]
found += [ch14_records.ways(), ch15_source.lines_of("first.py")]
assert all(found), found
q, k, v = torch.randn(3, 1, 5, 2, 16)
g, beta = -torch.rand(1, 5, 2), torch.rand(1, 5, 2)
triton, reference = (
    gdn_ref.chunk_gated_delta_rule(q, k, v, g, beta, use_qk_l2norm_in_kernel=True, backend=backend)
    for backend in ("triton", "reference")
)
torch.testing.assert_close(triton, reference)
from gdn_ref.kernels.forward.scan import chunk_scan_kernel
assert "def chunk_scan_kernel" in inspect.getsource(inspect.unwrap(chunk_scan_kernel.fn))
(kernels,) = map(pathlib.Path, gdn_ref.kernels.__path__)
modules = [path.relative_to(kernels).as_posix() for path in kernels.rglob("*.py")]
print(json.dumps([str(pathlib.Path(gdn_ref.__file__).parent), str(kernels), modules]))
"""


def works(site, cwd):
    """Run WORKS where `site` alone has gdn_ref; the folders of the package and of its kernels."""
    others = [p for p in sys.path if p.endswith(("site-packages", "dist-packages"))]
    start = f"import site, sys; site.addsitedir({str(site)!r}); sys.path += {others}"
    command = (sys.executable, "-S", "-W", "ignore", "-c", f"{start}\n{WORKS}")
    environment = {**os.environ, "PYTHONPATH": "", "TRITON_INTERPRET": "1"}
    home, kernels, modules = json.loads(run(*command, cwd=cwd, env=environment))
    assert sorted(n for n in modules if not n.startswith("bench/")) == kernels_in(ROOT / "kernels")
    return Path(home), Path(kernels)


@pytest.mark.interpreter
@pytest.mark.parametrize("which", ["wheel", "wheel from sdist"])
def test_the_wheel_works_elsewhere(distributions, which, tmp_path):
    """Installed in an empty folder, and imported from outside of the checkout."""
    home = tmp_path / "site" / "gdn_ref"
    pip("--target", home.parent, distributions[which])
    assert works(home.parent, tmp_path) == (home, home / "kernels")


@pytest.mark.interpreter
def test_a_checkout_works_without_an_install(checkout, tmp_path):
    assert works(checkout, tmp_path) == (checkout / "gdn_ref", checkout / "kernels")


@pytest.mark.interpreter
@pytest.mark.parametrize("which", ["checkout", "sdist"])
def test_an_editable_install_works(checkout, distributions, which, tmp_path):
    tree = distributions["unpacked"] if which == "sdist" else checkout
    pip("--ignore-installed", "--prefix", tmp_path, "--editable", tree)  # ours stays where it is
    site = sysconfig.get_path("purelib", vars={"base": tmp_path, "platbase": tmp_path})
    assert works(site, tmp_path) == (tree / "gdn_ref", tree / "kernels")


@pytest.mark.interpreter
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no clone of the repository")
@pytest.mark.parametrize("made", [cloned, archived])
def test_the_commit_installs_without_symbolic_links(made, tmp_path):
    tree = made(tmp_path / "tree")
    home = tmp_path / "site" / "gdn_ref"
    pip("--target", home.parent, tree)
    assert works(home.parent, tmp_path) == (home, home / "kernels")


@pytest.mark.parametrize("folder", ["kernels", "book/_data"])
def test_an_install_that_would_lack_something_stops(folder, tmp_path):
    """Here a file is in the place of the folder, as where a link was not made."""
    tree = copy(tmp_path, [name for name in FOLDERS if name != folder])
    (tree / folder).parent.mkdir(exist_ok=True)
    (tree / folder).write_text("elsewhere")
    for kind in (["--editable"], []):
        done = pip("--target", tmp_path / "site", *kind, tree, check=attempt)
        assert done.returncode != 0
        assert re.search(f"gdn_ref: expected .* in the folder {folder}, found none", done.stderr)


def test_a_checkout_without_kernels_says_so(tmp_path):
    tree = copy(tmp_path, ["gdn_ref"])
    code = """
import torch, gdn_ref
x = torch.ones(1, 1, 1, 16)
gdn_ref.chunk_gated_delta_rule(x, x, x, None, x[..., 0], backend="triton")
"""
    environment = {**os.environ, "PYTHONPATH": str(tree), "TRITON_INTERPRET": "1"}
    done = attempt(sys.executable, "-c", code, cwd=tree, env=environment)
    assert f"ImportError: gdn_ref.kernels: expected the Triton kernels in {tree}" in done.stderr
