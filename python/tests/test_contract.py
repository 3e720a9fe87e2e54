# The stub is the module, and every public function has an example that runs.
import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import railtwin as rt
import railtwin.console
import railtwin.front

ROOT = Path(__file__).parents[2]


def public() -> dict[str, object]:
    """Return what needs an example: the functions, and the methods of the classes that are no exceptions."""
    found: dict[str, object] = {"railtwin": rt}
    for name in rt.__all__:
        value = getattr(rt, name)
        if inspect.isfunction(value):
            found[name] = value
        if inspect.isclass(value) and not issubclass(value, (Exception, rt.Problem)):
            methods = vars(value).items()
            found |= {f"{name}.{key}": one for key, one in methods if key[0] != "_" and callable(one)}
    return found


@pytest.mark.parametrize("name", public())
def test_docstrings_have_examples_that_run(name):
    value = public()[name]
    examples = doctest.DocTestParser().get_doctest(inspect.getdoc(value), {"main": rt.main}, name, None, 0)
    assert examples.examples, f"{name} has no example"
    assert doctest.DocTestRunner().run(examples).failed == 0


@pytest.mark.parametrize("page", ["docs/guides/python.md", "python/README.md"])
def test_pages_have_examples_that_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(ROOT / page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert result.attempted > 3
    assert result.failed == 0


def test_the_stub_is_the_module():
    command = [sys.executable, "-m", "mypy.stubtest", "railtwin", "--mypy-config-file", "pyproject.toml"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_all_public_names_have_a_docstring():
    for name in rt.__all__:
        if name not in ("version", "__version__"):
            assert inspect.getdoc(getattr(rt, name)), name
    for kind in (rt.Run, rt.Table, rt.Figure):
        for key, value in vars(kind).items():
            assert key[0] == "_" or value.__doc__, f"{kind.__name__}.{key}"


def test_only_the_first_argument_goes_without_its_name():
    for function in (rt.run, rt.sweep, rt.open, rt.design, rt.schema):
        kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
        assert all(kind is inspect.Parameter.KEYWORD_ONLY for kind in kinds[1:]), function
