"""A whole Airflow on this machine, inside the checkout: for demos, tests and single machines."""
