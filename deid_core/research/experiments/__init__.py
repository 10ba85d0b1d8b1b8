"""The experiments, by their names in ``phistream experiment``.

| paper | experiments |
| --- | --- |
| Tafvizi and Pacula | feature-classes, kernels, training-size, phi-confusion |
| Deleger and others 2013 | cross-validation, post-rules, recall-bias, annotators |
| | medication, missed |
| Scheurwegs and others 2013 | uza |
| He and others 2015 | wi-deid, feature-sets, errors, type-confusion |
| Yuwono, Ng and Ngiam 2016 | nus |
| all | presets, english, unseen |
| our tagger | tagger, operating-points |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from . import (
    annotators,
    cross_validation,
    english,
    error_kinds,
    feature_classes,
    feature_sets,
    medication,
    missed,
    nus,
    operating_points,
    post_rules,
    presets,
    recall_bias,
    stat_deid,
    tagger,
    unseen,
    uza,
    wi_deid,
)
from .harness.report import Report
from .harness.runner import Runner

Experiment = Callable[[Runner], Report]

EXPERIMENTS: Mapping[str, Experiment] = {
    "presets": presets.presets,
    "english": english.english,
    "tagger": tagger.tagger,
    "operating-points": operating_points.operating_points,
    "cross-validation": cross_validation.cross_validation,
    "post-rules": post_rules.post_rules,
    "recall-bias": recall_bias.recall_bias,
    "annotators": annotators.annotators,
    "medication": medication.medication,
    "missed": missed.missed,
    "wi-deid": wi_deid.wi_deid,
    "feature-sets": feature_sets.feature_sets,
    "errors": error_kinds.errors,
    "type-confusion": error_kinds.type_confusion,
    "feature-classes": feature_classes.feature_classes,
    "kernels": stat_deid.kernels,
    "training-size": stat_deid.training_size,
    "phi-confusion": stat_deid.phi_confusion,
    "uza": uza.uza,
    "nus": nus.nus,
    "unseen": unseen.unseen,
}
"""In the order in which ``phistream experiment --all`` runs them."""
