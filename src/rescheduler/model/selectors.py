"""Label selectors, with the rules of the API server (k8s.io/apimachinery/pkg/labels).

They decide which pods and nodes we may touch, so being almost right is not enough: parsing,
matching and printing follow the Go code. One deliberate difference: Go stops reading at a NUL
character and ignores the rest; here it is an error.
"""

import enum
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

from rescheduler.errors import ReschedulerError
from rescheduler.model.objects import Object, spec

_NAME: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_DNS_SUBDOMAIN: Final = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
)
_INTEGER: Final = re.compile(r"[-+]?[0-9]{1,63}")
_INT64: Final = range(-(2**63), 2**63)
_LONGEST_NAME: Final = 63
_LONGEST_PREFIX: Final = 253
_NAME_RULE: Final = (
    "letters, digits, '-', '_' and '.', with a letter or digit at both ends, at most 63 characters"
)

_TOKENS: Final = re.compile(r"==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+")
_SYMBOLS: Final = frozenset({"==", "!=", "=", "!", "(", ")", ",", "<", ">"})
_END: Final = ""


class InvalidSelectorError(ReschedulerError, ValueError):
    """The API server would refuse this selector too."""


class Operator(enum.StrEnum):
    IN = "in"
    NOT_IN = "notin"
    EQUALS = "="
    NOT_EQUALS = "!="
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    GREATER_THAN = ">"
    LESS_THAN = "<"


_BINARY_OPERATORS: Final = {
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
    "=": Operator.EQUALS,
    "==": Operator.EQUALS,
    "!=": Operator.NOT_EQUALS,
    ">": Operator.GREATER_THAN,
    "<": Operator.LESS_THAN,
}
_OBJECT_OPERATORS: Final = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}


def _check_key(key: str) -> None:
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > _LONGEST_PREFIX or not _DNS_SUBDOMAIN.fullmatch(prefix)):
        raise InvalidSelectorError(
            f"label key {_shown(key)}: the part before '/' must be a DNS subdomain (lower case)"
        )
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        raise InvalidSelectorError(f"label key {_shown(key)}: the name must be {_NAME_RULE}")


def _check_value(key: str, value: str) -> None:
    if value and (len(value) > _LONGEST_NAME or not _NAME.fullmatch(value)):
        raise InvalidSelectorError(
            f"value {_shown(value)} of label {key}: must be empty or {_NAME_RULE}"
        )


def _int64(text: str) -> int | None:
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if number in _INT64 else None


def _shown(text: str) -> str:
    longest = 80
    return ascii(text if len(text) <= longest else text[:longest] + "...")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label; it is checked when it is made."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        _check_key(self.key)
        for value in sorted(self.values):
            _check_value(self.key, value)
        self._check_values_fit()

    def _check_values_fit(self) -> None:
        key, values = self.key, self.values
        match self.operator:
            case Operator.EXISTS | Operator.DOES_NOT_EXIST:
                if values:
                    raise InvalidSelectorError(
                        f"label {key}: Exists and DoesNotExist take no values"
                    )
            case Operator.IN | Operator.NOT_IN:
                if not values:
                    raise InvalidSelectorError(f"label {key}: In and NotIn need at least one value")
            case Operator.GREATER_THAN | Operator.LESS_THAN:
                if len(values) != 1 or _int64(*values) is None:
                    raise InvalidSelectorError(f"label {key}: '>' and '<' compare with one integer")
            case _:
                if len(values) != 1:
                    raise InvalidSelectorError(f"label {key}: '=' and '!=' take exactly one value")

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case Operator.IN | Operator.EQUALS:
                return value is not None and value in self.values
            case Operator.NOT_IN | Operator.NOT_EQUALS:
                # An absent label is "not equal" in Kubernetes, unlike NULL in SQL.
                return value is None or value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
        return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        number = None if value is None else _int64(value)
        bound = _int64(next(iter(self.values)))
        if number is None or bound is None:
            return False
        return number > bound if self.operator is Operator.GREATER_THAN else number < bound

    def __str__(self) -> str:
        values = ",".join(sorted(self.values))
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.IN | Operator.NOT_IN:
                return f"{self.key} {self.operator} ({values})"
        return f"{self.key}{self.operator}{values}"


@dataclass(frozen=True, slots=True)
class Selector:
    """Requirements that must all hold; without any, it matches everything."""

    requirements: tuple[Requirement, ...] = ()

    @classmethod
    def of(cls, requirements: Iterable[Requirement]) -> "Selector":
        """The order carries no meaning: sorted, equal selectors compare and print equal."""
        return cls(tuple(sorted(requirements, key=lambda r: (r.key, r.operator, sorted(r.values)))))

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        """The canonical text, which the API server takes as `labelSelector` of a query."""
        return ",".join(map(str, self.requirements))


EVERYTHING: Final = Selector()

