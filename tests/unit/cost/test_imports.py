"""Other tools' price lists are read with suspicion: each known trap is caught."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from seedance_ops.cost.catalogue import load_prices
from seedance_ops.cost.errors import CurrenciesMixed
from seedance_ops.cost.hardware import load_hardware
from seedance_ops.cost.imports.imported import ImportFailed
from seedance_ops.cost.imports.opencost import read_opencost
from seedance_ops.cost.imports.skypilot import read_skypilot

HARDWARE = load_hardware(Path(__file__).resolve().parents[3] / "include" / "catalog" / "hardware.yaml")
DAY = date(2026, 1, 2)
HEADER = (
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,"
    "AvailabilityZone\n"
)
# Rows as SkyPilot's catalogue has them (catalogs/v8/aws, v5/azure, v8/gcp).
P4D = "p4d.24xlarge,A100,8.0,96.0,1152.0,{{}},21.957642,{spot},us-east-1,use1-az{zone}\n"
NC40 = "Standard_NC40ads_H100_v5,H100,1,40.0,320,H100,6.98,6.98,eastus,\n"
ND96 = "Standard_ND96isr_H100_v5,H100,12,96.0,1900,H100,98.32,98.32,eastus,\n"
A2_HOST = "a2-highgpu-1g,,,12.0,85.0,,0.73948,0.36975,us-central1,us-central1-a\n"
A100_GPU = ",A100,1,,,A100,2.93391,1.46696,us-central1,us-central1-a\n"


@pytest.fixture
def skypilot(tmp_path):
    def read(rows: str, **more):
        (tmp_path / "vms.csv").write_text(HEADER + rows, encoding="utf-8")
        return read_skypilot(tmp_path / "vms.csv", provider="aws", day=DAY, hardware=HARDWARE, **more)

    return read


def kinds(found):
    return [(finding.kind, finding.refused) for finding in found.findings]


def test_the_zones_of_a_region_become_one_entry_and_the_lowest_spot_price_another(skypilot):
    rows = P4D.format(spot="8.19", zone=1) + P4D.format(spot="2.47", zone=2) + P4D.format(spot="", zone=3)
    found = skypilot(rows)
    assert kinds(found) == []
    assert list(found.entries) == ["aws-p4d.24xlarge-us-east-1", "aws-p4d.24xlarge-us-east-1-spot"]
    listed, spot = found.entries.values()
    assert (listed.usd_per_node_hour, listed.accelerators_per_node, listed.basis) == (21.957642, 8, "list")
    assert (spot.usd_per_node_hour, spot.basis, spot.accelerator) == (2.47, "spot", "a100-40gb")
    assert listed.date == DAY
    assert "row 2" in listed.source


def test_the_yaml_is_ready_for_the_catalogue(skypilot, tmp_path):
    found = skypilot(P4D.format(spot="8.19", zone=1))
    (tmp_path / "prices.yaml").write_text(found.as_yaml(), encoding="utf-8")
    assert "&id" not in found.as_yaml()  # an entry is copied alone
    assert load_prices(tmp_path / "prices.yaml").entries == found.entries


def test_trap_an_azure_node_with_twelve_accelerators_has_eight(skypilot):
    found = skypilot(ND96)
    assert kinds(found) == [("wrong_count", True)]
    assert "12 accelerators, has 8" in found.findings[0].message
    assert found.entries == {}


def test_an_unusual_number_of_accelerators_is_doubtful_where_the_type_is_not_known(skypilot):
    found = skypilot(NC40.replace("H100,1,", "H100,12,").replace("6.98,6.98", "88.0,"))
    assert kinds(found) == [("odd_count", False)]
    assert len(found.entries) == 1


def test_trap_the_sentinel_price_is_no_price(skypilot):
    assert kinds(skypilot(P4D.format(spot="", zone=1).replace("21.957642", "700.0"))) == [("sentinel", True)]


def test_trap_duplicate_rows_are_taken_once_and_named(skypilot):
    found = skypilot(P4D.format(spot="8.19", zone=1) * 2)
    assert kinds(found) == [("duplicate", False)]
    assert len(found.entries) == 2


def test_trap_duplicate_rows_that_disagree_are_refused(skypilot):
    found = skypilot(P4D.format(spot="", zone=1) + P4D.format(spot="", zone=1).replace("21.957642", "32.77"))
    assert kinds(found) == [("disagreement", True)]
    assert found.entries == {}


def test_trap_a_host_and_its_accelerator_in_rows_of_their_own_give_no_price(skypilot):
    found = skypilot(A2_HOST + A100_GPU)
    assert kinds(found) == [("host_alone", True), ("accelerator_alone", True)]
    assert found.entries == {}


def test_trap_a_spot_price_that_is_the_list_price_gives_no_spot_entry(skypilot):
    found = skypilot(NC40)
    assert kinds(found) == [("spot_is_list", False)]
    assert [entry.basis for entry in found.entries.values()] == ["list"]
    assert (
        skypilot(P4D.format(spot="21.957600", zone=1)).findings[0].kind == "spot_is_list"
    )  # rounded by the list


def test_trap_an_empty_price_gives_no_entry(skypilot):
    assert kinds(skypilot(NC40.replace("6.98,6.98", ","))) == [("empty_price", True)]


@pytest.mark.parametrize("price", ["nan", "inf", "-1", "0", "cheap"])
def test_a_price_that_is_no_number_above_zero_is_refused(price, skypilot):
    assert kinds(skypilot(NC40.replace("6.98,6.98", f"{price},"))) == [("bad_number", True)]


@pytest.mark.parametrize("count", ["nan", "inf", "0", "-1", "1.5", "few", ""])
def test_a_number_of_accelerators_that_cannot_be_is_refused(count, skypilot):
    assert kinds(skypilot(NC40.replace("H100,1,", f"H100,{count},"))) == [("bad_number", True)]


@pytest.mark.parametrize("spot", ["nan", "0", "-1"])
def test_a_spot_price_that_is_no_number_above_zero_gives_no_spot_entry(spot, skypilot):
    found = skypilot(NC40.replace("6.98,6.98", f"6.98,{spot}"))
    assert kinds(found) == [("bad_number", False)]
    assert len(found.entries) == 1


def test_a_price_per_second_is_out_of_bounds(skypilot):
    found = skypilot(NC40.replace("6.98,6.98", "0.00194,"))
    assert kinds(found) == [("out_of_bounds", True)]
    assert "per second" in found.findings[0].message


def test_other_regions_and_machines_without_accelerators_are_skipped_and_counted(skypilot):
    rows = NC40 + P4D.format(spot="", zone=1) + "m5.large,,,2,8,,0.096,,us-east-1,use1-az1\n"
    found = skypilot(rows, region="us-east-1")
    assert list(found.entries) == ["aws-p4d.24xlarge-us-east-1"]
    assert found.skipped == 2


def test_an_accelerator_without_bounds_is_doubtful(skypilot):
    assert kinds(skypilot(NC40.replace("H100,1", "B200,1").replace("6.98,6.98", "6.98,"))) == [
        ("unknown_accelerator", False)
    ]


def test_no_key_is_overwritten_or_shortened_in_silence(skypilot):
    same = skypilot(NC40 + NC40.replace("Standard_NC40ads_H100_v5", "NC40ads-H100-v5"))
    assert ("bad_entry", True) in kinds(same)
    assert len(same.entries) == 1
    assert ("bad_entry", True) in kinds(skypilot(NC40.replace("ads", "a" * 60)))
    assert list(skypilot(NC40.replace("NC40ads", "NC 40+ads")).entries) == ["aws-nc-40-ads-h100-v5-eastus"]


@pytest.mark.parametrize("text", ["a,b\n1,2\n", ""])
def test_another_csv_is_refused(text, tmp_path):
    (tmp_path / "x.csv").write_text(text, encoding="utf-8")
    with pytest.raises(ImportFailed, match="InstanceType"):
        read_skypilot(tmp_path / "x.csv", provider="aws", day=DAY)
    with pytest.raises(ImportFailed, match="No such file"):
        read_skypilot(tmp_path / "none.csv", provider="aws", day=DAY)


# An answer of OpenCost's /allocation: a set per window, allocations by name.
def allocation(**fields):
    return {
        "name": "team",
        "window": {"start": "2026-01-01T00:00:00Z", "end": "2026-01-02T00:00:00Z"},
    } | fields


@pytest.fixture
def opencost(tmp_path):
    def read(*allocations, **more):
        answer = {"code": 200, "data": [{str(n): one for n, one in enumerate(allocations)}]}
        (tmp_path / "a.json").write_text(json.dumps(answer), encoding="utf-8")
        return read_opencost(tmp_path / "a.json", provider="lab", day=DAY, hardware=HARDWARE, **more)

    return read


def test_a_cluster_charges_the_sum_of_its_costs_over_the_sum_of_its_hours(opencost):
    rows = [
        allocation(gpuHours=8.0, gpuCost=10.0, gpuCostAdjustment=2.0, cpuCoreHours=100.0, cpuCost=3.0),
        allocation(gpuHours=2.0, gpuCost=8.0, cpuCoreHours=0.0, cpuCost=0.0),
    ]
    found = opencost(*rows, accelerator="a100-80gb")
    assert found.findings == ()
    assert found.entries["lab-gpu"].usd_per_accelerator_hour == pytest.approx(2.0)
    assert found.entries["lab-cpu-core"].usd_per_accelerator_hour == pytest.approx(0.03)


def test_trap_opencosts_default_gpu_price_is_no_price(opencost):
    found = opencost(allocation(gpuHours=10.0, gpuCost=9.5), accelerator="a100-80gb")
    assert kinds(found) == [("default_price", True)]
    assert found.entries == {}


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"gpuHours": 0.0, "gpuCost": 5.0}, "no_hours"),
        ({"gpuHours": -1.0, "gpuCost": 5.0}, "bad_number"),
        ({"gpuHours": 1.0, "gpuCost": "NaN"}, "bad_number"),
    ],
)
def test_hours_and_costs_that_cannot_be_are_refused(fields, kind, opencost):
    found = opencost(allocation(**fields), accelerator="a100-80gb")
    assert kinds(found) == [(kind, True)]
    assert found.entries == {}


def test_without_a_model_the_price_has_no_bounds_and_says_so(opencost):
    found = opencost(allocation(gpuHours=1.0, gpuCost=2.0))
    assert kinds(found) == [("unknown_accelerator", False)]
    assert "lab-gpu" in found.entries


def test_a_price_out_of_bounds_is_refused(opencost):
    found = opencost(allocation(gpuHours=1.0, gpuCost=2.0 * 3600), accelerator="a100-80gb")
    assert kinds(found) == [("out_of_bounds", True)]


def test_two_currencies_are_an_error(opencost, tmp_path):
    with pytest.raises(CurrenciesMixed, match="CNY, USD"):
        opencost(allocation(gpuHours=1.0, currency="USD"), allocation(gpuHours=1.0, currency="CNY"))
    (tmp_path / "a.csv").write_text("gpuHours,gpuCost,currency\n1,2,EUR\n", encoding="utf-8")
    with pytest.raises(CurrenciesMixed, match="EUR"):
        read_opencost(tmp_path / "a.csv", provider="lab", day=DAY)


def test_the_same_fields_as_csv(tmp_path):
    (tmp_path / "a.csv").write_text("Name,GPUHours,GPUCost\nteam,4,8\nother,,\n", encoding="utf-8")
    found = read_opencost(tmp_path / "a.csv", provider="lab", day=DAY, accelerator="a100-80gb")
    assert found.entries["lab-gpu"].usd_per_accelerator_hour == pytest.approx(2.0)


@pytest.mark.parametrize(
    "text", ["", "{", "{}", "[1]", '{"data": [{"a": 1}]}', '{"data": [{"a": {"name": "x"}}]}']
)
def test_what_is_no_allocation_export_is_refused(text, tmp_path):
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    with pytest.raises(ImportFailed, match=r"a\.json"):
        read_opencost(tmp_path / "a.json", provider="lab", day=DAY)
