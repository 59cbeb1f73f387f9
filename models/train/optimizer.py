"""Muon for the matrices, AdamW for the rest: fewer tokens are needed than with AdamW alone."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from model import quick

Work = Callable[[Tensor], Tensor]
Spread = Callable[[list[Tensor], Work], list[Tensor]]


def orthogonal(matrix: Tensor, steps: int = 5) -> Tensor:
    """The nearest matrix whose singular values are about 1 (Newton-Schulz), or those of a stack of matrices."""
    a, b, c = 3.4445, -4.7750, 2.0315
    x = matrix.to(quick(matrix.device.type))
    tall = x.shape[-2] > x.shape[-1]
    x = x.mT if tall else x
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return (x.mT if tall else x).to(matrix.dtype)


def stacked(matrices: list[Tensor], work: Work) -> list[Tensor]:
    """The work on each matrix, those of one shape together: on a GPU a matrix by itself is hardly worth a kernel."""
    shapes: dict[torch.Size, list[int]] = {}
    for index, matrix in enumerate(matrices):
        shapes.setdefault(matrix.shape, []).append(index)
    done = list(matrices)
    for indexes in shapes.values():
        for index, made in zip(indexes, work(torch.stack([matrices[i] for i in indexes])).unbind()):
            done[index] = made
    return done


class Muon(torch.optim.Optimizer):
    """Momentum, made orthogonal; `spread` does the work on several matrices, perhaps with others."""

    def __init__(self, params: list[nn.Parameter], lr: float = 0.02, momentum: float = 0.95) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum})
        self.spread: Spread = stacked

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        for group in self.param_groups:
            weights = [weight for weight in group["params"] if weight.grad is not None]
            gradients = [weight.grad for weight in weights]
            buffers = [self.state[weight].setdefault("momentum", torch.zeros_like(weight)) for weight in weights]
            torch._foreach_lerp_(buffers, gradients, 1 - group["momentum"])
            updates = self.spread(list(torch._foreach_lerp(gradients, buffers, group["momentum"])), orthogonal)
            steps = [-group["lr"] * max(1.0, weight.shape[0] / weight.shape[1]) ** 0.5 for weight in weights]
            torch._foreach_mul_(weights, 1 - group["lr"] * 0.02)
            torch._foreach_add_(weights, torch._foreach_mul(updates, steps))


def optimizers(model: nn.Module, lr: float) -> list[torch.optim.Optimizer]:
    """Both, of one model."""
    named = list(model.named_parameters())
    matrices = [weight for name, weight in named if weight.dim() == 2 and "embd" not in name]
    others = [weight for name, weight in named if weight.dim() != 2 or "embd" in name]
    adam = torch.optim.AdamW(others, lr=lr * 0.15, betas=(0.9, 0.98), weight_decay=0.0)
    return [Muon(matrices, lr=lr), adam]
