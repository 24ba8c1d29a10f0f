"""A small GPT on bytes, trained on the source text of the running Python's standard library.

    python examples/char_gpt.py
    torchrun --nproc-per-node 2 examples/char_gpt.py --layers 4 --width 128

The lines marked ``# seedance`` are all that differs from a plain PyTorch script. Shapes: B batch, T context,
C width, V vocabulary (256 bytes).
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import sysconfig
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from seedance_ops.training.session import TrainingSession  # seedance

VOCABULARY = 256
CORPUS_BYTES = 4_000_000


class Block(nn.Module):
    """Causal self-attention and an MLP, each on a normalised residual stream."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm, self.mlp_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query_key_value, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x_btc: torch.Tensor) -> torch.Tensor:
        """(B, T, C) → (B, T, C)."""
        batch, context, width = x_btc.shape
        split = self.query_key_value(self.attention_norm(x_btc)).view(batch, context, 3, self.heads, -1)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x_btc = x_btc + self.project(mixed.transpose(1, 2).reshape(batch, context, width))
        hidden_btc: torch.Tensor = self.mlp(self.mlp_norm(x_btc))
        return x_btc + hidden_btc


class CharGPT(nn.Module):
    """A decoder-only transformer over bytes."""

    def __init__(self, layers: int, width: int, heads: int, context: int) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(VOCABULARY, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, tokens_bt: torch.Tensor, targets_bt: torch.Tensor) -> torch.Tensor:
        """The mean cross-entropy in nats per byte."""
        positions = torch.arange(tokens_bt.shape[1], device=tokens_bt.device)
        x_btc = self.blocks(self.token(tokens_bt) + self.position(positions))
        return F.cross_entropy(self.head(self.norm(x_btc)).flatten(0, 1), targets_bt.flatten())


def standard_library_text(limit: int = CORPUS_BYTES) -> tuple[torch.Tensor, torch.Tensor]:
    """Training and validation bytes: every tenth file, by the hash of its name, is held out."""
    root = Path(sysconfig.get_path("stdlib"))
    training: list[bytes] = []
    validation: list[bytes] = []
    size = 0
    for path in sorted([*root.glob("*.py"), *root.glob("*/*.py")]):
        name = path.relative_to(root).as_posix()
        if name.partition("/")[0].removesuffix(".py") not in sys.stdlib_module_names:
            continue
        held_out = hashlib.sha256(name.encode()).digest()[0] < 26
        (validation if held_out else training).append(text := path.read_bytes())
        size += len(text)
        if size > limit:
            break
    return as_bytes(training), as_bytes(validation)


def as_bytes(texts: list[bytes]) -> torch.Tensor:
    """One tensor of bytes."""
    return torch.frombuffer(bytearray(b"\n".join(texts)), dtype=torch.uint8)


def windows(
    text: torch.Tensor, samples: range, context: int, seed: int, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs and targets, (B, T) each: sample i is the same window for every world size and batch size."""
    starts = []
    for sample in samples:
        digest = hashlib.blake2b(f"{seed}:{sample}".encode(), digest_size=8).digest()
        starts.append(int.from_bytes(digest, "little") % (len(text) - context - 1))
    rows = torch.stack([text[start : start + context + 1] for start in starts]).long().to(device)
    return rows[:, :-1], rows[:, 1:]


@torch.no_grad()
def evaluate(model: nn.Module, text: torch.Tensor, args: argparse.Namespace, device: torch.device) -> float:
    """Mean loss over fixed validation batches."""
    model.eval()
    batches = [range(start, start + 16) for start in range(0, 16 * args.eval_batches, 16)]
    losses = [float(model(*windows(text, batch, args.context, 0, device))) for batch in batches]
    model.train()
    return sum(losses) / len(losses)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Train a byte-level GPT on the standard library's source.")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--context", type=int, default=96)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=100, help="optimiser steps, where no plan says")
    parser.add_argument("--batch", type=int, default=8, help="samples per rank and step, where no plan says")
    parser.add_argument("--eval-every", type=int, default=25, help="steps between evaluations")
    parser.add_argument("--eval-batches", type=int, default=4)
    return parser.parse_args()


def main() -> None:
    """Train, and print the validation loss."""
    args = arguments()
    training, validation = standard_library_text()
    with TrainingSession.from_environment(steps=args.steps, batch_per_rank=args.batch) as session:  # seedance
        device, seed = session.device, session.seed  # seedance
        model: nn.Module = CharGPT(args.layers, args.width, args.heads, args.context)
        optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
        model, optimizer = session.prepare(model, optimizer, tokens_per_sample=args.context)  # seedance
        for step in session.steps():  # seedance
            loss = model(*windows(training, step.samples, args.context, seed, device))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            session.record(loss)  # seedance
            if step.number % args.eval_every == 0 or step.last:
                val_loss = evaluate(model, validation, args, device)
                session.report(val_loss=val_loss)  # seedance
                if session.rank == 0:
                    print(f"step {step.number} loss {loss.item():.4f} val_loss {val_loss:.4f}", flush=True)


if __name__ == "__main__":
    main()
