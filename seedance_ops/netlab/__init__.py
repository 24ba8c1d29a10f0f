"""The network laboratory: ranks in network namespaces of their own, joined by links of a chosen speed."""
