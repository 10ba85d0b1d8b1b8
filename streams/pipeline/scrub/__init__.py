"""Stage scrub: `notes` and `patient.updates` in; `notes.scrubbed` and `phi.audit` out.

`processor` takes a note through the others, in this order::

    decode       a record to a note, or part of a message, that lies where it belongs
    join         what is known of its patient, of whom updates are folded
    documents    the texts to scrub, with all of that
    held         a note that waits for its patient; the processor ends with its row
    scrubbing    the texts of a batch scrubbed; a message rebuilt, and checked
    outputs      what `publish` says of the note, and its audit event
"""
