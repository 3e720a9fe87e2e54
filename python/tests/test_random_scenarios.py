# Whatever scenario is asked, there is a run with finite figures or an error of ours.
import math

import pytest
import railtwin as rt
from hypothesis import given, settings
from hypothesis import strategies as st

plain = st.builds(
    lambda leaves, uplinks, hosts, pairs, balancer, seed, share, kind, mebibytes: {
        "schema": 1,
        "name": "random",
        "seed": seed,
        "run": {"replicates": 2},
        "fabric": {
            "preset": "leaf-spine",
            "leaves": leaves,
            "uplinks": uplinks,
            "hosts_per_leaf": hosts,
            "host": {"model": "plain"},
        },
        "routing": {"queue_pairs": pairs, "balancer": balancer},
        "job": [
            {
                "hosts": max(2, math.ceil(share * leaves * hosts)),
                "collective": {"kind": kind, "bytes": f"{mebibytes} MiB"},
            }
        ],
    },
    leaves=st.integers(2, 5),
    uplinks=st.integers(1, 4),
    hosts=st.integers(1, 4),
    pairs=st.integers(1, 4),
    balancer=st.sampled_from(["ecmp", "disjoint"]),
    seed=st.integers(0, 2**63 - 1),
    share=st.floats(0, 1),
    kind=st.sampled_from(["all-reduce", "all-gather", "reduce-scatter", "all-to-all"]),
    mebibytes=st.integers(1, 4096),
)


@settings(max_examples=60, deadline=None)
@given(plain)
def test_plain_scenarios_have_finite_figures(scenario):
    run = rt.run(scenario)
    assert all(value is None or math.isfinite(value) for value in run.figures.values())
    assert run.figures["operations_unfinished"] == 0
    assert 0 < run.figures["busbw_mean"] <= run.figures["host_backend"] * (1 + 1e-9)
    assert rt.run(run.scenario).figures == run.figures


leaf = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(max_size=4)
anything = st.recursive(
    leaf, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)
keys = st.sampled_from(
    ["schema", "name", "seed", "run", "fabric", "routing", "job", "cap", "fault", "expect"]
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(keys, anything), plain)
def test_anything_else_is_an_error_of_ours(wrong, scenario):
    message = "all well"
    try:
        rt.run({**scenario, **wrong})
    except rt.InternalError:
        raise
    except rt.Error as error:
        message = str(error)
    assert message


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_no_text_breaks_the_reading(text):
    with pytest.raises(rt.ScenarioError) as caught:
        rt.sweep(text + "\n")
    assert str(caught.value).startswith("<text>:")
