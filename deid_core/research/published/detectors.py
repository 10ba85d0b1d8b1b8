"""Detectors of the published systems, registered by entry point."""

from __future__ import annotations

from deid_core.detectors import Detector, DetectorSpec

from .options import ClassifierOptions, NusOptions


def _classifier(options: ClassifierOptions) -> Detector:
    from .classifier import ClassifierDetector

    return ClassifierDetector(options)


def _nus(options: NusOptions) -> Detector:
    from .nus.detector import NusDetector

    return NusDetector(options)


CLASSIFIER = DetectorSpec(ClassifierOptions, _classifier)
NUS = DetectorSpec(NusOptions, _nus)
