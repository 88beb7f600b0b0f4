"""Contents go into packs and come out again, whole or not at all."""

from hypothesis import given
from hypothesis import strategies as st

from fabric.remote.contract import PACK_BYTES
from fabric.remote.packs import Extent, PackCutter, read_content

_NEAR_A_PACK = st.integers(PACK_BYTES - 2, PACK_BYTES + 2)
_SIZES = st.lists(st.one_of(st.integers(0, 9), _NEAR_A_PACK), max_size=5)


@given(_SIZES)
def test_packed_contents_can_be_read_back(sizes: list[int]) -> None:
    contents = [bytes([number + 1]) * size for number, size in enumerate(sizes)]
    cutter = PackCutter("build")
    extents: list[Extent] = []
    packs: list[bytes] = []
    for content in contents:
        extents.append(cutter.add(content))
        packs += cutter.full()
    packs += cutter.last()
    assert all(len(pack) == PACK_BYTES for pack in packs[:-1])
    numbered = dict(enumerate(packs))
    assert [read_content(extent, numbered) for extent in extents] == contents


def test_a_pack_that_is_too_short_gives_nothing() -> None:
    extent = Extent("build", PACK_BYTES - 2, 4)
    assert read_content(extent, {0: b"x" * PACK_BYTES, 1: b"y"}) is None
    assert read_content(extent, {0: b"x" * (PACK_BYTES - 1), 1: b"y" * 4}) is None


def test_large_content_spans_several_packs() -> None:
    assert list(Extent("vendor", 5, 2 * PACK_BYTES).packs) == [0, 1, 2]
    assert list(Extent("vendor", 5, 0).packs) == []
