"""The harness of the experiments: runner, splits, systems, figures and reports.

Needs the extra "train".
"""

from __future__ import annotations
