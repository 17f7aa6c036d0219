"""What holds of every space with rules."""

import json
import pickle

import numpy as np
import optuna
import pytest
from hypothesis import given

from addtree import Choice, Integer, Optimizer, Real, Space
from addtree.errors import ConfigError, SpaceError
from addtree.optuna import AddTreeSampler
from addtree.search.design import initial_design, next_row
from addtree.space.decoding import decode_column
from tests.strategies import reordered, ruled_spaces, seeds, solvable, spaces


@given(spaces(depth=3), seeds)
def test_columns_are_decoded_as_configurations_are(space, seed):
    encoding, rng = space.encoding, np.random.default_rng(seed)
    X = encoding.sample(20, rng)
    ends = [np.where(encoding.is_numeric & ~np.isnan(X[:3]), end, X[:3]) for end in (0.0, 1.0)]
    X = encoding.repair(np.concatenate([X, *ends]), rng)
    for j, name in enumerate(encoding.names):
        domain = space.variables[name]
        values = decode_column(domain, X[:, j])
        for row, value in zip(X, values.tolist(), strict=True):
            config = encoding.decode(row)
            if name not in config:
                assert np.isnan(value)
            elif hasattr(domain, "labels"):
                assert domain.labels[int(value)] == config[name]
            elif isinstance(domain, Real) or abs(config[name]) <= 2**53:
                assert value == config[name]


@given(ruled_spaces(), seeds)
def test_rows_are_valid_exactly_if_their_configurations_are(space, seed):
    encoding = space.encoding
    X = encoding.sample_freely(20, np.random.default_rng(seed))
    for row, valid in zip(X, encoding.feasibility.valid(X), strict=True):
        config = encoding.decode(row)
        if valid:
            assert space.validate(config) == config
        else:
            with pytest.raises(ConfigError, match="rule"):
                space.validate(config)


@given(ruled_spaces(), seeds)
def test_samples_and_designs_are_valid(space, seed):
    if not solvable(space):
        return
    rng, encoding = np.random.default_rng(seed), space.encoding
    X = initial_design(encoding, 6, rng)
    for row in (*encoding.sample(6, rng), *X, next_row(encoding, X, rng)):
        space.validate(encoding.decode(row))
    space.validate(space.sample(rng))


@given(ruled_spaces(finite=True))
def test_a_finite_space_is_listed_exactly(space):
    if space.n_configs > 500:
        return
    free = without_rules(space).encoding
    everything = [free.decode(row) for row in free.enumerate()]
    valid = [config for config in everything if is_valid(space, config)]
    found = [space.encoding.decode(row) for row in space.encoding.enumerate()]
    assert [repr(config) for config in found] == [repr(config) for config in valid]
    assert solvable(space) == bool(valid)


def without_rules(space):
    children = {
        name: Choice(dict(zip(child.labels, map(without_rules, child.spaces), strict=True)))
        if isinstance(child, Choice)
        else child
        for name, child in space.children.items()
    }
    return Space(children)


def is_valid(space, config):
    try:
        space.validate(config)
    except ConfigError:
        return False
    return True


@given(ruled_spaces())
def test_forms(space):
    assert Space.from_dict(json.loads(json.dumps(space.to_dict()))) == space
    again = pickle.loads(pickle.dumps(space))
    assert again == space
    assert hash(again) == hash(space)
    assert again.node_rules == space.node_rules
    assert str(again) == str(space)
    assert sum(line.lstrip("├└│─ ").startswith("where ") for line in str(space).splitlines()) >= len(space.rules)
    turned = reordered(space).where(*(rule.text for rule in reversed(space.rules)))
    assert (turned == space) == (len(space.node_rules) == len(space.rules))  # it lacks the rules below the root


@given(ruled_spaces(), seeds)
def test_suggestions_are_valid(space, seed):
    if not solvable(space):
        return
    optimizer, rng = Optimizer(space, seed=seed % 1000, n_initial=3), np.random.default_rng(seed)
    for _ in range(7):
        trial = optimizer.ask()
        assert space.validate(trial.config) == trial.config
        optimizer.tell(trial, float(rng.normal()))


