"""The formal proofs: the record is that of the files, and a false statement does not compile."""

import json
import re
import shutil
from pathlib import Path

import pytest

from gdn_ref.proofs import formal
from gdn_ref.proofs.formal import __main__ as command

ROOT = Path(__file__).parents[1]
RECORD = json.loads(formal.RECORD.read_text("utf-8"))
THEOREMS = formal.theorems()
GENERAL = ["general_rule", "general_chunk", "two_gates"]
NEEDED = ["matrices", *GENERAL, "rule", "products", "chunk", "decay", "affine"]
NEEDED += ["cut", "reverse", "partition"]


def test_the_record_is_that_of_the_files():
    assert formal.differences(RECORD) == []


def test_every_theorem_is_found_and_says_what_it_covers():
    written = [name for path in formal.sources() for name in re.findall(
        r"^(?:Theorem|Corollary) (\w+)", formal.read(path), re.MULTILINE)]  # fmt: skip
    assert written == [theorem["name"] for theorem in THEOREMS]
    assert len(set(written)) == len(written)
    assert all(theorem["about"] for theorem in THEOREMS)


def test_no_file_assumes_anything():
    for path in formal.sources():
        assert not re.search(r"^\s*(Axiom|Parameter|Conjecture|Admitted)", formal.read(path), re.M)


def test_every_label_is_in_a_chapter():
    chapters = "".join(path.read_text("utf-8") for path in ROOT.glob("chapters/*.ipynb"))
    labels = {label for theorem in RECORD["theorems"] for label in theorem["labels"]}
    assert labels and labels == {label for label in labels if f"$$ ({label})" in chapters}


def test_the_readme_has_a_row_for_each_theorem():
    readme = (formal.FOLDER / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| (.+) \| `(\w+)` \| `(\w+\.v)` \|$", readme, re.MULTILINE)
    stated = {(t["name"], t["file"]): t["labels"] for t in THEOREMS}
    assert {(name, file): re.findall(formal.LABEL, words) for words, name, file in rows} == stated


def change_the_statement(folder):
    path = folder / "chunk.v"
    path.write_text(path.read_text().replace("St n = upto n *: S0 +", "St n = S0 +"))


def change_the_words(folder):
    path = folder / "chunk.v"
    path.write_text(path.read_text().replace("eq-gdn-chunk-state", "eq-gdn-chunk-output"))


def drop_a_file(folder):
    (folder / "solve_gradient.v").unlink()


def add_a_theorem(folder):
    path = folder / "solve_gradient.v"
    path.write_text(path.read_text() + "\n(* one *)\nTheorem one : 1 = 1.\nProof. by []. Qed.\n")


DIFFERENCES = {
    change_the_statement: ["chunk.v is not the file", "chunk_state of chunk.v is recorded otherw"],
    change_the_words: ["chunk.v is not the file", "chunk_state of chunk.v is recorded otherwise"],
    drop_a_file: ["solve_gradient.v is not the file", "solve_gradient is in no file"],
    add_a_theorem: ["solve_gradient.v is not the file", "one of solve_gradient.v is not recorded"],
}


@pytest.mark.parametrize("change", DIFFERENCES, ids=lambda change: change.__name__)
def test_a_change_is_named(change, tmp_path):
    folder = shutil.copytree(formal.FOLDER, tmp_path / "formal")
    change(folder)
    lines = formal.differences(RECORD, folder)
    assert len(lines) == len(DIFFERENCES[change])
    for line, part in zip(lines, DIFFERENCES[change], strict=True):
        assert part in line


def test_an_open_theorem_in_the_record_is_a_difference():
    spoiled = json.loads(json.dumps(RECORD))
    spoiled["theorems"][0]["closed"] = False
    assert len(formal.differences(spoiled)) == 1


def test_without_rocq_the_command_says_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="coqc is not installed: `apt install coq"):
        command.main(["--build", str(tmp_path / "build")])


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """A folder with the compiled files that the false statements need."""
    if not shutil.which("coqc"):
        pytest.skip("needs Rocq with MathComp: `apt install coq libcoq-mathcomp-algebra`")
    folder = tmp_path_factory.mktemp("formal")
    command.compile_files([p for p in formal.sources() if p.stem in NEEDED], folder)
    return folder


FALSE = {
    "no mask": ("chunk", "had Gamma (Q *m K^T) *m Delta.", "Q *m K^T *m Delta."),
    "one score for both": (
        "general_chunk",
        "P k *m U - P b *m Reads.",
        "P k *m U - P k *m Reads.",
    ),
    "the two W mixed": (
        "affine",
        "Dgamma *m W = invmx (1%:M + At) *m (B *m Dgamma *m K).",
        "Dgamma *m W = Dgamma *m (invmx (1%:M + At) *m (B *m K)).",
    ),
    "the pair not transposed on its way back": (
        "partition",
        "dS m = dS (m + l) *m (Fs m a b k l)^T + asked m l.",
        "dS m = dS (m + l) *m Fs m a b k l + asked m l.",
    ),
    "a shard multiplies its own writes": (
        "partition",
        "\\sum_(j < p) Gp j *m \\big[mulmx/1%:M]_(j.+1 <= i < p) Fp i.",
        "\\sum_(j < p) Gp j *m \\big[mulmx/1%:M]_(j <= i < p) Fp i.",
    ),
}


@pytest.mark.formal
@pytest.mark.parametrize("name", FALSE)
def test_a_false_statement_has_no_proof(name, build, tmp_path):
    """The error is in the proof, so the false statement itself is well-formed."""
    file, true, false = FALSE[name]
    text = formal.read(formal.FOLDER / f"{file}.v")
    assert text.count(true) == 1
    mutant = build / f"{file}_mutant.v"
    mutant.write_text(text.replace(true, false), encoding="utf-8")
    with pytest.raises(command.Failed) as failure:
        command.run("coqc", *command.QUIET, "-Q", ".", "GDN", mutant.name, cwd=build)
    line = int(re.search(rf'File "\./{file}_mutant\.v", line (\d+)', str(failure.value))[1])
    before, _, after = mutant.read_text("utf-8").partition(false)
    proof = before.count("\n") + 2
    assert proof <= line <= proof + after[: after.index("Qed.")].count("\n")


@pytest.mark.formal
def test_a_theorem_that_rests_on_an_axiom_fails(build, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "assumed.v").write_text(
        "Axiom magic : 0 = 1.\n\n(* eq-magic: nothing *)\nTheorem spell : 1 = 0.\n"
        "Proof. symmetry. exact magic. Qed.\n"
    )
    with pytest.raises(command.Failed, match="not closed under the global context: spell"):
        command.check(source, build)
