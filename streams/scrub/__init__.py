"""`notes` in, joined with `patients`; `notes.scrubbed` and `phi.audit` out."""
