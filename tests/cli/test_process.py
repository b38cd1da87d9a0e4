"""The command line as a process: streams that close, fill up or are terminals, and its imports."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import MARITIME, ROOT, TOY, environment, line, start

pytestmark = pytest.mark.usefixtures("folder")

PLAN = ("plan", MARITIME / "rules.cer", "--facts", MARITIME / "facts.cer")
FAILS = "happensAt(richer(X), T) :- happensAt(win(Y), T).\n"

needs_full_device = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="this system has no device that is always full"
)


@pytest.fixture
def bad() -> str:
    Path("bad.cer").write_text(FAILS, "utf-8")
    return "bad.cer"


def piped(command: list[str], reader: str, **variables: str) -> tuple[int, str, str]:
    """Exit code and complaints of a command whose output goes to a reader, and what that read."""
    env = environment(**variables)
    first = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    second = subprocess.run(
        ["sh", "-c", reader], stdin=first.stdout, capture_output=True, text=True, check=True
    )
    assert first.stdout is not None
    first.stdout.close()
    err = first.communicate(timeout=60)[1].decode("utf-8")
    return first.returncode, err, second.stdout


def on_terminal(command: list[str], **variables: str) -> str:
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    subprocess.run(command, env=environment(**variables), stdout=theirs, stderr=theirs, check=False)
    os.close(theirs)
    read = b""
    while True:
        try:
            block = os.read(ours, 65536)
        except OSError:
            # Linux says so when the other side of a terminal is closed.
            break
        if not block:
            break
        read += block
    os.close(ours)
    return read.decode("utf-8")


def test_exit_codes_reach_the_shell(bad: str) -> None:
    assert start("check", "toy.cer").code == 0
    assert start("check", bad).code == 1
    assert start("check").code == 2


def test_a_reader_may_stop_after_the_first_line() -> None:
    code, err, read = piped(line(*PLAN), "head -n 1")
    assert (code, err, read) == (0, "", "stage 1, by Vessel\n")


def test_a_reader_may_not_read_at_all(bad: str) -> None:
    # The exit code is about the program, whether or not somebody reads what is wrong with it.
    assert piped(line(*PLAN), "true")[:2] == (0, "")
    assert piped(line("check", bad), "true")[:2] == (1, "")


@needs_full_device
@pytest.mark.parametrize("args", [PLAN, ("--help",)], ids=lambda a: a[0])
def test_output_that_cannot_be_written_is_told(args: tuple[str | Path, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = start(*args, stdout=full)
    assert done.code == 2
    assert done.err == "cernis: the output cannot be written: No space left on device\n"


@needs_full_device
def test_a_picture_that_cannot_be_written_is_told() -> None:
    Path("full.svg").symlink_to("/dev/full")
    done = start("graph", "toy.cer", "-o", "full.svg")
    assert (done.code, done.out) == (2, "")
    assert done.err == "cernis: full.svg cannot be written: No space left on device\n"


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-"])
def test_streams_may_be_closed(bad: str, closed: str) -> None:
    words = " ".join(f"'{word}'" for word in line("check", bad))
    done = subprocess.run(
        ["sh", "-c", f"{words} {closed}"], env=environment(), capture_output=True, check=False
    )
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr


def test_output_is_plain_where_there_is_no_terminal(bad: str) -> None:
    done = start("check", bad)
    assert "error[C030]" in done.out
    assert "\x1b" not in done.said


def test_output_is_coloured_on_a_terminal_unless_unwanted(bad: str) -> None:
    command = line("check", bad)
    coloured, plain = on_terminal(command), on_terminal(command, NO_COLOR="1")
    assert "\x1b[1;31merror[C030]\x1b[0m" in coloured
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain


def test_an_encoding_of_few_characters_is_enough() -> None:
    Path("foreign.cer").write_text("\u4e2d(1).\n", "utf-8")
    code, err, read = piped(line("check", "foreign.cer"), "cat", PYTHONIOENCODING="latin-1")
    assert (code, err) == (0, "")
    assert "nothing uses \\u4e2d/1" in read


@pytest.mark.skipif(sys.platform == "darwin", reason="names of files are UTF-8 there")
def test_the_name_of_a_file_may_be_anything() -> None:
    with open(b"\xff.cer", "w") as file:
        file.write("a(.\n")
    done = start("check", os.fsdecode(b"\xff.cer"))
    assert done.code == 1
    assert "\\udcff.cer:1:3" in done.out


def test_an_error_that_is_raised_is_one_line() -> None:
    code = (
        "import cernis.plan, cernis.errors, cernis.cli.main as cli, sys\n"
        "def fail(plan): raise cernis.errors.PlanError('there is no way')\n"
        "cernis.plan.explain = fail\n"
        "sys.argv[1:] = ['plan', 'toy.cer']\n"
        "cli.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "cernis: there is no way\n"


def test_checking_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from cernis.cli.main import app\n"
        "app(['check', 'toy.cer'], standalone_mode=False)\n"
        "print(sorted({'numba', 'numpy', 'pyarrow', 'pyspark', 'rich', 'networkx'} "
        "& sys.modules.keys()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_small_run_starts_without_compiling(tmp_path: Path) -> None:
    toy = ROOT / "examples" / "toy"
    code = (
        "import sys, time\n"
        "from cernis.cli.main import app\n"
        "app(sys.argv[1:], standalone_mode=False)\n"
        "print('numba' in sys.modules, time.process_time())\n"
    )
    command = ["run", toy / "rules.cer", "--facts", toy / "facts.cer", "--engine", "local"]
    command += ["--input", toy / "events.txt"]
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, command)], capture_output=True, text=True,
        check=True, env=environment(NUMBA_CACHE_DIR=str(tmp_path)),
    )  # fmt: skip
    compiled, seconds = done.stdout.splitlines()[-1].split()
    assert compiled == "False"
    # It takes half a second, or one if Python compiles the modules, too; machines differ.
    assert float(seconds) < 3


def test_many_small_tests_start_without_compiling(tmp_path: Path) -> None:
    cases = [
        f"test: case {number}\n  given\n    {number}  win_lottery(kim)\n    {number + 5}  "
        f"lose_wallet(kim)\n  expect\n    rich(kim) after {number} until {number + 5}\n"
        for number in range(1, 101)
    ]
    (tmp_path / "toy.cer").write_text(TOY)
    (tmp_path / "toy.certest").write_text("\n".join(cases))
    code = (
        "import sys\n"
        "from cernis.cli.main import app\n"
        "app(['test', 'toy.certest'], standalone_mode=False)\n"
        "print('numba' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False,
        env=environment(NUMBA_CACHE_DIR=str(tmp_path)),
    )  # fmt: skip
    assert "100 passed" in done.stdout, done.stderr
    assert done.stdout.splitlines()[-1] == "False"
