"""Which colour an option has, in every chart alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.analysis.judgement.results import Judgement
from steelyard.report.about.about import About

COLOURS_MAX = 8


@dataclass(frozen=True)
class Palette:
    """The names that have a colour of their own, and which of them an option has.

    of: the name that the colour stands for, by option: the option itself, or, with more than
    eight options, its level of the factor that matters most. domain: all such names, in order.
    """

    title: str
    domain: tuple[str, ...]
    of: Mapping[str, str]

    @property
    def by_option(self) -> bool:
        """Whether each option has a colour of its own."""
        return self.title == "option"


def palette_of(judgement: Judgement, about: About) -> Palette:
    """Colours by option; by the most important factor's level when there are more than eight."""
    options = judgement.options
    if len(options) <= COLOURS_MAX:
        return Palette("option", options, {label: label for label in options})
    factor = _main_factor(judgement, about)
    levels = {label: about.option_levels.get(label, {}).get(factor or "", "other") for label in options}
    domain = tuple(dict.fromkeys(levels.values()))
    if factor is None or len(domain) > COLOURS_MAX:
        return Palette("options", ("all",), dict.fromkeys(options, "all"))
    return Palette(factor, domain, levels)


def _main_factor(judgement: Judgement, about: About) -> str | None:
    """The factor that explains most of the foremost metric; the first factor where none is estimated."""
    foremost = judgement.headlines.foremost
    single = [
        effect
        for effect in judgement.effects
        if len(effect.factors) == 1 and (foremost is None or effect.metric == foremost.name)
    ]
    if single:
        return max(single, key=lambda effect: effect.share).factors[0]
    return about.factors[0].name if about.factors else None
