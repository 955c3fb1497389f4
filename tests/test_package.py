"""The package as people get it: light to import, and whole in the wheel and in the sdist."""

import os
import re
import subprocess
import sys
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


def contents():
    """What a wheel must hold, as paths from the root: modules, kernels, and records for figures."""
    home = ROOT / "gdn_ref"
    folders = [p for p in home.iterdir() if p.is_dir()]
    printed = home / "proofs" / "printed"
    files = [p for folder in (home, *folders, printed) for p in folder.glob("*.py")]
    files += [home / "kernels" / name for name in kernels_in(ROOT / "kernels")]
    files += [printed / "grammar.lark", printed / "sentences.txt"]
    files += [*home.glob("records/*.json"), *home.glob("records/bench/*.json")]
    files.append(home / "kernels" / "bench" / "NOTES.md")
    return {p.relative_to(ROOT).as_posix() for p in files}


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


def build(*arguments):
    command = [sys.executable, "-m", "build", "--no-isolation", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    """The sdist, the wheel built from the checkout, and the wheel built from the sdist.

    Built from a copy of the tracked folders, symlinks included, so that nothing is left behind.
    """
    at = tmp_path_factory.mktemp("distributions")
    checkout = at / "checkout"
    checkout.mkdir()
    for name in (
        "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "gdn_ref", "kernels", "tests",
        "book", "setup.py", "publishing.py", "_config.yml", "LICENSE-text",
    ):  # fmt: skip
        subprocess.run(["cp", "-RP", str(ROOT / name), str(checkout)], check=True)
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
    }


def test_the_sdist_holds_files(distributions):
    with tarfile.open(distributions["sdist"]) as tar:
        members = {member.name.partition("/")[2]: member for member in tar.getmembers()}
    assert contents() <= set(members)
    assert not [name for name, member in members.items() if member.issym()]
    assert "LICENSE" in members
    assert {name.partition("/")[0] for name in members} & {"book", "chapters", "tests"} == set()


@pytest.mark.parametrize("which", ["wheel", "wheel from sdist"])
def test_the_wheel_holds_all_that_it_should_and_no_more(distributions, which):
    with zipfile.ZipFile(distributions[which]) as wheel:
        names = set(wheel.namelist())
    assert {name for name in names if ".dist-info/" not in name} == contents()


@pytest.mark.parametrize("which", ["wheel", "wheel from sdist"])
def test_the_wheel_works_elsewhere(distributions, which, tmp_path):
    """Installed in an empty folder and imported from outside the checkout, kernels included."""
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet"]
        + ["--target", str(tmp_path / "site"), str(distributions[which])],
        check=True,
        stdin=subprocess.DEVNULL,
    )
    code = """
import pathlib, gdn_ref, gdn_ref.kernels, gdn_ref.gated_delta_rule
print(pathlib.Path(gdn_ref.__file__).parent)
for folder in map(pathlib.Path, gdn_ref.kernels.__path__):
    print(folder, *sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.py")))
from gdn_ref.figures import ch14_model, ch15_measure, ch16_model, ch17_records, ch20_swap
found = [[*ch14_model.listed()], ch15_measure.record(), ch15_measure.variants_of_the_inverse()]
found += [ch16_model.side_by_side(), ch17_records.decode_record(), ch20_swap.RECORD.read_text()]
assert all(found), found
"""
    home, kernels, *others = python(code, tmp_path, PYTHONPATH=str(tmp_path / "site")).splitlines()
    assert Path(home) == tmp_path / "site" / "gdn_ref"
    assert kernels.split() == [
        str(tmp_path / "site" / "gdn_ref" / "kernels"),
        *kernels_in(ROOT / "kernels"),
    ]
    assert not others
