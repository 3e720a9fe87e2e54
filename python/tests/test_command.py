# The wheel's command is the command: same text, same exit status.
import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import railtwin as rt

COMMAND = Path(sysconfig.get_path("scripts")) / "railtwin"


def test_data_and_notes_have_their_own_streams(capsys):
    assert rt.main(["design", "hpn"]) == 0
    out, notes = capsys.readouterr()
    assert "15,360" in out
    assert notes.startswith("built hpn in ")


def test_a_wrong_call_is_status_2(capsys):
    assert rt.main(["fly"]) == 2
    out, notes = capsys.readouterr()
    assert out == ""
    assert "fly" in notes
    assert rt.main(["run", "none.toml"]) == 2


def test_a_missed_expectation_is_status_1(text, tmp_path, capsys):
    path = tmp_path / "tiny.toml"
    path.write_text(text + '[expect]\nbusbw_mean = { at_least = "9 Tbps" }\n')
    assert rt.main(["run", str(path), "--no-folder"]) == 1
    assert "not as expected" in capsys.readouterr().err


def test_the_script_is_installed():
    done = subprocess.run([COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"railtwin {rt.version}\n"


def test_a_reader_that_has_seen_enough_ends_it_without_words():
    with subprocess.Popen(
        [COMMAND, "schema"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "{\n"
        process.stdout.close()
        assert process.stderr.read() == ""
    # As a shell counts SIGPIPE.
    assert process.returncode == 141


def test_ctrl_c_is_status_130(text, tmp_path):
    path = tmp_path / "long.toml"
    path.write_text(text.replace("replicates = 3", "replicates = 100_000"))
    code = (
        "import os, signal, sys, threading, railtwin\n"
        "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        f"sys.exit(railtwin.main(['run', {str(path)!r}, '--out', {str(tmp_path / 'runs')!r}]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    # The folder was made when the run began; what is in it says that it did not end.
    infos = [json.loads(info.read_text()) for info in (tmp_path / "runs").glob("*/run.json")]
    assert all(info["status"] == "running" for info in infos)
