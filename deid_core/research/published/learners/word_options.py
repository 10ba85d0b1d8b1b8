"""What recipes may say of learners that judge each word alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class LinearOptions:
    """Of a support vector machine with a linear kernel.

    Args:
        c: The price of a word on the wrong side.
    """

    c: float = 1.0


@dataclass(frozen=True, slots=True)
class KernelOptions:
    """Of a kernel ``(gamma x y + constant) ** 2`` or ``exp(-gamma |x - y| ** 2)``.

    Args:
        c: The price of a word on the wrong side.
        gamma: None is one over the number of features, libSVM's own.
        constant: r in equation 4 of Tafvizi and Pacula.
        kernel: Of machines for many classes.
    """

    c: float = 1.0
    gamma: float | None = None
    constant: float = 1.0
    kernel: Literal["quadratic", "gaussian"] = "gaussian"


@dataclass(frozen=True, slots=True)
class ForestOptions:
    """Of a random forest.

    Args:
        trees: How many.
        tried: Features that a node chooses among; None is Weka's own, the integer part
            of the binary logarithm of their number, plus one.
    """

    trees: int = 10
    tried: int | None = None


@dataclass(frozen=True, slots=True)
class MaximumEntropyOptions:
    """Of a multinomial logistic regression.

    Args:
        c: The inverse of the penalty on the squares of the weights.
        rounds: Of the optimiser, at the most.
    """

    c: float = 1.0
    rounds: int = 300
