"""Each figure in the errata's texts is what the code measures."""

import re

import pytest

from gdn_ref.proofs import ch08_errata, ch09_errata, ch11_errata, ch11_errata_rule, registry

MODULES = (ch08_errata, ch09_errata, ch11_errata, ch11_errata_rule)
MEASURED = {key: values for module in MODULES for key, values in module.figures().items()}
TEXTS = {entry.key: entry.consequence for entry in registry.ERRATA}


@pytest.mark.parametrize("key", MEASURED)
def test_the_text_quotes_what_is_measured(key):
    percent = re.findall(r"([\d.]+) %", TEXTS[key])
    for value in MEASURED[key]:
        if isinstance(value, int) or value > 10:  # a count or a factor
            assert re.search(rf"\b{value:.0f}\b", TEXTS[key])
        else:
            assert any(f"{100 * value:.{_decimals(text)}f}" == text for text in percent), value
    assert len(percent) in (0, len(MEASURED[key]))


def _decimals(text):
    return len(text.partition(".")[2])
