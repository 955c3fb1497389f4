"""The gate's own parameters: float32 and out of weight decay, whatever happens to a model.

They pass through `exp` and `softplus`, where 16 bits cost the decay more than anywhere else, and
their pull towards zero would be a pull towards one half-life. A model is cast, moved, copied and
loaded as a whole, by code that knows neither.
"""

import torch
from torch import nn


class GateParameters(nn.Module):
    """A module whose own parameters, those of no submodule, are a gate's.

    They are float32 at least and have `_no_weight_decay = True`: after `to`, `half`, `bfloat16` and
    the like, `copy.deepcopy`, `pickle`, and `load_state_dict` with `assign=True`, of the module
    or of a model around it. A subclass calls `keep_gate` when it has made them.
    """

    def keep_gate(self):
        """Widen what is narrower than float32, and mark them all."""
        for name, x in self._parameters.items():
            if widened(x.dtype) != x.dtype:
                self._parameters[name] = nn.Parameter(x.detach().float(), x.requires_grad)
            self._parameters[name]._no_weight_decay = True

    def _apply(self, fn, recurse=True):
        def apply(x):
            y = fn(x)
            return y if widened(y.dtype) == y.dtype else x.to(y.device, widened(y.dtype))

        if recurse:
            for module in self.children():
                module._apply(fn)
        super()._apply(apply, recurse=False)
        self.keep_gate()  # to the meta device, for one, go new parameters
        return self

    def _load_from_state_dict(self, *arguments):
        super()._load_from_state_dict(*arguments)
        self.keep_gate()

    def __setstate__(self, state):
        super().__setstate__(state)
        self.keep_gate()


def widened(dtype):
    """The type itself, or float32 where that is wider."""
    return torch.promote_types(dtype, torch.float32)
