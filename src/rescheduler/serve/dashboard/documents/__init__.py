"""What the JSON API answers, field by field: docs/openapi.json and the page go by it.

Pure. Times are RFC 3339, loads and imbalances are per cent of what nodes can give to pods, amounts
are as Kubernetes counts them (cpu in thousandths of a core, memory in bytes). What is not known is
null. Names stay as they are within a version of the API; new fields may come.
"""

import msgspec


class Document(msgspec.Struct, kw_only=True, rename="camel"):
    """Names of fields are camelCase for whoever reads them."""


class ErrorBody(Document):
    code: str
    """In one word, for programs."""
    message: str
    """In words, with nothing of what the asker may not see."""
    field: str | None = None
    """The parameter, header or field that is wrong."""
    way_out: str | None = None
    """What to do about it."""


class Error(Document):
    error: ErrorBody
