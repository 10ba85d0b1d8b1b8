"""FHIR R4 JSON: the parts of a message, and the same without identifiers.

A message is a resource of `rules.SUPPORTED`, or a Bundle of them; what a resource of
another type is alone is refused, and in a Bundle removed and counted.

Who the patient is: the medical record number of the Patient (or `subject.identifier`)
under its assigning authority, that is the identifier's system without `urn:oid:`, or
its assigner's name; and the logical id, as in `Patient/123`, under the authority of the
`FhirReader`.  Updates go to all of these keys and link them.

Ids become pseudonyms, the same wherever they occur; a server's address is not shown.
Dates lose their time of day; an instant, which needs one, is at midnight.  An element
that must be there and is removed says that it is masked (data-absent-reason).
"""

from .reader import FhirReader

__all__ = ["FhirReader"]
