# Each kind of error is a class that says what, where and what to do.
import pickle
from pathlib import Path

import pytest
import railtwin as rt


def test_a_scenario_error_has_its_place(text):
    wrong = text.replace("leaves = 4", "leafs = 4")
    with pytest.raises(rt.ScenarioError) as caught:
        rt.run(wrong)
    error = caught.value
    assert (error.path, error.line, error.column) == ("<text>", 8, 1)
    assert "leaves" in error.hint
    assert error.problems[0].text == "leafs = 4"


def test_all_problems_are_told(text, tmp_path):
    path = tmp_path / "wrong.toml"
    path.write_text(text.replace("leaves = 4", "leaves = 0").replace("queue_pairs = 2", "queue_pairs = -1"))
    with pytest.raises(rt.ScenarioError) as caught:
        rt.sweep(path)
    assert caught.value.path == str(path)
    assert [problem.line for problem in caught.value.problems] == [8, 13]


def test_a_dictionary_shows_the_line_that_stands_for_it(table):
    with pytest.raises(rt.ScenarioError) as caught:
        rt.run({**table, "seed": "many"})
    assert caught.value.path == "<dict>"
    assert caught.value.problems[0].text == 'seed = "many"'


def test_what_cannot_be_built_is_a_scenario_error():
    with pytest.raises(rt.ScenarioError) as caught:
        rt.design("fat-tree", settings={"k": 3})
    assert caught.value.problems[0].text == "[fabric]"
    assert "k = 3: write an even number" in str(caught.value)
    with pytest.raises(rt.ScenarioError, match="did you mean `hpn`"):
        rt.design("hpm")


def test_a_missing_file_is_a_file_error(tmp_path, tiny):
    with pytest.raises(rt.FileError) as caught:
        rt.run(tmp_path / "none.toml")
    assert caught.value.path == str(tmp_path / "none.toml")
    with pytest.raises(rt.FileError):
        tiny.report(tmp_path / "none" / "page.html")


def test_folders(table, tiny, tmp_path):
    with pytest.raises(rt.FolderError, match=r"no run\.json") as caught:
        rt.open(tmp_path)
    assert caught.value.path == str(tmp_path)
    assert caught.value.hint
    folder = tiny.write(tmp_path / "run")
    with pytest.raises(rt.FolderError, match="exists already"):
        tiny.write(folder)
    with pytest.raises(rt.FolderError, match="exists already"):
        rt.run({**table, "seed": 9}, folder=folder)
    with pytest.raises(rt.FolderError, match="no table"):
        rt.open(folder).table("none")
    with pytest.raises(rt.ArgumentError, match="already"):
        rt.open(folder).write(tmp_path / "other")
    (folder / "steps.parquet").write_bytes(b"PAR1 and nonsense")
    with pytest.raises(rt.FolderError, match=r"steps\.parquet"):
        rt.open(folder).table("steps")
    (folder / "run.json").write_text("{}")
    with pytest.raises(rt.FolderError, match=r"run\.json"):
        rt.open(folder)


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        (3, "is no scenario"),
        (None, "is no scenario"),
        ({1: 2}, "not text"),
        ({"a": None}, "^a: .*None"),
        ({"a": [1, {"b": object()}]}, r"^a\.1\.b: "),
        ({"seed": 2**70}, "seed: .*64-bit"),
    ],
)
def test_what_is_no_scenario(scenario, words):
    with pytest.raises(rt.ArgumentError, match=words):
        rt.run(scenario)


def test_a_dictionary_that_holds_itself(table):
    endless = dict(table)
    endless["run"] = endless
    with pytest.raises(rt.ArgumentError, match="deep"):
        rt.run(endless)


def test_a_sweep_is_not_one_run(table):
    with pytest.raises(rt.ArgumentError, match="sweep of 2 points"):
        rt.run({**table, "seed": [1, 2]})


def test_settings_go_with_a_preset(table):
    with pytest.raises(rt.ArgumentError, match="preset"):
        rt.design(table, settings={"leaves": 2})


def test_unknown_names(tiny):
    with pytest.raises(rt.ArgumentError, match="no figure"):
        tiny.figure("speed")
    with pytest.raises(rt.ArgumentError, match="its tables are"):
        tiny.table("speeds")


def test_classes():
    kinds = (
        rt.ArgumentError,
        rt.FileError,
        rt.FolderError,
        rt.InternalError,
        rt.MissingPackageError,
        rt.ScenarioError,
    )
    assert all(issubclass(kind, rt.Error) for kind in kinds)


def test_errors_travel_between_processes(text):
    with pytest.raises(rt.ScenarioError) as caught:
        rt.run(text + "nonsense = 1\n")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.path, again.problems) == (
        str(caught.value),
        caught.value.path,
        caught.value.problems,
    )


def test_paths_in_a_file_are_relative_to_it(text, tmp_path):
    path = tmp_path / "deep" / "tiny.toml"
    path.parent.mkdir()
    path.write_text(
        text.replace('preset = "leaf-spine"', 'lingjun = "none.csv"').split("leaves", maxsplit=1)[0]
    )
    with pytest.raises(rt.ScenarioError, match=r"none\.csv"):
        rt.run(path)
    assert not Path("none.csv").exists()
