# Runs from every kind of scenario give the same figures as the command, in memory and from a folder.
import json
import math
import pathlib

import jsonschema
import pytest
import railtwin as rt


def test_text_path_and_dictionary_are_one_case(text, table, tiny, tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(text)
    for scenario in (path, str(path), table):
        run = rt.run(scenario)
        assert run.figures == tiny.figures
        assert run.info["case_hash"] == tiny.info["case_hash"]
        assert run.scenario == tiny.scenario
    assert len(tiny.figures) > 20


def test_another_seed_is_another_case(table, tiny):
    other = rt.run({**table, "seed": 4})
    assert other.info["case_hash"] != tiny.info["case_hash"]
    flows, others = (run.table("flows").to_dict() for run in (tiny, other))
    assert flows["source_port"] != others["source_port"]


def test_figures_are_those_of_the_command(text, tiny, tmp_path, capsys):
    path = tmp_path / "tiny.toml"
    path.write_text(text)
    assert rt.main(["run", str(path), "--no-folder", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["figures"] == tiny.figures
    assert printed["runs"][0]["run_id"] == tiny.info["run_id"]
    assert printed["runs"][0]["warnings"] == tiny.warnings


def test_a_folder_holds_the_run(tiny, tmp_path):
    folder = tiny.write(tmp_path / "run")
    opened = rt.open(folder)
    assert opened.figures == tiny.figures
    assert opened.info == tiny.info
    assert opened.tables == tiny.tables
    assert opened.scenario == tiny.scenario
    assert opened.folder == folder
    assert tiny.folder is None
    for name in tiny.tables:
        assert opened.table(name).to_dict() == tiny.table(name).to_dict()


def test_a_complete_run_is_not_run_again(table, tmp_path):
    folder = tmp_path / "run"
    first = rt.run(table, folder=folder)
    before = (folder / "run.json").stat().st_mtime_ns
    told = []
    again = rt.run(table, folder=folder, progress=lambda done, total: told.append((done, total)))
    assert again.figures == first.figures
    assert told[-1] == (3, 3)
    assert (folder / "run.json").stat().st_mtime_ns == before


def test_an_unfinished_run_makes_room(table, tmp_path):
    folder = tmp_path / "run"
    first = rt.run(table, folder=folder)
    file = folder / "run.json"
    file.write_text(file.read_text().replace('"complete"', '"interrupted"'))
    assert rt.run(table, folder=folder).figures == first.figures
    assert rt.open(folder).info["status"] == "complete"


HALTS = pathlib.Path(__file__).parents[2] / "scenarios" / "regressions" / "flap-halts.toml"


def test_a_figure_without_a_value_says_why(tmp_path, capsys):
    run = rt.sweep(HALTS)[0]
    assert run.figures["step_time"] is None
    assert run.reasons["step_time"].startswith("halted at ")
    assert {name for name, value in run.figures.items() if value is None} == set(run.reasons)
    assert run.figure("step_time").value is None
    assert rt.open(run.write(tmp_path / "run")).reasons == run.reasons
    rt.main(["run", str(HALTS), "--no-folder", "--json"])
    assert json.loads(capsys.readouterr().out)["runs"][0]["reasons"] == run.reasons


def test_a_figure_has_unit_note_and_spread(tiny):
    figure = tiny.figure("busbw_mean")
    assert (figure.name, figure.unit) == ("busbw_mean", "bits_per_s")
    assert figure.value == tiny.figures["busbw_mean"]
    assert 0 < figure.value <= tiny.figure("host_backend").value
    assert "nccl-tests" in figure.note
    ratio = tiny.figure("leaf_uplink_max_mean_ratio")
    assert ratio.low <= ratio.value <= ratio.high


def test_the_report_is_a_page(tiny, tmp_path):
    page = tiny.report(tmp_path / "tiny.html")
    assert "railtwin-data" in page.read_text()
    folder = tiny.write(tmp_path / "run")
    copy = rt.open(folder).report(tmp_path / "copy.html")
    assert copy.read_bytes() == page.read_bytes()


def test_a_run_shows_itself(tiny):
    shown = repr(tiny)
    assert shown.startswith("Run('tiny'") or shown.startswith('Run("tiny"')
    assert "busbw_mean" in shown
    assert "Gbps" in shown
    assert "leaves_per_host" not in shown
    page = tiny._repr_html_()
    assert page.count("<tr>") == page.count("</tr>") > 3
    assert "busbw_mean" in page
    assert repr(tiny.figure("step_time")).startswith("Figure(step_time = ")
    assert repr(tiny.table("steps")).startswith('Table("steps", 3 rows')


def test_expectations_are_told(table):
    kept = {"busbw_mean": {"at_least": "1 bps"}}
    assert rt.run({**table, "expect": kept}).unexpected == []
    missed = rt.run({**table, "expect": {"busbw_mean": {"at_least": "9 Tbps"}}}).unexpected
    assert len(missed) == 1
    assert missed[0].startswith("busbw_mean is ")


def test_a_sweep_has_a_run_for_each_point(table, tmp_path):
    told = []
    swept = {**table, "routing": {"queue_pairs": [1, 2]}}
    runs = rt.sweep(swept, folder=tmp_path, progress=lambda done, total: told.append((done, total)))
    assert [run.label for run in runs] == [{"routing.queue_pairs": "1"}, {"routing.queue_pairs": "2"}]
    assert told[-1] == (6, 6)
    assert told == sorted(told)
    plain = rt.run({**table, "routing": {"queue_pairs": 2}})
    assert runs[1].figures == plain.figures
    assert runs[1].folder == tmp_path / f"tiny-{plain.info['run_id']}"
    again = rt.sweep(swept, folder=tmp_path)
    assert [run.figures for run in again] == [run.figures for run in runs]


def test_a_sweep_names_its_folders_as_the_command_does(table, text, tmp_path):
    (run,) = rt.sweep(table, folder=tmp_path / "a")
    path = tmp_path / "tiny.toml"
    path.write_text(text)
    assert rt.main(["run", str(path), "--out", str(tmp_path / "b")]) == 0
    assert (tmp_path / "b" / run.folder.name / "run.json").exists()


def test_a_fabric_alone_has_figures_and_no_tables(table):
    run = rt.run({key: value for key, value in table.items() if key != "job"})
    assert run.tables == []
    assert run.figures["gpus_active"] == 8
    assert "gpus_active" in repr(run)
    with pytest.raises(rt.ArgumentError, match="no table"):
        run.table("steps")


def test_designs_are_those_of_the_command(capsys):
    counts = rt.design("hpn", settings={"segments": 2, "tier2": "rail-only", "host": {"nics": 8}})
    assert rt.main(["design", "hpn", "--segments", "2", "--tier2", "rail-only", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == counts


def test_a_scenario_has_a_design(table, tiny):
    assert rt.design(table)["gpus_active"] == tiny.figures["gpus_active"]


def test_the_schema_accepts_the_scenario(table):
    jsonschema.validate(table, rt.schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**table, "sead": 1}, rt.schema())


def test_an_engine_overrules_the_scenario(table, tiny):
    bare = {key: value for key, value in table.items() if key != "job"}
    assert rt.run(bare).info["engine"] == "flow"
    packet = rt.run(bare, engine="packet", threads=2)
    assert packet.info["engine"] == "packet"
    both = rt.sweep({**bare, "engine": ["flow", "packet"]})
    assert [run.info["engine"] for run in both] == ["flow", "packet"]
    assert both[1].info["run_id"] == packet.info["run_id"]
    assert [run.label for run in rt.sweep({**bare, "engine": ["flow", "packet"]}, engine="flow")] == [{}]
    assert rt.run({**table, "engine": "packet"}, engine="flow").figures == tiny.figures


def test_what_is_no_engine_is_an_argument_error(table):
    with pytest.raises(rt.ArgumentError, match='"packets" is no engine'):
        rt.run(table, engine="packets")
    with pytest.raises(rt.ArgumentError, match="0 threads"):
        rt.sweep(table, threads=0)


def test_figures_are_finite(tiny):
    assert all(value is None or math.isfinite(value) for value in tiny.figures.values())
