"""What could be a secret is recognised; what only sounds like one is not."""

from __future__ import annotations

import pytest

from seedance_ops.jobs.secrecy import looks_like_a_secret, masked_line, names_a_secret


@pytest.mark.parametrize(
    "name",
    [
        "HF_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "password",
        "db-password",
        "apiKey",
        "WANDB_API_KEY",
        "CREDENTIALS",
    ],
)
def test_names_of_secrets(name):
    assert names_a_secret(name)


@pytest.mark.parametrize(
    "name", ["max_tokens", "tokenizer", "eos_token", "sort_key", "monkey", "SECRET_FILE", "layers"]
)
def test_names_that_only_sound_like_secrets(name):
    assert not names_a_secret(name)


@pytest.mark.parametrize(
    "value",
    [
        "AKIA" + "A1" * 8,
        "ghp_" + "a" * 36,
        "hf_" + "a" * 34,
        "-----BEGIN RSA PRIVATE KEY-----",
        "postgres://user:swordfish@host/db",
    ],
)
def test_forms_of_secrets(value):
    assert looks_like_a_secret(f"x {value}")


@pytest.mark.parametrize(
    "value", ["s3://bucket/key", "https://host:8080/path@x", "env:HF_TOKEN", "examples/a.py"]
)
def test_forms_of_what_is_none(value):
    assert not looks_like_a_secret(value)


@pytest.mark.parametrize(
    "line", ["  TOKEN: swordfish", "env: {HF_TOKEN: swordfish, A: b}", "command: [x, --password=swordfish]"]
)
def test_a_line_is_masked_where_it_names_a_secret(line):
    assert "swordfish" not in masked_line(line)


@pytest.mark.parametrize(
    "command", ["[x, --password=swordfish]", "[x, --api-key, swordfish]", "[env, HF_TOKEN=swordfish, x]"]
)
def test_a_secret_in_a_command_is_found(command, spoil, errors_of):
    (error,) = errors_of(spoil(("entrypoint: examples/char_gpt.py", f"command: {command}")))
    assert "secret" in error.message
    assert "swordfish" not in error.render()


def test_the_key_of_a_price_is_no_secret_and_a_token_beside_it_is_one(spoil, errors_of):
    def excerpt_of(price):
        text = spoil(("repeats:", f"prices: {{egress_usd_per_gb: {price}}}\nrepeats:"))
        return errors_of(text)[0].render()

    assert "key: egress-eu" in excerpt_of("{usd: 0.09, key: egress-eu, date: 3}")
    assert "swordfish" not in excerpt_of("{usd: 0.09, key: egress-eu, token: swordfish, date: 3}")
    written = spoil(("repeats:", "prices: {egress_usd_per_gb: {usd: 1, key: 17}}\nrepeats:"))
    assert "    value: 17" in errors_of(written)[0].render()


def test_any_other_key_is_one(spoil, errors_of):
    (error, *_) = errors_of(spoil(("args: {layers: 2}", "args: {key: swordfish}\n  nonsense: 1")))
    assert "swordfish" not in error.render()