# ---------------------------------------------------------------------- in the optimizer

LAYERS = Integer(1, 4, opens={(2, 4): Space(units=Integer(8, 512, log=True))})
RULED = Space(
    low=Real(0, 1),
    high=Real(0, 1),
    layers=LAYERS,
    c=Choice(a=Space(x=Real(0, 1)), b=Space(k=Integer(0, 9)), d=Space().where("False")),
).where("low + 0.8 <= high", "x * 10 < layers", "units <= 10 * layers", "k != 3")


def value(config):
    return (config["low"] - 0.9) ** 2 + (config["high"] - 0.1) ** 2 + 0.1 * len(config) + config.get("x", 0.0)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"acquisition": "ucb"},
        {"acquisition": "thompson"},
        {"covariance": "additive", "acquisition": "thompson"},
        {"covariance": "additive", "acquisition": "additive-ucb", "inference": "mle"},
    ],
)
def test_every_acquisition_respects_rules(options):
    optimizer = Optimizer(RULED, seed=0, n_initial=6, **options)
    for _ in range(10):
        trial = optimizer.ask()
        assert RULED.validate(trial.config)["c"] != "d"
        optimizer.tell(trial, value(trial.config))
    for trial in optimizer.ask(4):
        RULED.validate(trial.config)


def test_an_optimizer_refuses_what_rules_exclude_and_continues_after_loading(tmp_path):
    optimizer = Optimizer(RULED, seed=3, n_initial=4)
    with pytest.raises(ConfigError, match=r"low \+ 0.8 <= high"):
        optimizer.tell({"low": 0.5, "high": 0.6, "layers": 1, "c": "b", "k": 1}, 1.0)
    for _ in range(8):
        trial = optimizer.ask()
        optimizer.tell(trial, value(trial.config))
    optimizer.save(tmp_path / "run.json")
    loaded = Optimizer.load(tmp_path / "run.json")
    assert loaded.space == RULED
    assert [t.config for t in loaded.ask(3)] == [t.config for t in optimizer.ask(3)]


def test_a_finite_space_is_exhausted_without_repetition():
    space = Space(m=Integer(0, 9), n=Integer(0, 9), c=Choice(a=Space(), b=Space(k=Integer(0, 3)))).where(
        "m + n == 9", "k == m"
    )
    every = {repr(space.encoding.decode(row)) for row in space.encoding.enumerate()}
    assert len(every) == 10 + 4
    optimizer = Optimizer(space, seed=0, n_initial=4)
    seen = []
    for _ in range(14):
        trial = optimizer.ask()
        seen.append(repr(trial.config))
        optimizer.tell(trial, float(trial.config["m"]))
    assert set(seen) == every
    space.validate(optimizer.ask().config)


def test_an_optimizer_of_a_space_without_valid_configurations_says_so():
    with pytest.raises(SpaceError, match="'low > high', 'high > low'"):
        Optimizer(Space(low=Real(0, 1), high=Real(0, 1), x=Real(0, 1)).where("low > high", "x < 0.9", "high > low"))


def by_run(trial):
    config = {"low": trial.suggest_float("low", 0, 1), "high": trial.suggest_float("high", 0, 1)}
    if trial.suggest_int("layers", 1, 4) >= 2:
        config["units"] = trial.suggest_int("units", 8, 512, log=True)
    match trial.suggest_categorical("c", ["a", "b", "d"]):
        case "a":
            config["x"] = trial.suggest_float("x", 0, 1)
        case "b":
            config["k"] = trial.suggest_int("k", 0, 9)
    return config


def test_the_sampler_of_a_declared_space_respects_rules():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=AddTreeSampler(RULED, seed=0))
    study.optimize(lambda trial: value(by_run(trial)), n_trials=20)
    for trial in study.trials:
        RULED.validate(trial.params)
