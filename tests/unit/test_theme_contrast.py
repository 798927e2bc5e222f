"""Every ink of the themes can be read on every ground it meets, by the ratios of WCAG 2."""

from itertools import pairwise, product

import pytest

from agentic_rl_tui.styles import themes

READABLE, VISIBLE = 4.5, 3.0
PALETTES = [pytest.param(themes.TOKENS, id="dark"), pytest.param(themes.LIGHT_TOKENS, id="light")]
INKS = ("ink", "muted", "faint", "accent", "running", "waiting", "succeeded", "failed", "canceled", "warn")
GROUNDS = ("base", "surface", "raised", "cursor", "cursor-blurred")
FOCUSED = (("base", "accent"), ("base", "failed"), ("match-ink", "match"), ("ink", "selection"), ("ink", "line"))
SHAPES = (("quiet", "base"), ("fill", "base"), ("accent", "cursor"), ("faint", "line"), ("accent", "line"))


def luminance(color: str) -> float:
    shares = [int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def too_weak(tokens: dict[str, str], pairs: list[tuple[str, str]], least: float) -> list[str]:
    ratios = {pair: contrast(tokens[pair[0]], tokens[pair[1]]) for pair in pairs}
    return [f"{ink} on {ground}: {ratio:.2f}" for (ink, ground), ratio in ratios.items() if ratio < least]


def test_the_ratio_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("tokens", PALETTES)
def test_texts_can_be_read(tokens: dict[str, str]) -> None:
    assert too_weak(tokens, [*product(INKS, GROUNDS), *FOCUSED], READABLE) == []


@pytest.mark.parametrize("tokens", PALETTES)
def test_shapes_and_dimmed_keys_can_be_seen(tokens: dict[str, str]) -> None:
    assert too_weak(tokens, list(SHAPES), VISIBLE) == []


@pytest.mark.parametrize("tokens", PALETTES)
def test_greys_stay_apart(tokens: dict[str, str]) -> None:
    """A hierarchy of texts that all look alike is none."""
    ratios = [contrast(tokens[name], tokens["base"]) for name in ("ink", "muted", "faint", "quiet")]
    assert all(stronger > 1.25 * weaker for stronger, weaker in pairwise(ratios)), ratios
