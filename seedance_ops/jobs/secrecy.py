"""Tell what could be a secret, so that none is written into a job and none is printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from seedance_ops.jobs.yaml_nodes import Node

MASK = "***"
_SECRET_WORDS = frozenset(
    {"password", "passwd", "passphrase", "pwd", "secret", "secrets", "token", "key", "apikey"}
    | {"credential", "credentials", "pat", "auth"}
)
_HARMLESS = re.compile(
    r"(^|_)((eos|bos|pad|unk|mask|sep|cls|special|stop|start|end)_token"
    r"|(sort|primary|partition|public|foreign|group|cache|dict|map|index)_key)$"
)
_KNOWN_VALUES = re.compile(
    r"\b(AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{16,}"
    r"|\bhf_[A-Za-z0-9]{20,}|\bsk-[A-Za-z0-9_-]{20,}|\bxox[abprs]-[A-Za-z0-9-]{10,}|\bAIza[0-9A-Za-z_-]{30,}"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|://[^/\s:@]*:[^@\s/]+@"
)
_ASSIGNMENT = re.compile(r"^(?:-{1,2})?([A-Za-z][A-Za-z0-9_-]*)(?:=(.+))?$", re.DOTALL)
_KEY_IN_TEXT = re.compile(r"""(["']?)([A-Za-z][A-Za-z0-9_.-]*)\1(\s*[:=]\s*)([^\s{\[][^,}\]#]*)""")
_BASE64_LINE = re.compile(r"[A-Za-z0-9+/=_-]{40,}")
_VALUE_FIELDS = ("env", "args")


def names_a_secret(key: str) -> bool:
    """Whether a variable or option of this name usually holds a secret."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower().replace("-", "_").replace(".", "_")
    return snake.rpartition("_")[2] in _SECRET_WORDS and not _HARMLESS.search(snake)


def looks_like_a_secret(value: str) -> bool:
    """Whether a value has the form of a known kind of credential."""
    return _KNOWN_VALUES.search(value) is not None


def secret_values(root: Node) -> Iterator[tuple[tuple[str | int, ...], Node]]:
    """The values of a job that are, by their name or form, secrets written out."""
    for path, node in root.walk():
        if isinstance(node.value, str) and node.value and path:
            if looks_like_a_secret(node.value) or _named_by_its_place(path, node.value):
                yield path, node
        elif isinstance(node.value, list) and path[-1:] == ("command",):
            yield from _after_an_option(path, node.value)


def _named_by_its_place(path: tuple[str | int, ...], value: str) -> bool:
    words = [part for name in path if isinstance(name, str) for part in name.split(".")]
    if "secrets" in words[:-1] or words[-1] == "secrets":
        return False
    if words[-1] == "command":
        option = _ASSIGNMENT.match(value)
        return bool(option and option[2] and names_a_secret(option[1]))
    return any(field in words[:-1] for field in _VALUE_FIELDS) and names_a_secret(words[-1])


def _after_an_option(
    path: tuple[str | int, ...], items: list[Node]
) -> Iterator[tuple[tuple[str | int, ...], Node]]:
    for index, (option, value) in enumerate(pairwise(items), start=1):
        if not (isinstance(option.value, str) and isinstance(value.value, str)):
            continue
        if option.value.startswith("-") and "=" not in option.value and not value.value.startswith("-"):
            name = _ASSIGNMENT.match(option.value)
            if name and names_a_secret(name[1]):
                yield (*path, index), value


def is_price_key(path: tuple[str | int, ...]) -> bool:
    """Whether a value is what a price is called in its list: a ``key``, but of no lock."""
    return path[:1] == ("prices",) and path[-1:] == ("key",)


def masked_value(path: tuple[str | int, ...], value: str) -> str:
    """A value fit for a message."""
    names = [name for name in path if isinstance(name, str)]
    hidden = "secrets" in names or (
        any(names_a_secret(name) for name in names[-1:]) and not is_price_key(path)
    )
    return MASK if hidden or looks_like_a_secret(value) else value


def masked_line(line: str, *, priced: bool = False) -> str:
    """A line of a job file fit for a message; ``priced``: a ``key`` in it names a price."""

    def masked(match: re.Match[str]) -> str:
        harmless = not names_a_secret(match[2]) or (priced and match[2] == "key")
        return match[0] if harmless else match[0][: match.start(4) - match.start()] + MASK

    line = _KEY_IN_TEXT.sub(masked, line)
    return _BASE64_LINE.sub(MASK, _KNOWN_VALUES.sub(MASK, line))
