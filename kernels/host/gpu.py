"""What a device is, and what follows from it: the only place that knows vendors and capabilities.

    compute capability                kernels
    9.0, NVIDIA                       all of `hopper/`, for 16-bit inputs, and those of the next row
    from 8.0 on, NVIDIA               `forward/transform_mma.py`, for 16-bit inputs
    any other that Triton knows       the portable kernels; from 10.0 to 11, where large products
                                      have a memory of their own, in tiles that do not use it

From 9.0 on a kernel can start while the one before it ends (`launch.launcher`).

All others ask here, through the module: who pretends to have another device patches this one.
"""

from functools import cache

import torch


@cache
def capability(device):
    """The compute capability of an NVIDIA GPU; (0, 0) of others, whose numbers mean other things:
    gfx90a reports (9, 0) and is no Hopper."""
    return (0, 0) if torch.version.hip else torch.cuda.get_device_capability(device)


def has_hopper_engines(device):
    """Has it the copy engine and the tensor cores of four warps that `hopper/` is made for?"""
    return device.type == "cuda" and capability(device) == (9, 0)


def has_warp_products(device):
    """Has a single warp a tensor core for 16-bit numbers, and copies that bypass registers?"""
    return device.type == "cuda" and capability(device) >= (8, 0)


def has_tensor_memory(device):
    """Does it keep the sums of large products apart from registers, as a B200 or B300 does?"""
    return device.type == "cuda" and capability(device)[0] in (10, 11)


def starts_early(device):
    """Can a kernel be started while the one before it ends?"""
    return device.type == "cuda" and capability(device) >= (9, 0)


@cache
def multiprocessors(device):
    """How many the device has; 1, if it is no GPU."""
    if device.type != "cuda":
        return 1
    return torch.cuda.get_device_properties(device).multi_processor_count
