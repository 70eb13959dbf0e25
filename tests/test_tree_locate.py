"""Finding the tree: every kind of folder, the active environment, editable installs. Nothing is run or imported."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from preflight.errors import TreeError, UsageError
from preflight.tree import TreeKind, TreeRequest, open_tree
from preflight.tree.distinfo import read_distribution
from preflight.tree.environment import pth_folders
from preflight.tree.locate import locate
from tests.minitree import make_tree, write


def make_environment(folder: Path, python: str = "3.12", lib: str = "lib", **options) -> Path:
    """A virtual environment with a miniature vLLM; returns its site-packages."""
    made = make_tree(folder / "made", **options)
    site = folder / lib / f"python{python}" / "site-packages"
    site.parent.mkdir(parents=True)
    made.rename(site)
    made.parent.rmdir()
    write(folder / "pyvenv.cfg", f"home = /nowhere\nversion = {python}.1\n".encode())
    make_program(folder / "bin" / "python")
    return site


def make_program(file: Path, text: str = "#!/bin/sh\nexit 1\n") -> Path:
    write(file, text.encode())
    file.chmod(0o755)
    return file


def make_checkout(folder: Path) -> Path:
    write(folder / "vllm" / "__init__.py", b"")
    write(folder / "setup.py", b"raise SystemExit('nothing may run')\n")
    return folder


def root_of(folder: Path) -> Path:
    return locate(str(folder), {}).root


def test_site_packages_itself(tmp_path):
    site = make_tree(tmp_path)
    found = locate(str(site), {})
    assert (found.root, found.kind) == (site, TreeKind.INSTALLED)


@pytest.mark.parametrize("lib", ["lib", "lib64", "local/lib"])
def test_root_of_a_virtual_environment(tmp_path, lib):
    site = make_environment(tmp_path / "env", lib=lib)
    tree = open_tree(TreeRequest(site_packages=str(tmp_path / "env")), {})
    assert tree.root == site
    assert tree.facts.vllm == "0.16.0"
    assert tree.facts.python == "3.12"


def test_lib64_that_is_a_link_to_lib_is_no_second_tree(tmp_path):
    site = make_environment(tmp_path)
    (tmp_path / "lib64").symlink_to("lib")
    assert root_of(tmp_path) == site


def test_windows_layout(tmp_path):
    made = make_tree(tmp_path / "made")
    (tmp_path / "env" / "Lib").mkdir(parents=True)
    site = tmp_path / "env" / "Lib" / "site-packages"
    made.rename(site)
    write(tmp_path / "env" / "pyvenv.cfg", b"version_info = 3.11.4.final.0\n")
    tree = open_tree(TreeRequest(site_packages=str(tmp_path / "env")), {})
    assert (tree.root, tree.facts.python) == (site, "3.11")


def test_dist_packages_of_a_distribution(tmp_path):
    made = make_tree(tmp_path / "made")
    (tmp_path / "usr" / "lib" / "python3.12").mkdir(parents=True)
    (tmp_path / "usr" / "local" / "lib" / "python3.12").mkdir(parents=True)
    site = tmp_path / "usr" / "local" / "lib" / "python3.12" / "dist-packages"
    made.rename(site)
    python = make_program(tmp_path / "usr" / "bin" / "python3")
    tree = open_tree(TreeRequest(site_packages=str(tmp_path / "usr")), {})
    assert (tree.root, tree.interpreter) == (site, python)


def test_the_package_folder_itself_means_the_folder_above_it(tmp_path):
    site = make_tree(tmp_path)
    assert root_of(site / "vllm") == site


@pytest.mark.parametrize("place", [".", "src"])
def test_source_checkout(tmp_path, place):
    root = make_checkout(tmp_path / "vllm" / place)
    found = locate(str(tmp_path / "vllm"), {})
    assert (found.root, found.kind) == (root, TreeKind.CHECKOUT)


def test_several_pythons_of_one_environment_are_not_guessed_between(tmp_path):
    make_environment(tmp_path, "3.11")
    other = make_tree(tmp_path / "other")
    (tmp_path / "lib" / "python3.12").mkdir()
    other.rename(tmp_path / "lib" / "python3.12" / "site-packages")
    with pytest.raises(TreeError) as raised:
        locate(str(tmp_path), {})
    assert "python3.11" in raised.value.message and "python3.12" in raised.value.message


@pytest.mark.parametrize("kind", ["missing", "file", "empty", "name", "user"])
def test_what_is_no_tree_is_a_sentence_with_the_way_out(tmp_path, kind):
    folder = {"missing": str(tmp_path / "nowhere"), "file": str(tmp_path / "file"), "empty": str(tmp_path)}
    write(tmp_path / "file", b"x")
    given = {**folder, "name": "a\0b", "user": "~no-such-user/site-packages"}[kind]
    with pytest.raises((TreeError, UsageError)) as raised:
        locate(given, {})
    assert raised.value.help


def test_an_environment_inside_the_folder_is_pointed_at(tmp_path):
    make_environment(tmp_path / ".venv")
    with pytest.raises(TreeError) as raised:
        locate(str(tmp_path), {})
    assert str(tmp_path / ".venv") in (raised.value.help or "")


def test_a_dist_info_without_its_package_is_said(tmp_path):
    site = make_tree(tmp_path)
    (site / "vllm").rename(tmp_path / "elsewhere")
    with pytest.raises(TreeError) as raised:
        locate(str(site), {})
    assert "vllm-0.16.0.dist-info" in raised.value.message


def test_of_several_dist_infos_the_one_with_the_files_is_taken(tmp_path):
    site = make_tree(tmp_path)
    write(site / "vllm-0.9.0.dist-info" / "METADATA", b"Name: vllm\nVersion: 0.9.0\n")
    tree = open_tree(TreeRequest(site_packages=str(site)), {})
    assert tree.facts.vllm == "0.16.0"
    assert any("vllm-0.9.0.dist-info" in note for note in tree.notes)


# --- the active environment ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_active_environment_by_its_variable(tmp_path, variable):
    site = make_environment(tmp_path)
    tree = open_tree(TreeRequest(use_environment=True), {variable: str(tmp_path), "PATH": ""})
    assert tree.root == site
    assert tree.interpreter == tmp_path / "bin" / "python"


SHEBANGS = {
    "direct": "#!{python}\n",
    "options": "#!{python} -sE\n",
    "env": "#!/usr/bin/env python\n",
    "long path": "#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n",
}


@pytest.mark.parametrize("kind", sorted(SHEBANGS))
def test_active_environment_by_the_script_on_path(tmp_path, kind):
    site = make_environment(tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    make_program(tmp_path / "tools" / "vllm", SHEBANGS[kind].format(python=python) + "import vllm\n")
    path = os.pathsep.join([str(tmp_path / "tools"), str(python.parent)])
    assert locate(None, {"PATH": path}).root == site


def test_a_script_that_is_a_link_into_its_environment(tmp_path):
    site = make_environment(tmp_path / "tool")
    make_program(tmp_path / "tool" / "bin" / "vllm", "#!/nowhere/python\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "vllm").symlink_to(tmp_path / "tool" / "bin" / "vllm")
    assert locate(None, {"PATH": str(tmp_path / "bin")}).root == site


@pytest.mark.parametrize("name", ["python", "python3"])
def test_active_environment_by_python_on_path_through_links(tmp_path, name):
    site = make_environment(tmp_path / "env")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / name).symlink_to("../env/bin/python")
    assert locate(None, {"PATH": str(tmp_path / "bin")}).root == site


def test_an_environment_without_vllm_is_passed_over(tmp_path):
    (tmp_path / "hook" / "lib" / "python3.12" / "site-packages").mkdir(parents=True)
    site = make_environment(tmp_path / "env")
    make_program(tmp_path / "env" / "bin" / "vllm", f"#!{tmp_path}/env/bin/python\n")
    environ = {"VIRTUAL_ENV": str(tmp_path / "hook"), "PATH": str(tmp_path / "env" / "bin")}
    assert locate(None, environ).root == site


def test_two_environments_that_could_be_meant_are_an_error_that_names_both(tmp_path):
    make_environment(tmp_path / "one")
    make_environment(tmp_path / "two")
    make_program(tmp_path / "two" / "bin" / "vllm", f"#!{tmp_path}/two/bin/python\n")
    with pytest.raises(TreeError) as raised:
        locate(None, {"VIRTUAL_ENV": str(tmp_path / "one"), "PATH": str(tmp_path / "two" / "bin")})
    assert str(tmp_path / "one") in raised.value.message and str(tmp_path / "two") in raised.value.message


def test_the_script_on_path_settles_between_two_variables(tmp_path):
    make_environment(tmp_path / "base")
    site = make_environment(tmp_path / "env")
    make_program(tmp_path / "env" / "bin" / "vllm", f"#!{tmp_path}/env/bin/python\n")
    environ = {"CONDA_PREFIX": str(tmp_path / "base"), "VIRTUAL_ENV": str(tmp_path / "env")}
    assert locate(None, {**environ, "PATH": str(tmp_path / "env" / "bin")}).root == site


def test_nothing_found_says_where_it_looked(tmp_path):
    with pytest.raises(TreeError) as raised:
        locate(None, {"VIRTUAL_ENV": str(tmp_path), "PATH": str(tmp_path), "PYTHONPATH": str(make_tree(tmp_path))})
    assert str(tmp_path) in raised.value.message and "PATH" in raised.value.message


# --- editable installs --------------------------------------------------------------------------------------------


def editable_site(folder: Path) -> Path:
    site = folder / "env" / "lib" / "python3.12" / "site-packages"
    info = site / "vllm-0.16.1.dist-info"
    write(info / "METADATA", b"Metadata-Version: 2.1\nName: vllm\nVersion: 0.16.1\n\nbody: not a header\n")
    write(info / "RECORD", b"__editable__.vllm.pth,sha256=AAAA,3\nvllm-0.16.1.dist-info/RECORD,,\n")
    return site


def test_editable_by_direct_url(tmp_path):
    site = editable_site(tmp_path)
    source = make_checkout(tmp_path / "a source")
    url = {"url": source.as_uri(), "dir_info": {"editable": True}}
    write(site / "vllm-0.16.1.dist-info" / "direct_url.json", json.dumps(url).encode())
    tree = open_tree(TreeRequest(site_packages=str(site)), {"PATH": os.environ["PATH"]})
    assert (tree.root, tree.kind, tree.facts.vllm) == (source, TreeKind.EDITABLE, "0.16.1")
    assert site in tree.packages
    assert [u.id for u in tree.undecided if u.decisive] == ["no-reference"]


def test_editable_by_a_path_line_and_import_lines_are_not_run(tmp_path):
    site = editable_site(tmp_path)
    source = make_checkout(tmp_path / "source")
    marker = tmp_path / "was-run"
    lines = f"import pathlib; pathlib.Path({str(marker)!r}).touch()\n# {tmp_path}\n{source}\n"
    write(site / "__editable__.vllm.pth", lines.encode())
    assert locate(str(tmp_path / "env"), {}).root == source
    assert not marker.exists()


@pytest.mark.parametrize("annotation", ["", ": dict[str, str]"])
def test_editable_by_a_finder_module_that_is_read_not_run(tmp_path, annotation):
    site = editable_site(tmp_path)
    source = make_checkout(tmp_path / "source")
    text = f"raise SystemExit\nMAPPING{annotation} = {{'other': '/x', 'vllm': {str(source / 'vllm')!r}}}\n"
    write(site / "__editable___vllm_0_16_1_finder.py", text.encode())
    write(site / "__editable__.vllm.pth", b"import __editable___vllm_0_16_1_finder\n")
    assert locate(str(site), {}).root == source


@pytest.mark.parametrize("text", ["MAPPING = {", "MAPPING = open('x')", "MAPPING = 3", "\0", "x = 1"])
def test_a_finder_that_cannot_be_read_leads_nowhere(tmp_path, text):
    site = editable_site(tmp_path)
    write(site / "__editable___vllm_finder.py", text.encode())
    with pytest.raises(TreeError):
        locate(str(site), {})


def test_an_editable_source_that_is_gone_is_said(tmp_path):
    site = editable_site(tmp_path)
    write(site / "vllm-0.16.1.dist-info" / "direct_url.json", b'{"url": "file:///gone", "dir_info": {}}')
    with pytest.raises(TreeError) as raised:
        locate(str(site), {})
    assert "no editable install" in raised.value.message


def test_path_lines_that_do_not_exist_are_nothing(tmp_path):
    write(tmp_path / "a.pth", b"/nowhere/at/all\n\nsub\n")
    (tmp_path / "sub").mkdir()
    assert pth_folders(tmp_path) == [tmp_path / "sub"]


# --- what goes with the tree --------------------------------------------------------------------------------------


def test_versions_and_whole_environment(tmp_path):
    site = make_environment(tmp_path, transformers="4.57.6")
    assert not open_tree(TreeRequest(site_packages=str(site)), {}).whole_environment
    write(site / "torch-2.9.1+cu128.dist-info" / "METADATA", b"Name: torch\nVersion: 2.9.1\n")
    tree = open_tree(TreeRequest(site_packages=str(site)), {})
    assert tree.whole_environment
    assert (tree.facts.transformers, tree.python_range) == ("4.57.6", "<3.14,>=3.10")


def test_packages_of_the_base_and_of_path_files_count(tmp_path):
    base = tmp_path / "base" / "lib" / "python3.12" / "site-packages"
    write(base / "torch-2.9.1.dist-info" / "METADATA", b"Name: torch\nVersion: 2.9.1\n")
    site = make_environment(tmp_path / "env")
    config = f"home = {tmp_path}/base/bin\ninclude-system-site-packages = true\nversion = 3.12.1\n"
    write(tmp_path / "env" / "pyvenv.cfg", config.encode())
    write(site / "extra.pth", str(tmp_path / "extra").encode())
    write(tmp_path / "extra" / "transformers-4.56.0.dist-info" / "METADATA", b"Name: transformers\nVersion: 4.56.0\n")
    tree = open_tree(TreeRequest(site_packages=str(site)), {})
    assert set(tree.packages) == {base, tmp_path / "extra"}
    assert tree.whole_environment and tree.facts.transformers == "4.56.0"


def test_python_is_the_one_given(tmp_path):
    site = make_environment(tmp_path / "env")
    python = make_program(tmp_path / "other" / "python3.11")
    request = TreeRequest(site_packages=str(site), python=str(python))
    assert open_tree(request, {}).interpreter == python
    on_path = TreeRequest(site_packages=str(site), python="python3.11")
    assert open_tree(on_path, {"PATH": str(python.parent)}).interpreter == python


@pytest.mark.parametrize("what", ["nowhere", "folder", "plain", ""])
def test_python_that_is_no_program_is_refused(tmp_path, what):
    site = make_environment(tmp_path / "env")
    (tmp_path / "folder").mkdir()
    write(tmp_path / "plain", b"")
    python = str(tmp_path / what) if what else ""
    with pytest.raises(UsageError):
        open_tree(TreeRequest(site_packages=str(site), python=python), {})


@pytest.mark.parametrize(
    ("file", "text", "version"),
    [
        ("vllm/_version.py", "raise SystemExit\n__version__ = version = '0.17.0.dev3'\n", "0.17.0.dev3"),
        ("vllm.egg-info/PKG-INFO", "Name: vllm\nVersion: 0.16.0rc1\n", "0.16.0rc1"),
        ("README.md", "", None),
    ],
)
def test_version_of_a_checkout(tmp_path, file, text, version):
    write(make_checkout(tmp_path) / file, text.encode())
    tree = open_tree(TreeRequest(site_packages=str(tmp_path)), {"PATH": os.environ["PATH"]})
    assert tree.facts.vllm == version


def test_names_that_are_too_long_or_folders_that_are_gone_are_nothing(tmp_path, monkeypatch):
    site = make_tree(tmp_path / "env")
    write(site / "long.pth", b"/" + b"x" * 5000 + b"\n")
    assert open_tree(TreeRequest(site_packages=str(site)), {}).packages == ()
    with pytest.raises(TreeError):
        locate(None, {"VIRTUAL_ENV": "/" + "x" * 5000, "PATH": "/" + "y" * 5000})
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(UsageError):
        locate("relative", {})


def test_a_version_that_is_no_text_is_no_version(tmp_path):
    site = make_tree(tmp_path)
    write(site / "vllm-0.16.0.dist-info" / "METADATA", b"Name: vllm\nVersion: \x1b[2J\n")
    assert open_tree(TreeRequest(site_packages=str(site)), {"PATH": ""}).facts.vllm is None


def test_blanks_in_the_text_of_a_licence_end_no_header(tmp_path):
    site = make_tree(tmp_path)
    metadata = b"Name: vllm\nVersion: 0.16.0\nLicense: Free\n        \n        As in beer.\nRequires-Dist: toy>=1\n\nRequires-Dist: no\n"
    write(site / "vllm-0.16.0.dist-info" / "METADATA", metadata)
    assert read_distribution(site / "vllm-0.16.0.dist-info").requires == ("toy>=1",)