# Go has a special selector for "nothing" that prints as "", which a query would read as
# "everything". A contradiction stays a contradiction when it is printed and sent.
NOTHING: Final = Selector.of(
    Requirement("nothing", operator) for operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST)
)


def parse(text: str) -> Selector:
    """Read the text form: `a=b,c!=d,e in (x,y),f notin (z),g,!h`; empty matches everything.

    Raises:
        InvalidSelectorError: the text is not a selector; the message says where and why.
    """
    return Selector.of(_Parser(text).requirements())


def from_object(selector: Mapping[str, object] | None) -> Selector:
    """Read the object form, `{matchLabels, matchExpressions}`.

    None matches nothing, an empty object matches everything, as in LabelSelectorAsSelector.

    Raises:
        InvalidSelectorError: the object is not a selector.
    """
    if selector is None:
        return NOTHING
    labels = selector.get("matchLabels") or {}
    expressions = selector.get("matchExpressions") or []
    if not isinstance(labels, Mapping) or not isinstance(expressions, list):
        raise InvalidSelectorError("matchLabels must be a mapping, matchExpressions a list")
    requirements = [
        Requirement(_text(key), Operator.EQUALS, frozenset({_text(value)}))
        for key, value in labels.items()
    ]
    return Selector.of(requirements + [_from_expression(item) for item in expressions])


def _from_expression(expression: object) -> Requirement:
    if not isinstance(expression, Mapping):
        raise InvalidSelectorError("each of matchExpressions must be a mapping")
    name = _text(expression.get("operator"))
    if name not in _OBJECT_OPERATORS:
        known = ", ".join(_OBJECT_OPERATORS)
        raise InvalidSelectorError(f"unknown operator {name!r}; known: {known}")
    values = expression.get("values") or []
    if not isinstance(values, list):
        raise InvalidSelectorError("values must be a list")
    key = _text(expression.get("key"))
    return Requirement(key, _OBJECT_OPERATORS[name], frozenset(map(_text, values)))


class _Parser:
    """Recursive descent over the tokens; a key or value is whatever is not a symbol."""

    def __init__(self, text: str) -> None:
        self._tokens = [(match.group(), match.start() + 1) for match in _TOKENS.finditer(text)]
        self._tokens.append((_END, len(text) + 1))
        self._next = 0

    def requirements(self) -> Iterable[Requirement]:
        if self._peek() == _END:
            return
        while True:
            yield self._requirement()
            if self._peek() == _END:
                return
            self._expect(",", "',' or the end")

    def _requirement(self) -> Requirement:
        if self._peek() == "!":
            self._take()
            return Requirement(self._identifier("a label key"), Operator.DOES_NOT_EXIST)
        key = self._identifier("a label key or '!'")
        _check_key(key)  # Before the operator: "a b=c" is better explained by its operator.
        if self._peek() in {_END, ","}:
            return Requirement(key, Operator.EXISTS)
        if self._peek() not in _BINARY_OPERATORS:
            self._fail("one of " + ", ".join(_BINARY_OPERATORS))
        operator = _BINARY_OPERATORS[self._take()]
        is_set = operator in {Operator.IN, Operator.NOT_IN}
        return Requirement(key, operator, self._values() if is_set else self._exact_value())

    def _exact_value(self) -> frozenset[str]:
        return frozenset({"" if self._peek() in {_END, ","} else self._identifier("a label value")})

    def _values(self) -> frozenset[str]:
        """`(x,y)`; a value may be left out and is then the empty one, so `()` holds one value."""
        self._expect("(", "'('")
        values = {self._value_or_empty()}
        while self._peek() == ",":
            self._take()
            values.add(self._value_or_empty())
        self._expect(")", "',' or ')'")
        return frozenset(values)

    def _value_or_empty(self) -> str:
        return "" if self._peek() in _SYMBOLS or self._peek() == _END else self._take()

    def _identifier(self, wanted: str) -> str:
        if self._peek() in _SYMBOLS or self._peek() == _END:
            self._fail(wanted)
        return self._take()

    def _expect(self, token: str, wanted: str) -> None:
        if self._peek() != token:
            self._fail(wanted)
        self._take()

    def _peek(self) -> str:
        return self._tokens[self._next][0]

    def _take(self) -> str:
        self._next += 1
        return self._tokens[self._next - 1][0]

    def _fail(self, wanted: str) -> NoReturn:
        token, column = self._tokens[self._next]
        found = _shown(token) if token else "the end"
        raise InvalidSelectorError(f"expected {wanted} at character {column}, found {found}")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidSelectorError(f"expected a string, found {_shown(repr(value))}")
    return value


def of_network_policy(policy: Object) -> Iterator[Object]:
    """Both of the pods that it is about and of the peers that it names."""
    told = spec(policy)
    yield told.get("podSelector") or {}
    for rule in [*(told.get("ingress") or ()), *(told.get("egress") or ())]:
        for peer in [*(rule.get("from") or ()), *(rule.get("to") or ())]:
            if peer.get("podSelector"):
                yield peer["podSelector"]
