"""Writing files whole or not at all."""

import os

import pytest

from addtree.support.files import replaced, write_text


def test_a_file_is_replaced_in_one_step(tmp_path):
    path = tmp_path / "file.txt"
    write_text(path, "old")
    with replaced(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"  # until the block ends
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file.txt"
    write_text(path, "old")

    def fail():
        with replaced(path) as temporary:
            temporary.write_text("half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_text_is_written_as_utf_8(tmp_path):
    write_text(tmp_path / "file.txt", "θ ≈ 1")
    assert (tmp_path / "file.txt").read_bytes() == "θ ≈ 1".encode()


def test_a_lone_surrogate_becomes_its_escape(tmp_path):
    write_text(tmp_path / "file.txt", "a\ud800b")
    assert (tmp_path / "file.txt").read_text(encoding="utf-8") == "a\\ud800b"


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "file.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("file.txt")
    write_text(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "file.txt").read_text() == "new"


def test_a_pipe_is_written_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text(pipe, "text")
    assert os.read(reading, 100) == b"text"
    os.close(reading)
    assert pipe.is_fifo()


def test_a_long_name_leaves_room_for_the_temporary_one(tmp_path):
    path = tmp_path / ("x" * 255)
    write_text(path, "text")
    assert path.read_text() == "text"


def test_two_writers_of_one_path_do_not_share_a_temporary_file(tmp_path):
    """Two machines that share a folder may have the same process and thread ids, so these do not tell writers apart."""
    path = tmp_path / "file.txt"
    with replaced(path) as first, replaced(path) as second:
        first.write_text("first")
        second.write_text("second")
        assert first.read_text() == "first"
    assert path.read_text() == "first"  # its block ended last
    assert list(tmp_path.iterdir()) == [path]
