"""Prices come from the catalogue, with source, date and basis, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from seedance_ops.cost.catalogue import CatalogueError, Price, PriceMissing, load_prices

ENTRY = "{usd_per_accelerator_hour: 1.5, source: a list, date: 2026-01-02, basis: list}"
SHIPPED = Path(__file__).resolve().parents[3] / "include" / "catalog" / "prices.yaml"


@pytest.fixture
def catalogue(tmp_path):
    def load(text: str):
        file = tmp_path / "prices.yaml"
        file.write_text(text, encoding="utf-8")
        return load_prices(file)

    return load


def test_a_nodes_price_is_shared_out_over_its_accelerators(catalogue):
    entry = "{usd_per_node_hour: 55.04, accelerators_per_node: 8, source: aws, date: 2026-01-02, basis: list}"
    assert catalogue(f"prices: {{p5: {entry}}}").price(
        "p5", variant="a"
    ).usd_per_accelerator_hour == pytest.approx(6.88)


def test_a_missing_price_names_the_key_the_variant_the_file_and_what_there_is(catalogue):
    with pytest.raises(PriceMissing) as caught:
        catalogue(f"prices: {{a100: {ENTRY}}}").price("h100", variant="topk")
    for part in ("'h100'", "topk", "prices.yaml", "a100"):
        assert part in str(caught.value)


def test_a_missing_file_is_a_missing_price(tmp_path):
    with pytest.raises(PriceMissing, match=r"there is no price catalogue .*none\.yaml"):
        load_prices(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    "entry",
    [
        "{usd_per_accelerator_hour: .nan, source: a list, date: 2026-01-02, basis: list}",
        "{usd_per_accelerator_hour: 0, source: a list, date: 2026-01-02, basis: list}",
        "{usd_per_accelerator_hour: -1, source: a list, date: 2026-01-02, basis: list}",
        "{usd_per_accelerator_hour: 36000, source: a list, date: 2026-01-02, basis: list}",
        "{usd_per_accelerator_hour: 1, date: 2026-01-02, basis: list}",
        "{usd_per_accelerator_hour: 1, source: a list, date: 2026-01-02, basis: guessed}",
        "{usd_per_accelerator_hour: 1, source: a list, date: 2026-01-02, basis: list, eur: 1}",
        "{usd_per_accelerator_hour: 1, source: a list, date: 2026-01-02, basis: list, currency: EUR}",
        "{usd_per_node_hour: 1, source: a list, date: 2026-01-02, basis: list}",
        "{usd_per_node_hour: 1, usd_per_accelerator_hour: 1, source: a list, date: 2026-01-02, basis: list}",
    ],
)
def test_a_price_that_cannot_be_right_is_refused_by_name(entry, catalogue):
    with pytest.raises(CatalogueError, match=r"prices\.a"):
        catalogue(f"prices: {{a: {entry}}}")


@pytest.mark.parametrize("text", ["", "[]", "prices: 1", "a: {", "!!python/object:os.system {}"])
def test_what_is_no_catalogue_is_refused(text, catalogue):
    with pytest.raises(CatalogueError):
        catalogue(text)


def test_the_shipped_catalogue_prices_the_local_launcher():
    price = load_prices(SHIPPED).price("local-cpu", variant="baseline")
    assert price.usd_per_accelerator_hour == pytest.approx(0.0425)
    assert price.basis == "list"


@pytest.fixture
def overlaid(tmp_path):
    def load(text: str):
        base, own = tmp_path / "prices.yaml", tmp_path / "contract.yaml"
        base.write_text(f"prices: {{a100: {ENTRY}, h100: {ENTRY}}}", encoding="utf-8")
        own.write_text(text, encoding="utf-8")
        return load_prices(base, overlay=own)

    return load


def test_a_contract_replaces_and_adds_and_is_marked_as_such(overlaid):
    mine = "{usd_per_accelerator_hour: 0.9, source: contract 7, date: 2026-01-03}"
    catalogue = overlaid(f"prices: {{a100: {mine}, b200: {mine}}}")
    replaced, kept = catalogue.price("a100", variant="v"), catalogue.price("h100", variant="v")
    assert (replaced.usd_per_accelerator_hour, replaced.basis, replaced.origin) == (0.9, "contracted", "user")
    assert (kept.usd_per_accelerator_hour, kept.basis, kept.origin) == (1.5, "list", "catalogue")
    assert catalogue.price("b200", variant="v").origin == "user"


def test_a_contract_may_say_its_basis(overlaid):
    mine = "{usd_per_accelerator_hour: 0.9, source: own books, date: 2026-01-03, basis: amortised}"
    assert overlaid(f"prices: {{a100: {mine}}}").price("a100", variant="v").basis == "amortised"


def test_a_broken_contract_is_named(overlaid, tmp_path):
    with pytest.raises(CatalogueError, match=r"contract\.yaml.*prices\.a100"):
        overlaid("prices: {a100: {usd_per_accelerator_hour: 0.9}}")
    with pytest.raises(PriceMissing, match=r"gone\.yaml"):
        load_prices(SHIPPED, overlay=tmp_path / "gone.yaml")


def test_a_price_of_an_older_manifest_is_still_read():
    old = {"key": "k", "usd_per_accelerator_hour": 1.0, "source": "s", "date": "2026-01-02", "basis": "list"}
    assert Price.model_validate(old).origin == "catalogue"


def test_the_shipped_catalogue_has_about_twenty_instance_types():
    catalogue = load_prices(SHIPPED)
    assert len({entry.instance_type for entry in catalogue.entries.values()} - {None}) >= 18
    # The published list prices of two of them, USD per accelerator and hour.
    assert catalogue.price("aws-p5.48xlarge", variant="v").usd_per_accelerator_hour == pytest.approx(6.88)
    assert catalogue.price("aws-p3.16xlarge", variant="v").usd_per_accelerator_hour == pytest.approx(3.06)
