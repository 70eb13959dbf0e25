"""The golden files: every situation in every format. ``python tests/golden.py`` writes them; look at the diff then."""

from __future__ import annotations

from pathlib import Path

from situations import SITUATIONS

from preflight import __version__
from preflight.render import FORMATS, render

FOLDER = Path(__file__).parent / "fixtures" / "golden"
_SUFFIXES = {"json": "json", "sarif": "json", "junit": "xml"}


def rendered() -> dict[str, str]:
    """File name -> what the renderers make of the situations now, whatever the version of preflight is."""
    files = {}
    for name, report in SITUATIONS.items():
        for format in FORMATS:
            text = render(report, format, colour=False, width=100, verbose=False)
            files[f"{name}.{format}.{_SUFFIXES.get(format, 'txt')}"] = text.replace(f'"{__version__}"', '"VERSION"')
    files["trail.verbose.txt"] = render(SITUATIONS["trail"], "text", verbose=True)
    files["many-findings.verbose.txt"] = render(SITUATIONS["many-findings"], "text", verbose=True)
    files["fix.narrow.txt"] = render(SITUATIONS["fix"], "text", width=40)
    files["multi-line.colour.txt"] = render(SITUATIONS["multi-line"], "text", colour=True)
    files["hostile.colour.txt"] = render(SITUATIONS["hostile"], "short", colour=True)
    return files


def main() -> None:
    """Write every golden file, and take away those that nothing makes any more."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    files = rendered()
    for stray in {file.name for file in FOLDER.iterdir()} - files.keys():
        (FOLDER / stray).unlink()
    for name, text in files.items():
        (FOLDER / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
