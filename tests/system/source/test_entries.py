"""Names of archive entries as bytes."""

import pytest

from fabric.system.source.entries import Refused, decode_name, refuse


def test_a_name_is_utf8() -> None:
    assert decode_name("ü.txt".encode()) == "ü.txt"


def test_another_encoding_is_refused_with_a_readable_name() -> None:
    with pytest.raises(Refused) as caught:
        decode_name("ü.txt".encode("latin-1"))
    assert (caught.value.why, caught.value.entry) == ("has a name that is not UTF-8", "\ufffd.txt")


def test_a_refusal_of_the_whole_archive_names_no_entry() -> None:
    with pytest.raises(Refused) as caught:
        refuse("ends early")
    assert (str(caught.value), caught.value.entry) == ("ends early", "")
