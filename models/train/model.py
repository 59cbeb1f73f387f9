"""The model: a small decoder of Qwen3's architecture, as llama.cpp runs it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

# What is read out of a text is no matter of chance. Clients that state no temperature get 1, which
# with logits this much larger draws as 0.2 would. The export makes them so.
SHARPNESS = 5.0


def quick(device: str) -> torch.dtype:
    """What is fastest to count in: CPUs that only imitate bfloat16 take several times as long with it."""
    if device == "cpu" and not any(has for name, has in torch.cpu.get_capabilities().items() if "bf16" in name):
        return torch.float32
    return torch.bfloat16


@dataclass
class Config:
    """Its sizes."""

    vocab: int = 3_072
    dim: int = 384
    layers: int = 10
    heads: int = 6
    kv_heads: int = 2
    head_dim: int = 64
    ff: int = 1_024
    theta: float = 10_000.0
    eps: float = 1e-6
    context: int = 8_192


class Norm(nn.Module):
    """RMS norm."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.weight.shape, self.weight.to(x.dtype), self.eps)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary positions, in halves; counted in float32, as llama.cpp does."""
    a, b = x.float().chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1).to(x.dtype)


def attended(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention. Written out for CPUs, where the backward pass of torch's own takes several
    times as long on sequences as short as these."""
    (batch, heads, length, size), kv_heads = q.shape, k.shape[1]
    if q.device.type != "cpu":
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    # The heads that share keys stand below each other, so that these are not copied.
    q = (q * size**-0.5).reshape(batch, kv_heads, heads // kv_heads * length, size)
    scores = (q @ k.transpose(-1, -2)).view(batch, heads, length, length)
    later = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1)
    shares = scores.masked_fill(later, float("-inf")).softmax(-1)
    return (shares.view(batch, kv_heads, heads // kv_heads * length, length) @ v).view(batch, heads, length, size)


class Block(nn.Module):
    """Attention and feed-forward."""

    def __init__(self, c: Config) -> None:
        super().__init__()
        self.c = c
        self.attn_norm = Norm(c.dim, c.eps)
        self.attn_q = nn.Linear(c.dim, c.heads * c.head_dim, bias=False)
        self.attn_k = nn.Linear(c.dim, c.kv_heads * c.head_dim, bias=False)
        self.attn_v = nn.Linear(c.dim, c.kv_heads * c.head_dim, bias=False)
        self.attn_output = nn.Linear(c.heads * c.head_dim, c.dim, bias=False)
        self.attn_q_norm = Norm(c.head_dim, c.eps)
        self.attn_k_norm = Norm(c.head_dim, c.eps)
        self.ffn_norm = Norm(c.dim, c.eps)
        self.ffn_gate = nn.Linear(c.dim, c.ff, bias=False)
        self.ffn_up = nn.Linear(c.dim, c.ff, bias=False)
        self.ffn_down = nn.Linear(c.ff, c.dim, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        c, (batch, length, _) = self.c, x.shape
        h = self.attn_norm(x)
        q = self.attn_q_norm(self.attn_q(h).view(batch, length, c.heads, c.head_dim)).transpose(1, 2)
        k = self.attn_k_norm(self.attn_k(h).view(batch, length, c.kv_heads, c.head_dim)).transpose(1, 2)
        v = self.attn_v(h).view(batch, length, c.kv_heads, c.head_dim).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        x = x + self.attn_output(attended(q, k, v).transpose(1, 2).reshape(batch, length, -1))
        h = self.ffn_norm(x)
        return x + self.ffn_down(F.silu(self.ffn_gate(h)) * self.ffn_up(h))


class Model(nn.Module):
    """The decoder. Its output shares the weights of its input."""

    def __init__(self, c: Config) -> None:
        super().__init__()
        self.c = c
        self.token_embd = nn.Embedding(c.vocab, c.dim)
        self.blk = nn.ModuleList(Block(c) for _ in range(c.layers))
        self.output_norm = Norm(c.dim, c.eps)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                deep = name.endswith(("attn_output.weight", "ffn_down.weight"))
                nn.init.normal_(weight, std=0.02 / ((2 * c.layers) ** 0.5 if deep else 1.0))
        inverse = c.theta ** (-torch.arange(0, c.head_dim, 2).float() / c.head_dim)
        angles = torch.outer(torch.arange(c.context).float(), inverse)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def hidden(self, ids: Tensor) -> Tensor:
        """The last hidden states."""
        x = self.token_embd(ids).to(quick(ids.device.type))
        cos, sin = self.cos[: ids.shape[1]], self.sin[: ids.shape[1]]
        for block in self.blk:
            x = block(x, cos, sin)
        return self.output_norm(x)

    def loss(self, ids: Tensor, places: Tensor, weights: Tensor, no_end: Tensor, close: int) -> Tensor:
        """The mean loss of the tokens in these places of the flattened `ids`.

        `close` is impossible where `no_end` says so.
        """
        hidden = self.hidden(ids).flatten(0, 1).index_select(0, places - 1)
        logits = F.linear(hidden, self.token_embd.weight.to(hidden.dtype)).float()
        logits[:, close] = logits[:, close].masked_fill(no_end, -1e9)
        each = F.cross_entropy(logits, ids.flatten()[places], reduction="none")
        return (each * weights).sum() / weights.sum()
