"""The words of docs/words.toml, and where sentences end."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

_LIST = Path(__file__).resolve().parents[2] / "docs" / "words.toml"
WORDS = {
    re.compile(rf"\b(?:{pattern})\b", flags=re.IGNORECASE): better
    for section in tomllib.loads(_LIST.read_text(encoding="utf-8")).values()
    for pattern, better in section.items()
}
"""What texts must not have, and what to write instead."""
END = re.compile(r"(?<=[.!?])[)*\"”]*\s+(?=[^\sa-z]|dpmine)")
"""Between two sentences."""
