import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import addtree as at
from addtree.run import display
from tests.test_optimizer import SPACE, objective

HOSTILE = at.Space({"<script>alert(1)</script>": at.Categorical(["<b>&", "[/INST]"]), "x": at.Real(0, 1)})


def half_failing(config):
    if config["model"] == "c":
        raise ValueError("<i>no</i>")
    return objective(config)


def test_the_text_of_a_result_names_message_failures_and_best():
    result = at.minimize(half_failing, SPACE, 9, seed=0)
    failed = sum(t.state == "failed" for t in result.trials)
    assert failed
    best = result.optimizer.best
    assert repr(
        result
    ) == f"<Result: 9 trials done ({failed} failed); best value {best.value!r} in trial {best.id}: " + (
        f"{best.config!r}>"
    )


def test_the_text_of_an_optimizer():
    optimizer = at.Optimizer(SPACE, seed=0)
    assert repr(optimizer) == "<Optimizer: 0 trials; no value yet>"
    optimizer.tell(optimizer.ask(), 0.5)
    optimizer.ask()
    assert repr(optimizer).startswith("<Optimizer: 2 trials (1 pending); best value 0.5 in trial 0: {'x': ")


def test_a_notebook_shows_the_tree_the_best_and_the_progress():
    result = at.minimize(objective, SPACE, 12, seed=0)
    for shown in (result._repr_html_(), result.optimizer._repr_html_()):
        root = ElementTree.fromstring(shown)
        assert "".join(root.find(".//pre").itertext()) == str(SPACE)
        assert repr(result.best_value) in shown
        assert len(root.findall(".//circle")) == 12
        numbers = [float(number) for number in re.findall(r"[\d.]+", root.find(".//path").get("d"))]
        assert all(0 <= number <= 320 for number in numbers)


def test_the_line_of_the_best_goes_down_to_the_best_value():
    optimizer = at.Optimizer(at.Space(x=at.Real(0, 1)), seed=0)
    for value in (3.0, 4.0, 2.0, 5.0, 1.0):
        optimizer.tell(optimizer.ask(), value)
    path = ElementTree.fromstring(optimizer._repr_html_()).find(".//path").get("d")
    heights = [float(height) for height in re.findall(r"V([\d.]+)", path)]
    assert heights == sorted(heights)
    assert heights[-1] == 84.0


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_line_of_the_best_leaves_out_trials_that_violate_a_constraint(sign):
    optimizer = at.Optimizer(at.Space(x=at.Real(0, 1)), seed=0, maximize=sign < 0, constraints={"m": 0.0})
    for value, m in ((-9.0, 1.0), (3.0, -1.0), (-8.0, 1.0), (1.0, 0.0)):
        optimizer.tell(optimizer.ask(), {"value": sign * value, "m": m})
    picture = ElementTree.fromstring(optimizer._repr_html_())
    path = picture.find(".//path").get("d")
    circles = [(circle.get("cx"), circle.get("cy")) for circle in picture.findall(".//circle")]
    assert path.startswith(f"M{circles[1][0]} {circles[1][1]}")
    assert re.findall(r"V([\d.]+)", path) == [circles[3][1]]
    hopeless = at.Optimizer(at.Space(x=at.Real(0, 1)), seed=0, constraints={"m": 0.0})
    for value in (2.0, 1.0):
        hopeless.tell(hopeless.ask(), {"value": value, "m": 1.0})
    assert len(ElementTree.fromstring(hopeless._repr_html_()).findall(".//circle")) == 2


@pytest.mark.parametrize(("n", "shown"), [(1, True), (4, True), (5, False)])
def test_the_hypervolume_is_not_shown_where_it_takes_too_long(n, shown):
    names = [f"objective {k}" for k in range(n)]
    optimizer = at.Optimizer(at.Space(x=at.Real(0, 1)), seed=0, objectives=dict.fromkeys(names, "min"))
    for i in range(6):
        optimizer.tell(optimizer.ask(), {name: float(i == k) for k, name in enumerate(names)})
    assert ("<svg" in optimizer._repr_html_()) == shown


@pytest.mark.parametrize("value", [1e308, -1e308, 0.0])
def test_extreme_and_equal_values_are_shown(value):
    optimizer = at.Optimizer(at.Space(x=at.Real(0, 1)), seed=0, maximize=True)
    for told in (value, -value, value):
        optimizer.tell(optimizer.ask(), told)
    assert "nan" not in optimizer._repr_html_()


