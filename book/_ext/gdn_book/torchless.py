"""Print those of the given notebooks whose imports succeed where torch and triton do not exist.

A script, because it must run in a process that has not imported them.
"""

import ast
import json
import sys
from pathlib import Path


def main(paths):
    sys.path[0] = str(Path.cwd())  # the book's root; this folder has a numbers.py of its own
    sys.modules["torch"] = sys.modules["triton"] = None  # importing them raises ImportError
    for path in paths:
        if imports_succeed(Path(path)):
            print(path)


def imports_succeed(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    lines = [
        line
        for cell in cells
        if cell["cell_type"] == "code"
        for line in "".join(cell["source"]).splitlines()
        if not line.startswith(("%", "await "))
    ]
    body = ast.parse("\n".join(lines)).body
    imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    try:
        exec(compile(ast.Module(imports, []), path, "exec"), {})
    except ImportError:
        return False
    return True


if __name__ == "__main__":
    main(sys.argv[1:])
