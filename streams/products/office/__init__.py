"""Commands of the privacy office: dead letters, and the erasure of a patient."""
