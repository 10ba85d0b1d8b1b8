"""Maximum entropy, that is multinomial logistic regression, by scikit-learn."""

from __future__ import annotations

from deid_core.research.packages import needed

from ..predictors import Linear
from .support import Marked
from .svm import linear_of
from .word_options import MaximumEntropyOptions


def learn(marked: Marked, options: MaximumEntropyOptions, seed: int) -> Linear:
    """Return the weights of each class."""
    models = needed("sklearn.linear_model", "scikit-learn", "this learner")
    learner = models.LogisticRegression(
        C=options.c, max_iter=options.rounds, random_state=seed
    )
    learner.fit(marked.matrix(), marked.labels)
    return linear_of(marked, marked.present(), learner.coef_, learner.intercept_)
