"""Muon for the matrices, AdamW for the rest: fewer tokens are needed than with AdamW alone."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from model import quick

Work = Callable[[Tensor], Tensor]
Spread = Callable[[list[Tensor], Work], list[Tensor]]


def orthogonal(matrix: Tensor, steps: int = 5) -> Tensor:
    """The nearest matrix whose singular values are about 1 (Newton-Schulz)."""
    a, b, c = 3.4445, -4.7750, 2.0315
    x = matrix.to(quick(matrix.device.type))
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return (x.T if tall else x).to(matrix.dtype)


class Muon(torch.optim.Optimizer):
    """Momentum, made orthogonal; `spread` does the work on several matrices, perhaps with others."""

    def __init__(self, params: list[nn.Parameter], lr: float = 0.02, momentum: float = 0.95) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum})
        self.spread: Spread = lambda matrices, work: [work(matrix) for matrix in matrices]

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        for group in self.param_groups:
            weights = [weight for weight in group["params"] if weight.grad is not None]
            pushed = []
            for weight in weights:
                buffer = self.state[weight].setdefault("momentum", torch.zeros_like(weight))
                buffer.lerp_(weight.grad, 1 - group["momentum"])
                pushed.append(weight.grad.lerp(buffer, group["momentum"]))
            for weight, update in zip(weights, self.spread(pushed, orthogonal)):
                scale = max(1.0, weight.shape[0] / weight.shape[1]) ** 0.5
                weight.mul_(1 - group["lr"] * 0.02).add_(update, alpha=-group["lr"] * scale)


def optimizers(model: nn.Module, lr: float) -> list[torch.optim.Optimizer]:
    """Both, of one model."""
    named = list(model.named_parameters())
    matrices = [weight for name, weight in named if weight.dim() == 2 and "embd" not in name]
    others = [weight for name, weight in named if weight.dim() != 2 or "embd" in name]
    adam = torch.optim.AdamW(others, lr=lr * 0.15, betas=(0.9, 0.98), weight_decay=0.0)
    return [Muon(matrices, lr=lr), adam]
