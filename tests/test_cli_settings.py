"""The configuration: found upward, read strictly, refused with the key that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.cli.settings import Settings, load_settings
from preflight.errors import UsageError


def test_without_a_configuration_the_defaults_hold(tmp_path: Path) -> None:
    assert load_settings(tmp_path) == Settings()


def test_the_nearest_file_upward_decides(tmp_path: Path) -> None:
    (tmp_path / "preflight.toml").write_text('vllm = "0.16.0"\n')
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert load_settings(inner).vllm == ("0.16.0",)
    (tmp_path / "a" / "pyproject.toml").write_text('[tool.preflight]\nvllm = "0.18.1"\nignore = ["PF104"]\n')
    settings = load_settings(inner)
    assert (settings.vllm, settings.ignore) == (("0.18.1",), ("PF104",))


def test_a_pyproject_of_something_else_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "preflight.toml").write_text('fail-on = "warning"\n')
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "pyproject.toml").write_text("[tool.other]\nthis is = no TOML at all\n")
    assert load_settings(inner).fail_on == "warning"


def test_paths_are_taken_from_the_folder_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "preflight.toml").write_text('overlay = ["patches"]\nvllm-site-packages = "site"\nrules = ["mine"]\n')
    settings = load_settings(tmp_path)
    assert settings.overlay == (str(tmp_path / "patches"),)
    assert settings.vllm_site_packages == str(tmp_path / "site")
    assert settings.rules == (tmp_path / "mine",)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("verison = 1\n", "verison"),
        ("ignore = 3\n", "ignore"),
        ('fail-on = "never"\n', "never"),
        ("vllm = 0.16\n", "vllm"),
        ('vllm = ""\n', "empty"),
        ('vllm = ["0.16.0", ""]\n', "empty"),
        ("this is no TOML\n", "preflight.toml"),
    ],
)
def test_what_means_nothing_is_refused_by_name(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "preflight.toml").write_text(text)
    with pytest.raises(UsageError) as refused:
        load_settings(tmp_path)
    assert named in refused.value.message
    assert refused.value.help


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "preflight.toml").write_bytes(b'\xef\xbb\xbfvllm = "0.16.0"\n')
    assert load_settings(tmp_path).vllm == ("0.16.0",)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a = 1\n" * 400_000])
def test_a_file_that_is_no_configuration_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "preflight.toml").write_bytes(content)
    with pytest.raises(UsageError):
        load_settings(tmp_path)
