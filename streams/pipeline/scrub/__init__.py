"""Stage scrub: `notes` and `patient.updates` in; `notes.scrubbed` and `phi.audit` out.

Start at `processor`.
"""
