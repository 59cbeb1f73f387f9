"""The literal part of C++ that llama.cpp's tests of chat templates are written in: strings, braces, and calls."""

import re

TOKEN = re.compile(
    r'(?P<skip>\s+|//[^\n]*|/\*.*?\*/)'
    r'|(?:u8)?R"(?P<mark>[^()\\\s]*)\((?P<raw>.*?)\)(?P=mark)"'
    r'|(?:u8)?"(?P<text>(?:[^"\\\n]|\\.)*)"'
    r"|'(?P<char>(?:[^'\\]|\\.)+)'"
    r'|(?P<word>[A-Za-z_][\w]*(?:::[A-Za-z_]\w*)*)'
    r'|(?P<number>\d[\w.]*)'
    r'|(?P<sign>->|[<>=!+\-*/%&|^~?:;,.(){}\[\]#\\])',
    re.S,
)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


class Unreadable(Exception):
    """What is no literal, and would have to be run."""


def unescape(text):
    """What a string between quotes stands for; bytes that are written as such are UTF-8."""
    out = bytearray()
    pieces = re.findall(r"\\x[0-9A-Fa-f]+|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}|\\.|[^\\]+", text, re.S)
    for piece in pieces:
        if piece[0] != "\\":
            out += piece.encode()
        elif piece[1] == "x":
            out.append(int(piece[2:], 16) & 255)
        elif piece[1] in "uU":
            out += chr(int(piece[2:], 16)).encode()
        else:
            out += ESCAPES.get(piece[1], piece[1]).encode()
    return out.decode("utf-8", "surrogateescape")


def tokens(source):
    """Each token's kind and value; neighbouring strings are one."""
    found, at = [], 0
    while at < len(source):
        match = TOKEN.match(source, at)
        if match is None:
            raise Unreadable(f"no token at {at}: {source[at:at + 20]!r}")
        at = match.end()
        kind = match.lastgroup
        if kind == "skip":
            continue
        value = match.group(kind)
        if kind in ("raw", "mark", "text"):
            value = match.group("raw") if match.group("raw") is not None else unescape(match.group("text"))
            if found and found[-1][0] == "string":
                found[-1] = ("string", found[-1][1] + value)
                continue
            kind = "string"
        found.append((kind, value))
    return found


class Parser:
    """Values of expressions: strings, numbers, lists for braces, and what `names` and `calls` say."""

    def __init__(self, found, names, calls):
        self.found = found
        self.at = 0
        self.names = names
        self.calls = calls

    def peek(self, ahead=0):
        at = self.at + ahead
        return self.found[at] if at < len(self.found) else ("end", "")

    def next(self):
        self.at += 1
        return self.found[self.at - 1]

    def eat(self, sign):
        if self.peek() == ("sign", sign):
            self.at += 1
            return True
        return False

    def skip(self, close):
        """Everything up to the sign that closes what was opened."""
        depth = 0
        while self.at < len(self.found):
            kind, value = self.next()
            if kind != "sign":
                continue
            if depth == 0 and value == close:
                return
            depth += (value in "([{") - (value in ")]}")

    def items(self, close):
        """Values between commas up to this sign."""
        found = []
        while not self.eat(close):
            found.append(self.value())
            if not self.eat(",") and self.peek() != ("sign", close):
                raise Unreadable(f"{self.peek()} where a list goes on")
        return found

    def value(self):
        left = self.term()
        while self.eat("+"):
            right = self.term()
            if not isinstance(left, str) or not isinstance(right, str):
                raise Unreadable("a sum of what is no text")
            left += right
        return left

    def term(self):
        kind, value = self.next()
        if kind == "string":
            return value
        if kind == "number":
            return value
        if (kind, value) == ("sign", "{"):
            return self.items("}")
        if (kind, value) == ("sign", "("):
            inner = self.value()
            if not self.eat(")"):
                raise Unreadable("a bracket is not closed")
            return inner
        if kind != "word":
            raise Unreadable(f"{value} where a value begins")
        if self.eat("<"):
            self.skip(">")
        if self.eat("("):
            given = self.items(")")
            if value in ("std::string", "common_json::parse", "json::parse"):
                return given[0] if given else ""
            if value not in self.calls:
                raise Unreadable(f"a call of {value}")
            return self.calls[value](*given)
        if self.eat("{"):
            return self.items("}")
        if value in ("true", "false"):
            return value == "true"
        if value.startswith("COMMON_"):
            return value
        if value not in self.names:
            raise Unreadable(f"the name {value}")
        return self.names[value]
