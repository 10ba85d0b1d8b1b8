"""Stage intake: `hl7.raw` in; `notes` and `patient.updates` out.  See `processor`."""