def test_texts_of_the_user_are_escaped():
    result = at.minimize(lambda c: c["x"], HOSTILE, 4, seed=0)
    shown = result._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_an_infinite_hypervolume_is_not_drawn():
    optimizer = at.Optimizer(SPACE, seed=0, objectives={"a": "min", "b": "min"})
    for k in range(3):
        optimizer.tell(optimizer.ask(), {"a": 1e300 * k, "b": -1e300 * k})
    assert "nan" not in optimizer._repr_html_()


def test_a_plot_has_every_trial():
    figure = at.minimize(objective, SPACE, 8, seed=0).plot()
    assert sum(len(trace.x) for trace in figure.data if trace.mode == "markers") == 8


@pytest.mark.skipif(importlib.util.find_spec("pandas") is None, reason="pandas is not installed")
def test_a_table_has_a_row_per_trial_and_a_column_per_parameter():
    result = at.minimize(half_failing, SPACE, 9, seed=0)
    table = result.to_dataframe()
    assert list(table.index) == list(range(9))
    assert {"state", "value", "std", "duration", "error", "x", "model"} <= set(table.columns)
    for trial, row in zip(result.trials, table.itertuples(), strict=True):
        assert (row.state, row.x, row.model) == (trial.state, trial.config["x"], trial.config["model"])


@pytest.mark.skipif(importlib.util.find_spec("pandas") is None, reason="pandas is not installed")
def test_no_column_of_a_table_replaces_another():
    space = at.Space({name: at.Real(0, 1) for name in ("value", "params_value", "error", "speed")})
    told = {"error": 1.0, "state": 2.0, "duration": 3.0, "speed": 4.0}
    optimizer = at.Optimizer(space, seed=0, objectives=dict.fromkeys(told, "min"))
    config = optimizer.tell(optimizer.ask(), told).config
    row = display.dataframe(optimizer).iloc[0].to_dict()
    assert [row[name] for name in ("error", "values_state", "duration", "speed")] == [1.0, 2.0, 3.0, 4.0]
    assert (row["state"], row["failure"], row["trial_duration"]) == ("done", None, None)
    assert [row[name] for name in ("value", "params_value", "params_error", "params_speed")] == list(config.values())
    single = at.minimize(lambda c: c["value"], space, 1, seed=0)
    row = single.to_dataframe().iloc[0].to_dict()
    assert row["value"] == row["params_value"] == single.best_config["value"]
    assert row["params_params_value"] == single.best_config["params_value"]


@pytest.mark.skipif(importlib.util.find_spec("pandas") is None, reason="pandas is not installed")
def test_a_table_has_a_column_for_each_value_before_any_is_told():
    optimizer = at.Optimizer(SPACE, seed=0, objectives={"a": "min", "b": "max"}, constraints={"m": 1.0})
    optimizer.tell(optimizer.ask(), failed=True)
    columns = list(display.dataframe(optimizer).columns)
    assert columns[:7] == ["state", "a", "b", "m", "a_std", "b_std", "m_std"]


@pytest.mark.parametrize(
    ("package", "method", "message"),
    [
        ("pandas", "to_dataframe()", "to_dataframe() needs pandas; pip install pandas"),
        ("plotly", "plot()", "plot() needs Plotly; pip install 'addtree[cli]'"),
    ],
)
def test_without_a_package_the_error_says_what_to_install(package, method, message, tmp_path):
    (tmp_path / f"{package}.py").write_text(f"raise ModuleNotFoundError('no', name={package!r})")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import addtree as at; "
        f"at.minimize(lambda c: c['x'], at.Space(x=at.Real(0, 1)), 2, seed=0).{method}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == f"addtree.errors.DependencyError: {message}"


# ---------------------------------------------------------------------- the notebook

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebook.ipynb"


def test_the_notebook_runs_and_shows_what_it_should():
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    kinds = [kind for output in outputs for kind in output.get("data", {})]
    assert "text/html" in kinds
    assert any("<svg" in output.get("data", {}).get("text/html", "") for output in outputs)
    assert not [output for output in outputs if output.output_type == "error"]
