"""What the documents tell a reader to type works; and the tool that says so can tell when it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs import console

DOCUMENTS = [
    path
    for path in [*sorted(console.ROOT.glob("*.md")), *sorted(console.ROOT.glob("docs/**/*.md"))]
    if console.blocks(path.read_text("utf-8"))
]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(console.ROOT)))
def test_every_console_block_does_what_it_shows(document: Path, tmp_path: Path) -> None:
    assert not (faults := console.run(document, tmp_path)), "\n".join(faults)


def test_a_block_is_read_with_continuations_output_and_exit_code() -> None:
    text = "Words.\n\n```console\n$ printf 'a\n> b'\na\nb\n$ false\n[1]\n```\n\n```python\n$ not a console\n```\n"
    assert console.blocks(text) == [
        console.Block(3, [console.Command(4, "printf 'a\nb'", ["a", "b"], 0), console.Command(8, "false", [], 1)], None)
    ]


def test_a_reason_leaves_out_the_next_block_and_no_other() -> None:
    block = "```console\n$ true\n```\n"
    comment = "<!-- not run: needs a Docker engine -->\n"
    reasons = [block.reason for block in console.blocks(f"{comment}\n{block}\n{block}\n{comment}words\n{block}")]
    assert reasons == ["needs a Docker engine", None, None]


def test_a_block_that_begins_with_no_command_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"line 2: .* begins with a command"):
        console.blocks("```console\nroundledger demo\n```\n")


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        (["one", "two"], "one\ntwo\n", True),
        (["one"], "one\ntwo\n", False),
        (["one", "two"], "one\n", False),
        (["one  "], "one\n", True),
        (["…"], "", True),
        (["a", "…", "z"], "a\nb\nc\nz\n", True),
        (["a", "…", "z"], "a\nz\n", True),
        (["a", "…", "z"], "a\nb\n", False),
        (["took … s"], "took 3.2 s\n", True),
        (["took … s"], "took\n3.2 s\n", False),
        (["a.c"], "abc\n", False),
    ],
)
def test_what_is_shown_is_compared_with_what_is_printed(shown: list[str], printed: str, same: bool) -> None:
    assert console.agrees(shown, printed) is same


@pytest.mark.parametrize(
    ("block", "fault"),
    [
        ("$ echo one\none", None),
        ("$ echo one >&2\none", None),
        ("$ echo one\ntwo", "doc.md:2: $ echo one\n  printed:\none\n"),
        ("$ exit 3", "doc.md:2: $ exit 3\n  exited 3, not 0, and printed:\n"),
        ("$ exit 3\n[3]", None),
        ('$ echo "$HOME"\n/root', "doc.md:2: $ echo"),
        ("$ env | grep -c ^LEDGER_DSN\n0\n[1]", None),
        ("$ roundledger --version\nroundledger…", None),
    ],
)
def test_a_document_that_does_not_come_true_is_found(
    block: str, fault: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEDGER_DSN", "host=somebody.else")
    document = tmp_path / "doc.md"
    document.write_text(f"```console\n{block}\n```\n", "utf-8")
    faults = console.run(document, tmp_path)
    if fault is None:
        assert faults == []
    else:
        assert len(faults) == 1
        assert faults[0].startswith(fault)


def test_what_is_left_running_runs_until_the_end(tmp_path: Path) -> None:
    document = tmp_path / "doc.md"
    text = "<!-- left running -->\n\n```console\n$ python3 -c 'import time; print(8044, flush=True); time.sleep(60)'\n8044\n```\n"
    document.write_text(text + "\n```console\n$ cat $HOME/line-4.log; echo 8044\n8044\n8044\n```\n", "utf-8")
    [fault] = console.run(document, tmp_path)
    assert "exited -15" in fault, "it was there for the second block, and minds being stopped"


@pytest.mark.parametrize("command", ["false", "echo two"])
def test_what_does_not_begin_as_shown_is_found(command: str, tmp_path: Path) -> None:
    document = tmp_path / "doc.md"
    document.write_text(f"<!-- left running -->\n```console\n$ {command}\none\n```\n", "utf-8")
    assert "printed:" in console.run(document, tmp_path)[0]


def test_a_command_that_does_not_end_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "TIME_LIMIT", 0.2)
    document = tmp_path / "doc.md"
    document.write_text("```console\n$ sleep 5; true\n```\n", "utf-8")
    assert console.run(document, tmp_path) == ["doc.md:2: $ sleep 5; true\n  did not end within 0.2 s"]


def test_what_is_exported_holds_for_the_commands_after_it(tmp_path: Path) -> None:
    document = tmp_path / "document.md"
    document.write_text('```console\n$ export PLACE="$HOME/here"\n$ echo "$PLACE"\n' + f"{tmp_path}/here\n```\n", "utf-8")
    assert console.run(document, tmp_path) == []


def test_the_tutorial_comes_out_the_same_where_demos_were_played_before(tmp_path: Path) -> None:
    played = tmp_path / "played.md"
    played.write_text("```console\n$ roundledger demo --rounds 1 --table R01\n…\n```\n", "utf-8")
    assert console.run(played, tmp_path) == []
    faults = console.run(console.ROOT / "docs" / "tutorial" / "README.md", tmp_path)
    assert not faults, "\n".join(faults)
