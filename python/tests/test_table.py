# Tables reach polars, pyarrow and pandas whole and without a copy, and equal what the store writes.
import subprocess
import sys

import polars
import pyarrow
import pyarrow.parquet
import pytest
import railtwin as rt


def addresses(table: pyarrow.Table) -> list[int]:
    """Return where the values, or the codes of text, of each column stand."""
    buffers = []
    for column in table.columns:
        assert column.num_chunks == 1
        chunk = column.chunk(0)
        chunk = chunk.indices if pyarrow.types.is_dictionary(chunk.type) else chunk
        buffers.append(chunk.buffers()[1].address)
    return buffers


def test_exports_share_one_memory(tiny):
    for name in tiny.tables:
        if len(tiny.table(name)) == 0:
            continue
        first, second = tiny.table(name).to_pyarrow(), tiny.table(name).to_pyarrow()
        assert addresses(first) == addresses(second)
        assert len(set(addresses(first))) == first.num_columns


def test_polars_shares_that_memory(tiny):
    frame, table = tiny.table("links").to_polars(), tiny.table("links").to_pyarrow()
    compared = 0
    for name, address in zip(table.column_names, addresses(table), strict=True):
        if frame[name].dtype.is_numeric():
            values = frame[name].to_numpy(allow_copy=False)
            assert values.__array_interface__["data"][0] == address
            compared += 1
    assert compared == 6


def test_the_memory_outlives_run_and_table(text):
    table = rt.run(text).table("operations").to_pyarrow()
    frame = rt.run(text).table("operations").to_polars()
    assert table.to_pydict() == rt.run(text).table("operations").to_dict() == frame.to_dict(as_series=False)


def test_every_library_reads_the_same_values(tiny):
    for name in tiny.tables:
        table = tiny.table(name)
        values = table.to_dict()
        assert list(values) == table.columns
        assert all(len(column) == len(table) for column in values.values())
        assert table.to_pyarrow().to_pydict() == values
        assert table.to_polars().to_dict(as_series=False) == values
        pandas = table.to_pandas()
        assert {column: pandas[column].tolist() for column in pandas} == values
        assert polars.DataFrame(table).equals(table.to_polars())
        assert pyarrow.table(table).equals(table.to_pyarrow())
        assert pyarrow.schema(table) == table.to_pyarrow().schema


def test_parquet_files_hold_the_same_values(tiny, tmp_path):
    folder = tiny.write(tmp_path / "run")
    for name in tiny.tables:
        values, file = tiny.table(name).to_dict(), folder / f"{name}.parquet"
        assert pyarrow.parquet.read_table(file).to_pydict() == values
        assert polars.read_parquet(file).to_dict(as_series=False) == values
        assert rt.open(folder).table(name).to_pyarrow() == tiny.table(name).to_pyarrow()


def test_steps_add_up(tiny):
    steps = tiny.table("steps").to_polars()
    assert steps["replicate"].to_list() == [0, 1, 2]
    assert steps["duration_ps"].median() / 1e12 == pytest.approx(tiny.figures["step_time"], rel=1e-12)


def test_a_table_is_the_same_object_each_time(tiny):
    assert tiny.table("steps") is tiny.table("steps")


def test_a_missing_package_is_named():
    code = """
import sys
sys.modules["polars"] = None
import railtwin as rt
run = rt.run({"schema": 1, "name": "two", "fabric": {"preset": "fat-tree", "k": 4},
    "job": [{"gpus": 2, "collective": {"kind": "all-reduce", "bytes": "1 GB"}}]})
try:
    run.table("steps").to_polars()
except rt.MissingPackageError as error:
    print(error.hint)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "pip install polars\n"


def test_importing_railtwin_imports_no_table_library():
    code = "import sys, railtwin; print(sorted({'polars', 'pyarrow', 'pandas', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
