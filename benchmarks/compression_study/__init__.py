"""The benchmark ``compression``: quality on three tasks, step times on shaped links, tables of both."""
