"""The detectors of published systems, registered by entry point."""

from __future__ import annotations

from deid_core.detectors import Detector, DetectorSpec

from .classifier import ClassifierOptions
from .nus.options import NusOptions


def _classifier(options: ClassifierOptions) -> Detector:
    from .classifier import ClassifierDetector

    return ClassifierDetector(options)


def _nus(options: NusOptions) -> Detector:
    from .nus.detector import NusDetector

    return NusDetector(options)


CLASSIFIER = DetectorSpec(ClassifierOptions, _classifier)
NUS = DetectorSpec(NusOptions, _nus)
