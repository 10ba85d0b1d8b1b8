"""Documents inside of messages and in files: bytes to one text, and back.

    document = open_document(data, "application/rtf")
    scrubbed = deidentifier.deidentify(Document("id", document.text, known))
    rebuilt = document.rebuilt(scrubbed)  # rebuilt.data, rebuilt.media_type

    shown = shown_in(text)  # of a text that may hold HTML or RTF

What can't be opened raises `Unreadable`; its kind says why.
"""

from .document import RebuiltDocument, TextDocument, Unreadable, UnreadableKind
from .fragments import may_hold_markup
from .markup import hidden_in, holds_document, is_plain, shown_in
from .opening import from_base64, open_document

__all__ = [
    "RebuiltDocument",
    "TextDocument",
    "Unreadable",
    "UnreadableKind",
    "from_base64",
    "hidden_in",
    "holds_document",
    "is_plain",
    "may_hold_markup",
    "open_document",
    "shown_in",
]
