"""Writing files whole or not at all."""

import pytest

from addtree._files import replaced, write_text


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
