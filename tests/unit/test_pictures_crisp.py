"""Pictures whose drawings are shapes: bars without seams, curves inside of their axes."""

import re

import pytest
from crisp import CELL_H, CELL_W, crisp, shape


def picture(body: str, x: float = 0.0) -> str:
    return f'<text class="r1" x="{x:g}" y="20" textLength="99" clip-path="url(#line-0)">{body}</text>'


@pytest.mark.parametrize("char", "▁▂▃▄▅▆▇█▉▏▐─│┌┼╯━┃╎┊⠁⣿")
def test_drawings_stay_in_their_cell(char: str) -> None:
    drawn = shape(char, 0, 0)
    assert drawn is not None
    for x, y in re.findall(r"M([\d.]+) ([\d.]+)", drawn):
        assert 0 <= float(x) <= CELL_W
        assert 0 <= float(y) <= CELL_H


def test_letters_and_marks_stay_text() -> None:
    assert [char for char in "aZ9数✔●›" if shape(char, 0, 0)] == []


def test_a_full_block_fills_its_cell() -> None:
    assert shape("█", 12.2, 0) == "M12.20 0.00h12.20v24.40h-12.20z"


def test_text_and_drawing_are_taken_apart() -> None:
    drawn = crisp(picture("0.72&#160;▁▇&#160;&lt;数"), "#000000", "#ffffff")
    assert 'textLength="48.8" lengthAdjust="spacingAndGlyphs" y="20" clip-path="url(#line-0)">0.72<' in drawn
    assert drawn.count("<path") == 1
    assert "▇" not in drawn
    assert ">&lt;</text>" in drawn
    # Nine cells stand before the wide character, which is centred in its two.
    assert 'x="122" text-anchor="middle" font-size="23"' in drawn
