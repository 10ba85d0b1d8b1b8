"""Independent audit of the topics: missing, doubled, forged and out-of-order outputs.

No processing code is used.  `auditor` reads the topics once; `marks` says what a record
tells of its input, and whether to believe it; `inputs` counts by offset; `verdict` is
the result.
"""

from .auditor import Auditor
from .verdict import Conclusion, Fault, Result, TopicVerdict

__all__ = ["Auditor", "Conclusion", "Fault", "Result", "TopicVerdict"]
