"""Wrong usage, bad input and a broken machine: one clear sentence, the right exit code, nothing half-written."""

from __future__ import annotations

import json

import pytest

HEADER = "timestamp,open,high,low,close,volume\n"
ROWS = "".join(f"2020-01-{day:02d},10,11,9,10,100\n" for day in range(1, 29))


def one_sentence(ended, *parts):
    lines = ended.err.strip().splitlines()
    assert len(lines) == 1, ended.err
    assert "Traceback" not in ended.out + ended.err
    for part in parts:
        assert part in lines[0]


@pytest.mark.parametrize(
    ("words", "code", "parts"),
    [
        (["bogus"], 2, ["bogus", "--help"]),
        (["evolv"], 2, ["no such command 'evolv'; did you mean 'evolve'? See 'trigate --help'"]),
        (["runs", "shw"], 2, ["no such command 'shw'; did you mean 'show'? See 'trigate runs --help'"]),
        (["evolve", "--generation", "3"], 2, ["--generation; did you mean --generations? See 'trigate evolve --help'"]),
        (["evolve", "more"], 2, ["there is no place for more; see 'trigate evolve --help'"]),
        (["evolve", "--generations", "0"], 2, ["generations", "0", "must be at least 1"]),
        (["evolve", "--generations", "many"], 2, ["--generations", "whole number"]),
        (["evolve", "--population", "3"], 2, ["population", "3"]),
        (["evolve", "--data", "no-such-set"], 2, ["no-such-set", "us-large-caps"]),
        (["evolve", "--data", "gone.csv"], 2, ["gone.csv"]),
        (["evolve", "--llm", "nobody"], 2, ["nobody", "[llm.nobody]"]),
        (["evolve", "--llm", "a", "--offline"], 2, ["--llm", "--offline"]),
        (["evolve", "--resume", "r-1"], 2, ["r-1", "runs list"]),
        (["evolve", "--resume", "r-1", "--seed", "3"], 2, ["--resume"]),
        (["evolve", "--config", "gone.toml"], 2, ["gone.toml"]),
        (["evolve", "--cage", "open"], 2, ["cage", "open"]),
        (["check", "gone.py"], 2, ["gone.py"]),
        (["check", "."], 2, ["directory"]),
        (["backtest", "gone.py"], 2, ["gone.py"]),
        (["pool", "show", "p-9999"], 2, ["p-9999", "pool list"]),
        (["pool", "list", "--status", "odd"], 2, ["odd", "candidate"]),
        (["runs", "show", "r-9"], 2, ["r-9", "runs list"]),
        (["pool", "promote", "p-0001", "--by", "Ada"], 2, ["--reason"]),
    ],
)
def test_wrong_usage_gets_one_sentence(trigate, words, code, parts):
    ended = trigate.run(*words)
    assert ended.code == code
    one_sentence(ended, *parts)
    assert ended.out == ""


def test_with_json_a_problem_is_one_document_on_stdout(trigate):
    ended = trigate.run("evolve", "--generations", "0", "--json")
    assert ended.code == 2
    assert ended.document["error"]["kind"] == "usage"
    assert "generations" in ended.document["error"]["message"]


@pytest.mark.parametrize("home", ["/dev/null/home", "/proc/home"])
def test_a_home_that_cannot_be_written_is_a_matter_of_the_environment(trigate, home):
    for words in (["evolve"], ["pool", "list"], ["runs", "list"]):
        ended = trigate.run(*words, TRIGATE_HOME=home)
        assert ended.code == 3
        one_sentence(ended, home, "TRIGATE_HOME")


def test_a_prefect_home_that_cannot_be_written_is_told_before_anything_starts(trigate):
    ended = trigate.run("evolve", "--generations", 1, "--population", 4, PREFECT_HOME="/dev/null/prefect")
    assert ended.code == 3
    one_sentence(ended, "/dev/null/prefect", "PREFECT_HOME")
    assert trigate.run("runs", "list", "--json").document == []


