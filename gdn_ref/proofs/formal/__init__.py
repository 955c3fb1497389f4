"""What the `.v` files of this folder state, read from their text, and the record of a run.

A theorem says which equations of the book it proves in the comment right above it:

    (* eq-gdn-chunk-state: the state after the chunk is the token loop's *)
    Theorem chunk_state : St n = upto n *: S0 + Delta^T *m Dend *m K.
    Proof.

`python -m gdn_ref.proofs.formal` compiles the files. The book needs no Rocq: it shows the record of
such a run, and its build fails where the record and the files differ.
"""

import hashlib
import re
from pathlib import Path

FOLDER = Path(__file__).parent
RECORD = FOLDER.parents[2] / "book" / "_data" / "formal.json"
LABEL = r"eq-[a-z0-9]+(?:-[a-z0-9]+)*"
THEOREM = re.compile(
    rf"""(?:\(\*\s(?:(?P<labels>{LABEL}(?:,\s{LABEL})*):\s)?(?P<about>(?:(?!\*\)).)*?)\s\*\)\n)?
         (?P<statement>Theorem\s(?P<name>\w+).*?\.)\nProof\.""",
    re.DOTALL | re.VERBOSE,
)
CONTEXT = re.compile(r"^(Section|End|Variables?|Hypothes[ie]s|Let)\b\s*(.*?)\.(?=\s)", re.M | re.S)
IMPORT = re.compile(r"From GDN Require Import (.*?)\.\n", re.DOTALL)


def sources(folder=FOLDER):
    """The `.v` files, each after those that it needs."""
    paths = {path.stem: path for path in sorted(Path(folder).glob("*.v"))}
    ordered = []

    def place(name):
        for needed in re.findall(r"\w+", " ".join(IMPORT.findall(read(paths[name])))):
            place(needed)
        if paths[name] not in ordered:
            ordered.append(paths[name])

    for name in paths:
        place(name)
    return ordered


def read(path):
    return path.read_text(encoding="utf-8")


def digests(folder=FOLDER):
    """SHA-256 of each `.v` file."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sources(folder)}


def theorems(folder=FOLDER):
    """Each `Theorem` of the files as a dictionary: its labels, name, file, words and statement."""
    return [
        {
            "labels": re.findall(LABEL, found["labels"] or ""),
            "name": found["name"],
            "file": path.name,
            "about": " ".join((found["about"] or "").split()),
            "context": context(read(path)[: found.start()]),
            "statement": found["statement"],
        }
        for path in sources(folder)
        for found in THEOREM.finditer(read(path))
    ]


def context(text):
    """What the sections that are open at the end of `text` take as given, one line each."""
    opened = [[]]
    for word, rest in CONTEXT.findall(text):
        if word == "Section":
            opened.append([])
        elif word == "End":
            opened.pop()
        else:
            opened[-1].append(f"{word} {' '.join(rest.split())}.")
    return [line for lines in opened for line in lines]


def differences(record, folder=FOLDER):
    """One sentence for each thing in which a record and the files differ."""
    was, now = record.get("sources_sha256", {}), digests(folder)
    lines = [
        f"{name} is not the file that was checked"
        for name in sorted(was.keys() | now.keys())
        if was.get(name) != now.get(name)
    ]
    claimed = {claim["name"]: claim for claim in record.get("theorems", [])}
    stated = {theorem["name"]: theorem for theorem in theorems(folder)}
    for name in sorted(claimed.keys() | stated.keys()):
        if name not in stated:
            lines.append(f"the theorem {name} is in no file")
        elif name not in claimed:
            lines.append(f"the theorem {name} of {stated[name]['file']} is not recorded")
        elif claimed[name] != stated[name] | {"closed": True}:
            lines.append(f"the theorem {name} of {stated[name]['file']} is recorded otherwise")
    return lines
