"""A regex or a grammar (GBNF, EBNF, Lark) in; one text that it allows out, always the same."""

from __future__ import annotations

import json
import re
from typing import Any

try:  # The parser's module has had two names.
    from re import _constants as sre
    from re import _parser as sre_parse
except ImportError:  # pragma: no cover - Python before 3.11
    import sre_constants as sre
    import sre_parse


class Unsupported(Exception):
    """A constraint that cannot be read: the scripted server answers 400."""


# --- regexes -------------------------------------------------------------------------------------


def of_regex(pattern: str) -> str:
    """A text that the whole pattern matches: the first branch, the fewest repeats."""
    try:
        text = _sequence(sre_parse.parse(pattern))
    except re.error as error:
        raise Unsupported(f"invalid regex: {error}") from error
    if not re.fullmatch(pattern, text):
        raise Unsupported(f"no sample for the regex {pattern!r}")
    return text


def _sequence(parsed: Any) -> str:
    return "".join(_node(op, value) for op, value in parsed)


def _node(op: Any, value: Any) -> str:
    if op is sre.LITERAL:
        return chr(value)
    if op is sre.NOT_LITERAL:
        return "a" if value != ord("a") else "b"
    if op is sre.ANY:
        return "a"
    if op is sre.AT:
        return ""
    if op is sre.IN:
        return _in(value)
    if op is sre.BRANCH:
        return _sequence(value[1][0])
    if op is sre.SUBPATTERN:
        return _sequence(value[-1])
    if op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
        low, high, inner = value
        return _sequence(inner) * max(low, min(1, high))
    raise Unsupported(f"regex part {op}")


def _in(items: Any) -> str:
    if items[0][0] is sre.NEGATE:
        allowed = lambda c: not any(_in_has(item, c) for item in items[1:])  # noqa: E731
    else:
        allowed = lambda c: any(_in_has(item, c) for item in items)  # noqa: E731
    for code in (*range(ord("a"), ord("z") + 1), *range(32, 127), *range(160, 0x3000)):
        if allowed(code):
            return chr(code)
    raise Unsupported("an empty character class")


def _in_has(item: Any, code: int) -> bool:
    op, value = item
    if op is sre.LITERAL:
        return code == value
    if op is sre.RANGE:
        return value[0] <= code <= value[1]
    classes = {
        sre.CATEGORY_DIGIT: r"\d",
        sre.CATEGORY_NOT_DIGIT: r"\D",
        sre.CATEGORY_SPACE: r"\s",
        sre.CATEGORY_NOT_SPACE: r"\S",
        sre.CATEGORY_WORD: r"\w",
        sre.CATEGORY_NOT_WORD: r"\W",
    }
    return re.match(classes[value], chr(code)) is not None


# --- grammars ------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""(?P<space>(?:\s|\#[^\n]*|//[^\n]*)+)
      | (?P<string>"(?:\\.|[^"\\])*"i?)
      | (?P<class>\[(?:\\.|[^\]\\])*\])
      | (?P<regex>/(?:\\.|[^/\\\n])+/[imslux]*)
      | (?P<repeat>\{\d+(?:,\d*)?\})
      | (?P<lark_repeat>~\s*\d+(?:\s*\.\.\s*\d+)?)
      | (?P<directive>%[a-z_]+[^\n]*)
      | (?P<define>::=|:)
      | (?P<name>[?!]?[A-Za-z_][\w.-]*)
      | (?P<mark>[()|*+?,.])""",
    re.VERBOSE,
)


def of_grammar(text: str) -> str:
    """A text of the grammar's language: GBNF or EBNF where a line has `::=`, Lark otherwise."""
    return _Grammar(text).sample()


class _Grammar:
    """A reader of the small grammars that clients and proxies write."""

    def __init__(self, text: str) -> None:
        self.start = "root" if "::=" in text else "start"
        tokens = [(kind, value) for kind, value in _tokens(text) if kind not in ("space", "directive")]
        heads = [
            at for at in range(len(tokens) - 1) if tokens[at][0] == "name" and tokens[at + 1][0] == "define"
        ]
        self.rules = {
            tokens[at][1].lstrip("?!"): tokens[at + 2 : end]
            for at, end in zip(heads, [*heads[1:], len(tokens)], strict=True)
        }
        if self.start not in self.rules:
            raise Unsupported(f"the grammar has no rule `{self.start}`")

    def sample(self) -> str:
        return self._rule(self.start, 0)

    def _rule(self, name: str, depth: int) -> str:
        if name not in self.rules:
            raise Unsupported(f"the grammar's rule `{name}` is not defined")
        if depth > 40:
            raise Unsupported("the grammar recurses without an end")
        best, _ = self._alternatives(self.rules[name], 0, depth)
        return best

    def _alternatives(self, tokens: list, at: int, depth: int) -> tuple[str, int]:
        found: list[str] = []
        failure: Unsupported | None = None
        while True:
            try:
                text, at = self._one(tokens, at, depth)
                found.append(text)
            except Unsupported as error:  # A branch that never ends: another may.
                failure, at = error, _branch_end(tokens, at)
            if at < len(tokens) and tokens[at] == ("mark", "|"):
                at += 1
                continue
            if not found:
                raise failure or Unsupported("an empty rule")
            return found[0], at

    def _one(self, tokens: list, at: int, depth: int) -> tuple[str, int]:
        out = ""
        while at < len(tokens) and tokens[at] not in (("mark", "|"), ("mark", ")")):
            atom, after = self._atom(tokens, at, depth)
            low = 1
            if after < len(tokens):
                kind, value = tokens[after]
                if (kind, value) in (("mark", "*"), ("mark", "?")):
                    low, after = 0, after + 1
                elif (kind, value) == ("mark", "+"):
                    after += 1
                elif kind in ("repeat", "lark_repeat"):
                    low, after = int(re.search(r"\d+", value).group()), after + 1
            if low:
                out += self._text(atom, depth) * low
            at = after
        return out, at

    def _atom(self, tokens: list, at: int, depth: int) -> tuple[Any, int]:
        kind, value = tokens[at]
        if (kind, value) == ("mark", "("):
            end = _closing(tokens, at)
            return ("group", tokens[at + 1 : end]), end + 1
        return (kind, value), at + 1

    def _text(self, atom: Any, depth: int) -> str:
        kind, value = atom
        if kind == "group":
            return self._alternatives(value, 0, depth)[0]
        if kind == "string":
            return json.loads(value.rstrip("i"), strict=False)
        if kind == "class":
            return of_regex(value)
        if kind == "regex":
            return of_regex(value[1 : value.rindex("/")].replace("\\/", "/"))
        if kind == "name":
            return self._rule(value, depth + 1)
        if (kind, value) == ("mark", "."):
            return "a"
        raise Unsupported(f"grammar part {value!r}")


def _tokens(text: str) -> list[tuple[str, str]]:
    at, out = 0, []
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match:
            raise Unsupported(f"the grammar cannot be read at character {at}")
        out.append((match.lastgroup, match.group()))
        at = match.end()
    return out


def _closing(tokens: list, at: int) -> int:
    depth = 0
    for index in range(at, len(tokens)):
        depth += {("mark", "("): 1, ("mark", ")"): -1}.get(tokens[index], 0)
        if depth == 0:
            return index
    raise Unsupported("the grammar has an open group")


def _branch_end(tokens: list, at: int) -> int:
    while at < len(tokens) and tokens[at] not in (("mark", "|"), ("mark", ")")):
        at = _closing(tokens, at) + 1 if tokens[at] == ("mark", "(") else at + 1
    return at
