"""What every process tells Prometheus.  `catalogue.py` is read first."""
