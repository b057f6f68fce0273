"""A differentiable scatter for torch: forward and backward by scattergen, without a copy of any tensor.

python torch_autograd.py
"""

from __future__ import annotations

from typing import Any

import torch

import scattergen


class Scatter(torch.autograd.Function):
    """``scatter_elements`` with a reduction, along an axis."""

    @staticmethod
    def forward(
        ctx: Any, data: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor, axis: int, reduction: str
    ) -> torch.Tensor:
        """Return the result."""
        arrays = (data.detach(), indices, updates.detach())
        result = torch.from_numpy(scattergen.scatter_elements(*arrays, axis, reduction))
        ctx.save_for_backward(data, indices, updates, result)
        ctx.attributes = (axis, reduction)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        """Return the gradients of data and updates; indices and attributes have none."""
        data, indices, updates, result = (tensor.detach() for tensor in ctx.saved_tensors)
        found = scattergen.gradients(
            scattergen.scatter_elements, grads[0], data, indices, updates, *ctx.attributes, result=result
        )
        return torch.from_numpy(found.data), None, torch.from_numpy(found.updates), None, None


def main() -> None:
    """Compare with torch's own product, whose gradient has a case for zeros."""
    torch.manual_seed(0)
    data = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    updates = torch.randint(0, 3, (6, 3)).double().requires_grad_()
    indices = torch.randint(0, 4, (6, 3))
    ours = torch.autograd.grad(Scatter.apply(data, indices, updates, 0, "mul").sum(), (data, updates))
    theirs = torch.autograd.grad(data.scatter_reduce(0, indices, updates, "prod").sum(), (data, updates))
    print(all(torch.allclose(one, other) for one, other in zip(ours, theirs, strict=True)))
    print(torch.autograd.gradcheck(lambda d, u: Scatter.apply(d, indices, u, 0, "mul"), (data, updates)))


if __name__ == "__main__":
    main()
