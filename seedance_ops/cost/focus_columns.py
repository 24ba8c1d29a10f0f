"""The columns of FOCUS 1.2 (FinOps Open Cost and Usage Specification) that this project writes."""

from __future__ import annotations

MANDATORY = (
    "BilledCost",
    "BillingAccountId",
    "BillingAccountName",
    "BillingCurrency",
    "BillingPeriodEnd",
    "BillingPeriodStart",
    "ChargeCategory",
    "ChargeClass",
    "ChargeDescription",
    "ChargePeriodEnd",
    "ChargePeriodStart",
    "ContractedCost",
    "EffectiveCost",
    "InvoiceIssuerName",
    "ListCost",
    "PricingQuantity",
    "PricingUnit",
    "ProviderName",
    "PublisherName",
    "ServiceCategory",
    "ServiceName",
)
"""The 21 columns whose feature level is Mandatory in version 1.2."""

CONDITIONAL = (
    "ChargeFrequency",
    "ConsumedQuantity",
    "ConsumedUnit",
    "ContractedUnitPrice",
    "ListUnitPrice",
    "PricingCategory",
    "PricingCurrency",
    "ResourceId",
    "ServiceSubcategory",
    "SkuPriceId",
    "Tags",
)
"""Of the conditional and recommended ones, those for which a ledger has something to say."""

CUSTOM = (
    "x_variant",
    "x_seed",
    "x_phase",
    "x_stage",
    "x_component",
    "x_tier",
    "x_job",
    "x_run_id",
    "x_source",
    "x_price_key",
    "x_price_date",
    "x_price_basis",
)
"""Ours; the specification reserves the prefix ``x_`` for such."""

COLUMNS = (*MANDATORY, *CONDITIONAL, *CUSTOM)
NUMBERS = frozenset(
    {
        "BilledCost",
        "ContractedCost",
        "EffectiveCost",
        "ListCost",
        "PricingQuantity",
        "ConsumedQuantity",
        "ContractedUnitPrice",
        "ListUnitPrice",
    }
)
TIMES = frozenset({"BillingPeriodStart", "BillingPeriodEnd", "ChargePeriodStart", "ChargePeriodEnd"})
INTEGERS = frozenset({"x_seed"})

SERVICES = {
    "accelerator_time": ("Compute", "Other (Compute)"),
    "idle": ("Compute", "Other (Compute)"),
    "queue": ("Compute", "Other (Compute)"),
    "host": ("Compute", "Virtual Machines"),
    "storage": ("Storage", "Object Storage"),
    "requests": ("Storage", "Object Storage"),
    "egress": ("Networking", "Other (Networking)"),
    "energy": ("Other", "Other (Other)"),
}
"""Component → ServiceCategory and ServiceSubcategory, from the specification's closed lists."""

UNITS = {
    "accelerator·h": "Accelerator-Hours",
    "node·h": "Node-Hours",
    "GB·month": "GB-Months",
    "1000 requests": "1000 Requests",
    "GB": "GB",
    "kWh": "kWh",
}
"""The ledger's units in the specification's unit format."""
