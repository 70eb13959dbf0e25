"""The commands as scripts use them: exit codes, what goes to which stream, and that nothing is changed unless asked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from preflight.cli import main
from tests.minitree import make_tree

BROKEN = "from .interfaces import Alpha, Beta,\n    Gamma,\n    Delta\n"
FIXED = "from .interfaces import (\n    Alpha,\n    Beta,\n    Gamma,\n    Delta,\n)\n"
INTERFACES = "class Alpha: ...\nclass Beta: ...\nclass Gamma: ...\nclass Delta: ...\n"
RELEASE = {"vllm/toy.py": "from .interfaces import Alpha, Beta, Delta\n", "vllm/interfaces.py": INTERFACES}


def broken_tree(folder: Path) -> Path:
    return make_tree(folder, RELEASE, {"vllm/toy.py": BROKEN})


def run(*words: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "preflight", *words],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), **(env or {})},
        timeout=60,
    )


def json_of(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict]:
    code = main([*words, "--output-format", "json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PREFLIGHT_CACHE", str(tmp_path / "cache"))


def test_a_clear_tree_is_exit_code_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = make_tree(tmp_path, RELEASE)
    code, report = json_of(capsys, "check", "--vllm-site-packages", str(site))
    assert (code, report["verdict"], report["findings"], report["tree"]["patched"]) == (0, "clear", [], [])


def test_a_finding_is_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, report = json_of(capsys, "check", "--vllm-site-packages", str(broken_tree(tmp_path)))
    assert (code, report["verdict"]) == (1, "would-not-launch")
    (finding,) = report["findings"]
    assert (finding["rule"], finding["path"], finding["line"]) == ("PF101", "vllm/toy.py", 1)
    assert report["tree"]["patched"] == [{"path": "vllm/toy.py", "state": "modified"}]


def test_the_last_line_of_the_text_is_the_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--vllm-site-packages", str(broken_tree(tmp_path))]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert "0.16.0" in last and "1 file patched" in last and "FAIL" in last


@pytest.mark.parametrize(
    "words",
    [
        ["check", "--vllm-site-packages", "nowhere"],
        ["check", "--no-such-option"],
        ["check", "--output-format", "yaml"],
        ["check", "--select", "PF9999", "--vllm-site-packages", "TREE"],
        ["check", "--fix", "--diff", "--vllm-site-packages", "TREE"],
        ["check", "--vllm", "", "--vllm-site-packages", "TREE"],
        ["check", "no-such-file.py", "--vllm-site-packages", "TREE"],
        ["check", "--vllm-site-packages", "TREE", "--"],
        ["explain", "PF9999"],
        ["rules", "--", "vllm"],
        ["gate", "--vllm-site-packages", "TREE"],
        ["gate", "--vllm-site-packages", "TREE", "--", "no-such-program-at-all"],
        [],
    ],
)
def test_what_cannot_be_carried_out_is_exit_code_2_with_a_way_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    site = str(make_tree(tmp_path, RELEASE))
    assert main([site if word == "TREE" else word for word in words]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("preflight: error: ")
    assert "Traceback" not in said.err


def test_json_is_json_even_when_nothing_could_be_checked(capsys: pytest.CaptureFixture[str]) -> None:
    code, report = json_of(capsys, "check", "--vllm-site-packages", "nowhere")
    assert (code, report["verdict"]) == (2, "not-checked")
    assert "nowhere" in report["error"]["message"]
    assert main(["check", "--output-format=json", "--no-such-option"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["message"]


def test_a_fault_of_ours_is_exit_code_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("made by the test")

    monkeypatch.setattr("preflight.run.run_checks", fail)
    code, report = json_of(capsys, "check", "--vllm-site-packages", str(make_tree(tmp_path, RELEASE)))
    assert (code, report["verdict"]) == (3, "not-checked")
    assert "ZeroDivisionError" in report["error"]["message"]


def test_options_stand_anywhere_and_paths_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = make_tree(tmp_path, RELEASE)
    repository = tmp_path / "repository"
    for name in ("one", "two"):
        (repository / name).mkdir(parents=True)
    (repository / "one" / "toy.py").write_text(BROKEN)
    (repository / "two" / "interfaces.py").write_text(INTERFACES + "x = (\n")
    words = ["check", str(repository / "one"), "--verbose", str(repository / "two"), "--vllm-site-packages", str(site)]
    code, report = json_of(capsys, *words)
    assert code == 1
    assert [finding["path"] for finding in report["findings"]] == ["vllm/interfaces.py", "vllm/toy.py"]
    assert {file["state"] for file in report["tree"]["patched"]} == {"overlay"}


def test_fix_repairs_the_file_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = broken_tree(tmp_path)
    file = site / "vllm" / "toy.py"
    file.chmod(0o640)
    before = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    code, report = json_of(capsys, "check", "--vllm-site-packages", str(site), "--fix")
    assert (code, report["findings"]) == (0, [])
    assert file.read_text() == FIXED
    assert file.stat().st_mode & 0o777 == 0o640
    after = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    assert {path for path in after if after[path] != before.get(path)} == {file}


def test_diff_prints_the_repair_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = broken_tree(tmp_path)
    assert main(["check", "--vllm-site-packages", str(site), "--diff"]) == 1
    out = capsys.readouterr().out
    assert (site / "vllm" / "toy.py").read_text() == BROKEN
    patch = tmp_path / "fix.patch"
    patch.write_text(out)
    subprocess.run(["git", "apply", "-p1", str(patch)], cwd=site, check=True)
    assert (site / "vllm" / "toy.py").read_text() == FIXED


def test_without_fix_nothing_of_the_tree_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = broken_tree(tmp_path)
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in site.rglob("*") if path.is_file()}
    main(["check", "--vllm-site-packages", str(site), "--all"])
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in site.rglob("*") if path.is_file()} == before


def test_a_report_goes_to_a_file_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "report.json"
    code = main(
        ["check", "--vllm-site-packages", str(broken_tree(tmp_path)), "--output-format", "json", "-o", str(target)]
    )
    assert code == 1
    assert capsys.readouterr().out == ""
    assert json.loads(target.read_text())["verdict"] == "would-not-launch"


def test_a_report_file_that_cannot_be_written_is_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["check", "--vllm-site-packages", str(make_tree(tmp_path, RELEASE)), "-o", str(tmp_path / "no" / "report")]
    assert main(words) == 2
    assert "report" in capsys.readouterr().err


def test_quiet_says_nothing_of_a_clear_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--vllm-site-packages", str(make_tree(tmp_path, RELEASE)), "-q"]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "")


def test_ignored_rules_are_not_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = str(broken_tree(tmp_path))
    for words in (["--ignore", "PF101"], ["--ignore", "syntax-error"], ["--select", "PF104"]):
        code, report = json_of(capsys, "check", "--vllm-site-packages", site, *words)
        assert (code, report["findings"]) == (0, [])


def test_the_configuration_is_obeyed_and_options_go_before_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = broken_tree(tmp_path)
    (tmp_path / "preflight.toml").write_text('vllm-site-packages = "site-packages"\nignore = ["PF101"]\n')
    assert json_of(capsys, "check")[0] == 0
    assert json_of(capsys, "check", "--ignore", "PF104")[0] == 1
    assert site.is_dir()


def test_a_suppression_with_a_reason_takes_the_finding_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "# preflight: ignore[PF101] rendered before the launch\n" + BROKEN
    site = make_tree(tmp_path, RELEASE, {"vllm/toy.py": text})
    code, report = json_of(capsys, "check", "--vllm-site-packages", str(site))
    assert (code, report["findings"]) == (0, [])


def test_fail_on_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = make_tree(
        tmp_path, RELEASE, {"vllm/interfaces.py": INTERFACES + "x = 1  # preflight: ignore[PF101] no longer\n"}
    )
    assert json_of(capsys, "check", "--vllm-site-packages", str(site))[0] == 0
    assert json_of(capsys, "check", "--vllm-site-packages", str(site), "--fail-on", "warning")[0] == 1


def test_fingerprints_are_stable_when_lines_move(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prints = []
    for name, text in (("a", BROKEN), ("b", "\n\nx = 1\n" + BROKEN)):
        site = make_tree(tmp_path / name, RELEASE, {"vllm/toy.py": text})
        (finding,) = json_of(capsys, "check", "--vllm-site-packages", str(site))[1]["findings"]
        prints.append(finding["fingerprint"])
    assert prints[0] == prints[1] != ""


def test_no_colours_in_a_pipe_and_none_with_no_color(tmp_path: Path) -> None:
    site = str(broken_tree(tmp_path))
    assert "\x1b" not in run("check", "--vllm-site-packages", site).stdout
    assert "\x1b" in run("check", "--vllm-site-packages", site, env={"FORCE_COLOR": "1", "NO_COLOR": ""}).stdout
    assert "\x1b" not in run("check", "--vllm-site-packages", site, env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).stdout


def test_a_reader_that_leaves_early_causes_no_traceback(tmp_path: Path) -> None:
    site = str(broken_tree(tmp_path))
    command = f"{sys.executable} -m preflight check --vllm-site-packages {site} | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=Path(__file__).parents[1])
    assert done.stderr == ""


def test_a_check_imports_neither_vllm_nor_what_only_fetching_needs(tmp_path: Path) -> None:
    site = str(broken_tree(tmp_path))
    code = (
        "import sys\n"
        "from preflight.cli import main\n"
        f"main(['check', '--vllm-site-packages', {site!r}, '-o', {str(tmp_path / 'out')!r}])\n"
        "heavy = {'torch', 'vllm', 'transformers', 'requests'}\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & heavy))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[1])
    assert done.stdout.strip() == "[]", done.stderr


def test_gate_becomes_the_command_when_clear(tmp_path: Path) -> None:
    site = str(make_tree(tmp_path, RELEASE))
    script = "import os; print(os.environ['MARK'], os.getpid()); raise SystemExit(7)"
    process = subprocess.Popen(
        [sys.executable, "-m", "preflight", "gate", "--vllm-site-packages", site, "--", sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "MARK": "kept"},
        cwd=Path(__file__).parents[1],
    )
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out.split()) == (7, ["kept", str(process.pid)])
    assert len(err.splitlines()) == 1 and "clear" in err


def test_gate_does_not_start_what_would_fail(tmp_path: Path) -> None:
    site, mark = str(broken_tree(tmp_path)), tmp_path / "started"
    done = run("gate", "--vllm-site-packages", site, "--", sys.executable, "-c", f"open({str(mark)!r}, 'w')")
    assert done.returncode == 1
    assert "PF101" in done.stdout
    assert not mark.exists()


GATED = {
    **RELEASE,
    "vllm/envs.py": "environment_variables = {'VLLM_SPEED': lambda: 1}\n",
}


def test_gate_judges_the_environment_that_the_command_inherits(tmp_path: Path) -> None:
    words = (
        "--vllm-site-packages",
        str(make_tree(tmp_path, GATED)),
        "--output-format",
        "short",
        "--fail-on",
        "warning",
    )
    launch = ("--", "vllm", "serve", "m")
    known, unknown = {"VLLM_SPEED": "2"}, {"VLLM_SPEDE": "2"}
    assert "PF505" in run("gate", *words, "--dry-run", *launch, env=unknown).stdout
    assert "PF505" not in run("gate", *words, "--dry-run", *launch, env=known).stdout
    assert "PF505" not in run("check", *words, *launch, env=unknown).stdout, "a check is made anywhere"


def test_what_is_an_overlay_and_a_path_is_laid_over_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = make_tree(tmp_path, RELEASE)
    patches = tmp_path / "repo" / "patches"
    patches.mkdir(parents=True)
    (patches / "one.patch").write_text(
        "--- a/vllm/toy.py\n+++ b/vllm/toy.py\n@@ -1 +1,2 @@\n from .interfaces import Alpha, Beta, Delta\n+EXTRA = 1\n"
    )
    for path in (patches, patches.parent, patches / "one.patch"):
        code, report = json_of(capsys, "check", "--vllm-site-packages", str(site), "--overlay", str(patches), str(path))
        assert (code, report["findings"], [one["path"] for one in report["tree"]["patched"]]) == (
            0,
            [],
            ["vllm/toy.py"],
        )


def test_gate_dry_run_starts_nothing(tmp_path: Path) -> None:
    site, mark = str(make_tree(tmp_path, RELEASE)), tmp_path / "started"
    done = run(
        "gate", "--dry-run", "--vllm-site-packages", site, "--", sys.executable, "-c", f"open({str(mark)!r}, 'w')"
    )
    assert (done.returncode, mark.exists()) == (0, False)


def test_gate_dry_run_checks_what_another_machine_starts(tmp_path: Path) -> None:
    done = run(
        "gate", "--dry-run", "--vllm-site-packages", str(broken_tree(tmp_path)), "--", "no-such-program", "serve"
    )
    assert (done.returncode, "PF101" in done.stdout) == (1, True)
    whole = str(make_tree(tmp_path / "whole", RELEASE))
    done = run("gate", "--dry-run", "--vllm-site-packages", whole, "--", "no-such-program", "serve")
    assert (done.returncode, "no-such-program" in done.stderr) == (2, True)


def test_interrupted_is_130_and_leaves_nothing_behind(tmp_path: Path) -> None:
    site = make_tree(tmp_path, RELEASE)
    before = sorted(site.rglob("*"))
    program = (
        "import os, signal, preflight.run as run\n"
        "def hang(*_):\n"
        "    print('hanging', flush=True)\n"
        "    signal.pause()\n"
        "run.run_checks = hang\n"
        "from preflight.cli import main\n"
        f"raise SystemExit(main(['check', '--vllm-site-packages', {str(site)!r}]))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "hanging\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert sorted(site.rglob("*")) == before


def test_rules_and_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0
    assert "PF101" in capsys.readouterr().out
    assert main(["rules", "--output-format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert "PF101" in {rule["code"] for rule in listed["rules"]}
    assert main(["explain", "PF101"]) == 0
    by_code = capsys.readouterr().out
    assert main(["explain", "syntax-error"]) == 0
    assert capsys.readouterr().out == by_code


def test_a_report_goes_through_a_pipe_that_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True)
    done = run("check", "--vllm-site-packages", str(broken_tree(tmp_path)), "--output-format", "json", "-o", str(pipe))
    out, _ = reader.communicate(timeout=30)
    assert (done.returncode, json.loads(out)["verdict"]) == (1, "would-not-launch")
    assert pipe.is_fifo()


def test_a_report_file_is_written_when_clear_and_quiet_too(tmp_path: Path) -> None:
    site, target = str(make_tree(tmp_path, RELEASE)), tmp_path / "report.json"
    target.write_text("stale")
    for words in (["check", "-q"], ["gate", "--dry-run"]):
        target.write_text("stale")
        command = [*words, "--vllm-site-packages", site, "--output-format", "json", "-o", str(target)]
        assert run(*command, *(["--", sys.executable] if words[0] == "gate" else [])).returncode == 0
        assert json.loads(target.read_text())["verdict"] == "clear"


@pytest.mark.parametrize("format", ["text", "json"])
def test_a_full_standard_output_is_exit_code_2(tmp_path: Path, format: str) -> None:
    words = ["check", "--vllm-site-packages", str(broken_tree(tmp_path)), "--output-format", format]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "preflight", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[1],
        )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr and "cannot be written" in done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", "| true"])
def test_closed_streams_change_no_exit_code(tmp_path: Path, closed: str) -> None:
    command = f"{sys.executable} -m preflight check --vllm-site-packages {broken_tree(tmp_path)} {closed}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, cwd=Path(__file__).parents[1]
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("line", "value"),
    [('ignore = ["PF777"]', "PF777"), ('overlay = ["nosuch"]', "nosuch"), ('python = "nosuch"', "nosuch")],
)
def test_what_the_configuration_got_wrong_is_told_with_its_file(
    line: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "preflight.toml").write_text(line + "\n")
    site = make_tree(tmp_path / "site", RELEASE)
    code, report = json_of(capsys, "check", "--vllm-site-packages", str(site))
    assert code == 2
    assert str(tmp_path / "preflight.toml") in report["error"]["message"]
    assert value in report["error"]["message"]


def test_what_an_option_got_wrong_is_not_put_on_the_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "preflight.toml").write_text('ignore = ["PF104"]\n')
    site = make_tree(tmp_path / "site", RELEASE)
    code, report = json_of(capsys, "check", "--vllm-site-packages", str(site), "--ignore", "PF777")
    assert code == 2
    assert "preflight.toml" not in report["error"]["message"]


def test_the_hooks_of_pre_commit_run_commands_that_exist(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hooks = yaml.safe_load((Path(__file__).parents[1] / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert [hook["id"] for hook in hooks] == ["preflight", "preflight-rules"]
    for hook in hooks:
        program, *words = hook["entry"].split()
        assert (program, hook["pass_filenames"], hook["require_serial"]) == ("preflight", False, True)
        with pytest.raises(SystemExit) as ended:
            main([*words, "--help"])
        assert ended.value.code == 0
        assert all(word in capsys.readouterr().out for word in words if word.startswith("--"))


def test_a_broken_rule_file_of_the_repository_stops_its_hook(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "preflight.toml").write_text('rules = ["mine"]\n')
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "PF999-mine.toml").write_text('code = "PF999"\n')
    assert main(["rules"]) == 2
    assert "PF999-mine.toml" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["--launch", ""], ["--model", ""], ["--env", ""], ["--env", "X"], ["--env", "=x"], ["--python", ""],
        ["--select", ""], ["--launch", "a.sh", "--launch", "b.sh"], [""],
    ],
)  # fmt: skip
def test_an_option_that_says_nothing_is_refused(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = make_tree(tmp_path / "site", RELEASE)
    code, report = json_of(capsys, "check", *words, "--vllm-site-packages", str(site))
    assert code == 2
    assert report["error"]["help"]
