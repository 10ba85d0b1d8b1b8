"""Learning to decide about the proposals of detectors.

`records` composes the patient's record that a hospital may have beside a marked note,
right and wrong in the ways in which such records are.
"""
