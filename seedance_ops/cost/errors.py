"""What is wrong with numbers that somebody wants priced."""

from __future__ import annotations


class CostError(ValueError):
    """A cost cannot be computed; the message names the thing, its value and what is allowed."""


class BadQuantity(CostError):  # noqa: N818 - named for what is wrong, like the store's errors
    """A quantity is negative, missing or infinite, or zero where something is divided by it."""


class CurrenciesMixed(CostError):  # noqa: N818
    """Amounts in more than one currency, or in another than the ledger's."""


class LedgerDoesNotAddUp(CostError):  # noqa: N818
    """The ledger's rows do not sum to what the runs are said to have cost."""
