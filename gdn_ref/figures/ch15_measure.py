"""The numbers of chapter 15's figures: recorded times, and the rounding of each operand."""

import json
from functools import cache

import numpy as np
import torch

from .. import wy
from ..chunking import decay
from ..proofs.data import hard_inputs, relative_error
from . import ch14_model
from .places import LOG, RECORDS

RECORD = RECORDS / "forward_steps_h100.json"


def record():
    """The record of the forward after each step."""
    return json.loads(RECORD.read_text())


FILES = {"scan": "chunk_scan", "transform": "ut_transform"}  # how the record's file names begin


def steps(part, shape):
    """(step, microseconds) of one part of the work, in the order of the log.

    A kernel timed again after a step that changed another one is left out.
    """
    return [
        (row["step"], row["us"])
        for row in record()["steps"]
        if (row["part"], row["shape"]) == (part, shape)
        and row["file"].startswith(FILES.get(part, ""))
    ]


def table_of_the_log(header):
    """The first table whose header begins so: name of a row -> {column: microseconds}."""
    lines = LOG.read_text().splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith(header))
    table = []
    for line in lines[begin:]:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line.strip("|").split("|")])
    header, _, *rows = table
    return {
        name: {column: float(us) for column, us in zip(header[1:], times, strict=True) if us}
        for name, *times in rows
    }


def variants_of_the_inverse():
    """Variant of the inverse -> {number of warps: microseconds}."""
    return table_of_the_log("| variant |")


def numbers_ahead():
    """Variant of the loading warp -> {shape: microseconds}, of "before" first."""
    return table_of_the_log("| variant | 1x32768")


def scan_attempts():
    """What the scan was tried with -> {shape, or "shipped" beside it: microseconds}."""
    return table_of_the_log("| scan | 1x32768")


def shared_sequences():
    """Shape -> {programs that share a sequence, or "segments", or "rule": microseconds}."""
    return table_of_the_log("| shape | one program |")


class Peer:
    """Another package beside ours, on the shapes of these records where it ran."""

    def __init__(self, name, *lists):
        rows = [row for x in lists for row in ch14_model.record(f"forward_{x}_h100")["rows"]]
        self.name = name
        self.rows = [row for row in rows if "device_us" in row["runs"].get(name, {})]

    def ratios(self, what="device_us"):
        """Its time over ours, or another measure, shape by shape."""
        runs = [row["runs"] for row in self.rows]
        return np.array([run[self.name][what] / run["gdn_ref"][what] for run in runs])

    def closest(self):
        """Where the ratio of times is least: the shape, our time, the floor's share of it."""
        row = self.rows[int(self.ratios().argmin())]
        us = row["runs"]["gdn_ref"]["device_us"]
        return row["shape"], us, row["floor_us"] / us

    def __str__(self):
        gpu, python = (self.ratios(what) for what in ("device_us", "eager_us"))
        means = [np.exp(np.log(x).mean()) for x in (gpu, python)]
        return (
            f"{self.name:9} on {len(gpu)} shapes: {means[0]:.2f} times our time on the GPU, "
            f"least {gpu.min():.2f}; {means[1]:.2f} times from Python"
        )


OPERANDS = ("the state that is read", "scores", "residual", "UT transform", "delta, for outputs",
            "delta, for the state", "outputs")  # fmt: skip


def rounded_scan(rounding, C=64, T=256, d=64, seed=0):
    """Outputs of the kernel's lines, with `rounding[name]` applied to the operands it names."""
    inputs = [torch.from_numpy(x) for x in hard_inputs(T=T, d_k=d, d_v=d, seed=seed)]
    q, k, v = (x.to(torch.bfloat16).double() for x in inputs[:3])
    g, beta, S = inputs[3:]
    beta = beta / 2

    def operand(name, x):
        return x.to(rounding[name]).double() if name in rounding else x

    outputs = []
    for start in range(0, T, C):
        at = slice(start, start + C)
        gamma, Gamma = decay(g[at])
        UT = wy.solve(wy.interaction(k[at], beta[at], Gamma), torch.diag(beta[at]))
        S_in = operand("the state that is read", S)
        scores = operand("scores", Gamma.T * (k[at] @ q[at].T))
        residual = operand("residual", v[at].T - gamma * (S_in @ k[at].T))
        delta = residual @ operand("UT transform", UT).T
        o = gamma * (S_in @ q[at].T) + operand("delta, for outputs", delta) @ scores
        outputs.append(operand("outputs", o).T)
        S = gamma[-1] * S + operand("delta, for the state", Gamma[-1] * delta) @ k[at]
    return torch.cat(outputs)


@cache
def operand_errors():
    """dtype -> operand -> relative error of the outputs, that operand alone rounded."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # on matrices of this size threads only wait for each other
    try:
        exact = rounded_scan({})
        return {
            str(dtype).removeprefix("torch."): {
                name: relative_error(rounded_scan({name: dtype}), exact) for name in OPERANDS
            }
            for dtype in (torch.bfloat16, torch.float16)
        }
    finally:
        torch.set_num_threads(threads)


def squared_sum(errors):
    """The root of the sum of squares: what independent roundings add up to."""
    return float(np.sqrt(sum(error**2 for error in errors)))
