"""Stand-ins for the modules that others' tests import, and the table of what became of the tests."""

import ast
import collections
import importlib.abc
import importlib.machinery
import os
import re
import sys
import types

import reader


class Record:
    """A stand-in for a class of values: what it is given, and None for what it is not."""

    DEFAULTS = {}

    def __init__(self, *args, **fields):
        for key, value in self.DEFAULTS.items():
            setattr(self, key, value() if callable(value) else value)
        self.__dict__.update(fields)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None

    def __eq__(self, other):
        mine, other = dict(vars(self)), dict(getattr(other, "__dict__", {}))
        for ids in (mine, other):
            ids.pop("id", None)
        return mine == other

    def model_dump(self, **_):
        return dict(vars(self))


def record(name, **defaults):
    return type(name, (Record,), {"DEFAULTS": defaults})


class Vocabulary(dict):
    """Every token is in it."""

    def __contains__(self, _):
        return True

    def get(self, token, _=None):
        return self.setdefault(token, len(self) + 1)

    __missing__ = get


class Tokenizer:
    """Pieces of up to four characters; special tokens are one each."""

    is_fast = True

    def __init__(self, *_, **__):
        self.words = []
        self.ids = {}

    @classmethod
    def from_pretrained(cls, *_, **__):
        return cls()

    def tokenize(self, text):
        return re.findall(r"<[^<>\s]{1,40}>|\[[A-Z_]+\]|\w{1,4}|\W", text)

    def encode(self, text, **_):
        return [self.ids.setdefault(word, self._new(word)) for word in self.tokenize(text)]

    def _new(self, word):
        if word not in self.ids:
            self.words.append(word)
            return len(self.words) - 1
        return self.ids[word]

    def decode(self, ids, **_):
        ids = [ids] if isinstance(ids, int) else ids
        return "".join(self.words[at] for at in ids)

    def convert_ids_to_tokens(self, ids, **_):
        return [self.words[at] for at in ids]

    def get_vocab(self):
        return Vocabulary()

    def add_tokens(self, *_, **__):
        return 0

    def get_added_vocab(self):
        return {}


class Stand(types.ModuleType):
    """A module in which every name is something."""

    def __init__(self, name, known):
        super().__init__(name)
        self._known = known

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = self._known(self.__name__, name)
        found = record(name) if found is None else found
        setattr(self, name, found)
        return found


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, roots, known):
        self.roots = roots
        self.known = known

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.roots:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Stand(spec.name, self.known)

    def exec_module(self, module):
        pass


def install(roots, known):
    """Stand-ins for all modules below these; `known` says what a module's name is, or None."""
    sys.meta_path.insert(0, Finder(set(roots), known))


def constants(path):
    """What a module sets to literals: tokens that its tests take from it. It is not run."""
    if not os.path.exists(path):
        return {}
    found = {}
    for line in ast.parse(open(path, encoding="utf-8").read()).body:
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
            try:
                found[line.targets[0].id] = ast.literal_eval(line.value)
            except ValueError:
                pass
    return found


class Results:
    """What became of each test, by the row of the table that it belongs to."""

    def __init__(self, row):
        self.row = row
        self.rows = collections.defaultdict(dict)

    def add(self, report):
        """A test is one case, however often it is reported: its setting up and down, and its parts."""
        if report.when == "call" or report.outcome != "passed":
            # What the parser itself is known to fail, and the reader does not.
            is_better = str(report.longrepr).startswith("[XPASS")
            outcome = "passed" if is_better else report.outcome
            test = report.nodeid.partition("::")[2]
            cases = self.rows[self.row(report.nodeid)]
            if cases.get(test) != "failed":
                cases[test] = outcome

    def table(self, head="tests"):
        ran = {
            name: [outcome for outcome in cases.values() if outcome != "skipped"]
            for name, cases in self.rows.items()
        }
        print(f"\n\n| {head} | cases | passed |\n| --- | --- | --- |")
        for name, outcomes in sorted(ran.items()):
            print(f"| {name} | {len(outcomes)} | {outcomes.count('passed')} |")
        every = sum(ran.values(), [])
        print(f"| all | {len(every)} | {every.count('passed')} |")
        if os.environ.get("MARKUP_DIFFERENCES"):
            for name, cases in sorted(self.rows.items()):
                for test, outcome in cases.items():
                    if outcome == "failed":
                        print(f"{name}: {test}")
        reader.close()
