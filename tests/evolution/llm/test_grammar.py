"""The grammar's sentences are answers: whatever it lets a model write is one whole file that the gates admit."""

import random
import re

import pytest

from evolution.llm.grammar import strategy_grammar
from evolution.llm.outcomes import Text
from evolution.llm.parse import Answer, read_answer
from gates.findings import Rejected
from gates.scan import judge_contract, scan

_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|\[([^\]]+)\]|([A-Za-z]+)|(\()|(\))|(\|)|(\?)|\{(\d+),(\d+)\}|\s+')


class Sentences:
    """Random sentences of a GBNF grammar, as far as ours uses the notation."""

    def __init__(self, text, seed):
        self.rules = dict(re.findall(r"^(\w+) ::= (.*)$", text, re.MULTILINE))
        self.rng = random.Random(seed)

    def write(self, name="root"):
        tokens = [match for match in _TOKEN.finditer(self.rules[name]) if match[0].strip()]
        text, rest = self._choice(tokens)
        assert rest == []
        return text

    def _choice(self, tokens):
        options, text = [], ""
        while tokens and not tokens[0][5]:
            if tokens[0][6]:
                options, text, tokens = [*options, text], "", tokens[1:]
                continue
            piece, tokens = self._piece(tokens)
            text += piece
        return self.rng.choice([*options, text]), tokens

    def _piece(self, tokens):
        start, low, high = tokens, 1, 1
        once, rest = self._one(start)
        if rest and rest[0][7]:
            low, high, after = 0, 1, rest[1:]
        elif rest and rest[0][8]:
            low, high, after = int(rest[0][8]), int(rest[0][9]), rest[1:]
        else:
            return once, rest
        return "".join(self._one(start)[0] for _ in range(self.rng.randint(low, high))), after

    def _one(self, tokens):
        token = tokens[0]
        if token[4]:
            text, rest = self._choice(tokens[1:])
            return text, rest[1:]
        if token[2]:
            low, high = token[2].split("-")
            return chr(self.rng.randint(ord(low), ord(high))), tokens[1:]
        if token[3]:
            return self.write(token[3]), tokens[1:]
        return token[1].encode().decode("unicode_escape"), tokens[1:]


@pytest.mark.parametrize("seed", range(60))
def test_each_sentence_is_one_answer_that_the_gates_admit(seed):
    text = Sentences(strategy_grammar().text, seed).write()
    answer = read_answer(Text(text=text))
    assert isinstance(answer, Answer), text
    assert answer.hypothesis
    scanned = scan(answer.source)
    assert not isinstance(scanned, Rejected), (scanned.reason, text)
    assert judge_contract(scanned) is None


def test_sentences_differ():
    assert len({Sentences(strategy_grammar().text, seed).write() for seed in range(20)}) == 20
