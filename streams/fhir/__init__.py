"""FHIR R4 JSON: parts of a resource or a Bundle, and the same without identifiers."""

from .reader import FhirReader

__all__ = ["FhirReader"]