def test_a_server_that_does_not_answer_is_told_with_its_address(trigate):
    ended = trigate.run("evolve", "--generations", 1, "--population", 4, PREFECT_API_URL="http://127.0.0.1:9/api")
    assert ended.code == 3
    one_sentence(ended, "http://127.0.0.1:9/api", "PREFECT_API_URL")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["bars.csv"]),
        (HEADER, ["bars.csv"]),
        ("timestamp,open,high,low,volume\n2020-01-01,1,2,1,5\n", ["close"]),
        (HEADER + ROWS.replace("10,11,9,10", "10,11,9,oops", 1), ["oops", "2"]),
        (HEADER + ROWS + ROWS, ["2020-01-01"]),
        (HEADER + ROWS.replace("10,11,9,10", "10,8,9,10", 1), ["high"]),
        (HEADER + ROWS.replace("10,11,9,10", "-1,11,9,10", 1), ["open"]),
    ],
)
def test_a_bad_file_is_refused_with_its_place(trigate, tmp_path, text, parts):
    file = tmp_path / "bars.csv"
    file.write_text(text)
    strategy = tmp_path / "s.py"
    strategy.write_text("class S(Strategy):\n    def on_bar(self, bar):\n        pass\n")
    ended = trigate.run("backtest", strategy, "--data", file)
    assert ended.code == 2, ended.out
    one_sentence(ended, *parts)


def test_a_file_of_several_symbols_asks_for_one(trigate, tmp_path):
    file = tmp_path / "two.csv"
    body = "".join(f"2020-01-{day:02d},{name},10,11,9,10,100\n" for day in range(1, 29) for name in ("AA", "BB"))
    file.write_text("timestamp,symbol,open,high,low,close,volume\n" + body)
    strategy = tmp_path / "s.py"
    strategy.write_text("class S(Strategy):\n    def on_bar(self, bar):\n        self.buy()\n")
    ended = trigate.run("backtest", strategy, "--data", file)
    assert ended.code == 2
    one_sentence(ended, "AA", "BB", "--symbol")
    ended = trigate.run("backtest", strategy, "--data", file, "--symbol", "CC")
    assert ended.code == 2
    one_sentence(ended, "CC", "AA")
    assert trigate.run("backtest", strategy, "--data", file, "--symbol", "BB").code == 0


def test_a_short_file_cannot_be_searched_but_can_be_tested(trigate, tmp_path):
    file = tmp_path / "short.csv"
    file.write_text(HEADER + ROWS)
    ended = trigate.run("evolve", "--data", file)
    assert ended.code == 2
    one_sentence(ended, "28", "1012")
    assert trigate.run("runs", "list", "--json").document == []


def test_an_unknown_key_of_the_configuration_is_refused(trigate, tmp_path):
    (tmp_path / "trigate.toml").write_text("[search]\npopulatoin = 12\n")
    ended = trigate.run("evolve")
    assert ended.code == 2
    one_sentence(ended, "search.populatoin", "trigate.toml")


def test_a_symbol_of_a_file_without_symbols_and_a_wrong_timeframe_are_refused(trigate, tmp_path):
    file = tmp_path / "bars.csv"
    file.write_text(HEADER + ROWS)
    ended = trigate.run("evolve", "--data", file, "--symbol", "ZZZ")
    assert ended.code == 2
    one_sentence(ended, "bars.csv", "has no symbol column", "ZZZ", "leave the symbol out")
    strategy = tmp_path / "s.py"
    strategy.write_text("class S(Strategy):\n    def on_bar(self, bar):\n        self.buy()\n")
    for words in (("evolve",), ("backtest", strategy)):
        ended = trigate.run(*words, "--data", "us-large-caps", "--timeframe", "1h")
        assert ended.code == 2
        one_sentence(ended, "us-large-caps has 1d bars, not 1h")
    ended = trigate.run("evolve", "--data", "us-large-caps", "--symbol", "IBM")
    assert ended.code == 2
    one_sentence(ended, "--symbol IBM", "AAPL, IBM, MSFT", "leave it out")


def test_the_version_is_printed(trigate):
    from importlib.metadata import version

    ended = trigate.run("--version")
    assert (ended.code, ended.out, ended.err) == (0, f"trigate {version('trigate')}\n", "")


def test_an_empty_name_and_a_word_for_a_number_are_told_in_our_words(trigate):
    ended = trigate.run("check", "")
    assert ended.code == 2
    one_sentence(ended, "strategy file ''", "give the path of a file")
    ended = trigate.run("evolve", "--generations", "many")
    assert ended.code == 2
    one_sentence(ended, "--generations", "must be a whole number")


def test_an_empty_pool_names_the_newest_run(night):
    trigate, document = night
    out = trigate.run("pool", "list").out
    assert document["entries"] or f"trigate runs show {document['id']}" in out


