"""Text files of other tools: marks at their start, encodings and line ends."""

import pytest

from pramana_core.text_files import read_text

TEXT = "größe = 1\nname = 'é'\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_text_is_the_same_in_any_encoding_that_says_what_it_is(tmp_path, encoding, end):
    file = tmp_path / "t"
    file.write_bytes(TEXT.replace("\n", end).encode(encoding))
    assert read_text(file) == TEXT


def test_where_a_text_is_in_another_encoding_its_line_is_named(tmp_path):
    file = tmp_path / "t"
    file.write_bytes(b"a\nb\nc\xe9\n")
    with pytest.raises(UnicodeDecodeError, match="line 3"):
        read_text(file)
