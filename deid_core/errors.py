"""Every error of the library, by what the caller does about it.

* DeidError
  x ConfigError        a preset, policy or detector is wrong    -> refuse to start
  x DetectorFailed     a detector broke on this document        -> refuse the document
  x ResidueFound       a value leaked into the scrubbed text    -> refuse the document
  x OtherLanguage      the preset does not read its language    -> refuse the document

No message holds note text or an identifier: it names the detector, field or key.
"""


class DeidError(Exception):
    """Base class of the library's errors."""


class ConfigError(DeidError):
    """A preset, policy or option is wrong; the message names it and the known ones."""


class DetectorFailed(DeidError):
    """A detector raised; the document must not be published with one detector fewer."""


class ResidueFound(DeidError):
    """A leaked value: of the patient's record, or replaced elsewhere in the note."""


class OtherLanguage(DeidError):
    """The document is surely in a language that the preset does not read."""