def test_a_key_pasted_into_the_configuration_is_not_printed_back(trigate, tmp_path):
    text = (
        '[llm.mine]\nbase_url = "http://127.0.0.1:9"\nmodel = "m"\ndialect = "openai_chat"\nkey_env = "sk-canary 123"\n'
    )
    (tmp_path / "trigate.toml").write_text(text)
    ended = trigate.run("evolve", "--llm", "mine")
    assert ended.code == 2
    one_sentence(ended, "llm.mine.key_env")
    assert "canary" not in ended.out + ended.err


def test_a_missing_key_names_the_variable_and_writes_no_run(trigate, tmp_path):
    text = '[llm.mine]\nbase_url = "http://127.0.0.1:9"\nmodel = "m"\ndialect = "openai_chat"\nkey_env = "TRIGATE_TEST_KEY"\n'
    (tmp_path / "trigate.toml").write_text(text)
    ended = trigate.run("evolve", "--llm", "mine")
    assert ended.code == 2
    one_sentence(ended, "TRIGATE_TEST_KEY")
    assert trigate.run("runs", "list", "--json").document == []


def test_help_and_lists_work_on_an_empty_home(trigate):
    assert "evolve" in trigate.run("--help").out
    assert trigate.run("pool", "list", "--json").document == []
    assert trigate.run("runs", "list", "--json").document == []
    assert [each["name"] for each in trigate.run("data", "list", "--json").document] == [
        "us-large-caps",
        "planted-edge",
    ]
    assert "empty" in trigate.run("pool", "list").out


@pytest.mark.parametrize("group", [(), ("runs",), ("pool",), ("paper",), ("people",), ("data",), ("store",), ("sir",)])
@pytest.mark.parametrize("columns", ["80", "40"])
def test_a_list_of_commands_says_of_each_in_whole_what_it_does(trigate, group, columns):
    """Cut to one line, help named ``data export`` as what writes train and validation, and not what it leaves out."""
    told = trigate.run(*group, "--help", COLUMNS=columns).out
    assert "..." not in told.partition("Commands:")[2]
    assert "`" not in told


def test_what_may_be_left_out_has_one_pair_of_brackets(trigate):
    for words in (("paper", "resume"), ("paper", "audit"), ("work",)):
        told = trigate.run(*words, "--help").out.splitlines()[0]
        assert "[[" not in told
        assert told.count("...") <= 1


def test_no_command_prints_colour_into_a_pipe(trigate):
    for words in (["data", "list"], ["--help"], ["pool", "list"], ["doctor"]):
        assert "\x1b" not in trigate.run(*words, FORCE_COLOR="").out


def test_doctor_gives_every_layer_with_its_probe(trigate):
    ended = trigate.run("doctor", "--json")
    layers = {each["name"]: each for each in ended.document["layers"]}
    assert {"landlock", "seccomp"} <= set(layers)
    assert all(set(each) == {"name", "required", "active", "probe"} for each in layers.values())
    assert ended.code == (0 if all(each["active"] or not each["required"] for each in layers.values()) else 3)


def test_help_does_not_import_what_it_does_not_need():
    """``trigate --help`` answers at once only as long as nothing heavy is imported for it."""
    import subprocess
    import sys

    heavy = ["pandas", "prefect", "sqlmodel", "sqlalchemy", "httpx", "deap", "scipy", "numpy", "talib", "pydantic"]
    code = f"import sys, json, flows.cli; print(json.dumps([n for n in {heavy} if n in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


def test_a_full_disk_behind_the_output_is_told_in_one_sentence(trigate):
    import subprocess

    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device, not a path of ours
        done = subprocess.run(
            trigate.command("data", "list"),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=trigate.environment,
            check=False,
        )
    assert done.returncode == 3
    assert done.stderr == "trigate: output: no space left on device\n"


def test_a_reader_that_leaves_early_is_no_fault(trigate):
    import subprocess

    process = subprocess.Popen(
        trigate.command("data", "list"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=trigate.environment,
    )
    process.stdout.close()
    assert process.wait(60) == 0
    assert process.stderr.read() == ""


@pytest.mark.parametrize(
    "text", ["llm = 3\n", "[run]\ncash = inf\n", "[run]\ncash = nan\n", "cage = 'none'\n", "not toml"]
)
def test_a_configuration_that_cannot_be_is_bad_input_not_a_fault(trigate, tmp_path, text):
    (tmp_path / "trigate.toml").write_text(text)
    ended = trigate.run("evolve")
    assert ended.code == 2
    one_sentence(ended, "trigate.toml")


def test_control_characters_of_a_file_name_never_reach_the_terminal(trigate):
    ended = trigate.run("check", "a\x1b[31mb.py")
    assert ended.code == 2
    one_sentence(ended, "a\\x1b[31mb.py")
