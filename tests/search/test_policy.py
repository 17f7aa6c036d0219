import numpy as np
import pytest

from addtree import Choice, Real, Space
from addtree.errors import OptionError
from addtree.model.gp import Posterior
from addtree.model.kernel import Hyperparameters
from addtree.search.acquisition import lowest
from addtree.search.candidates import Observed
from addtree.search.criterion import Single
from addtree.search.multiobjective import Posteriors
from addtree.search.pathwise import SamplePath
from addtree.search.policy import Mode, Policy, check_acquisition, joint_acquisition, suggest
from tests.strategies import COVARIANCES, build

unit = Real(0, 1)
SPACE = Space(x=unit, c=Choice(a=Space(y=unit), b=Space(z=unit), e=Space()))
PAIRS = [(c, a) for c in COVARIANCES for a in ("logei", "ucb", "thompson")] + [("additive", "additive-ucb")]


def setting(covariance, seed=0):
    encoding, k = build(SPACE, covariance)
    rng = np.random.default_rng(seed)
    X, z = encoding.sample(12, rng), rng.normal(size=12)
    hyper = Hyperparameters(np.full(len(k.terms), 0.7), np.full(k.n_scales, 0.3), 1e-4)
    return encoding, k, Posterior.from_data(k, hyper, k.rows(X), z), X, z


def ask(acquisition, encoding, posterior, X, z, *, seed=0, turn=1, taken=frozenset()):
    rng = np.random.default_rng(seed)
    observed = Observed(encoding, X, z, set(taken))
    return suggest(Policy(acquisition), Posteriors((posterior,)), observed, turn=turn, rng=rng)


@pytest.mark.parametrize(("covariance", "acquisition"), PAIRS)
def test_a_suggestion_is_a_configuration_and_reproducible(covariance, acquisition):
    encoding, _, posterior, X, z = setting(covariance)
    one, other = (ask(acquisition, encoding, posterior, X, z) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    SPACE.validate(encoding.decode(one))


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("seed", range(6))
def test_a_thompson_suggestion_is_the_least_of_its_draw(covariance, seed):
    encoding, k, posterior, X, z = setting(covariance)
    path = SamplePath(posterior, np.random.default_rng(seed))  # the same draw: `suggest` draws it first
    row = ask("thompson", encoding, posterior, X, z, seed=seed)
    anywhere = k.rows(encoding.sample(3000, np.random.default_rng(99)))
    draw = path.predict(anywhere)[0]
    found = path.predict(k.rows(row[None]))[0][0]
    assert found <= draw.min() + 0.05 * np.ptp(draw)


@pytest.mark.parametrize(("covariance", "acquisition"), PAIRS)
def test_nothing_taken_is_suggested(covariance, acquisition):
    encoding, _, posterior, X, z = setting(covariance)
    first = ask(acquisition, encoding, posterior, X, z)
    taken = set(encoding.keys(first[None]))
    second = ask(acquisition, encoding, posterior, X, z, taken=taken)
    assert second is None or encoding.keys(second[None])[0] not in taken


def test_logei_beats_every_random_row():
    from addtree.search.acquisition import log_expected_improvement

    encoding, k, posterior, X, z = setting("additive+interactions")
    goal = log_expected_improvement(float(posterior.means().min()))
    row = ask("logei", encoding, posterior, X, z, turn=9)
    anywhere = goal(*posterior.predict(k.rows(encoding.sample(2000, np.random.default_rng(9)))))[0]
    assert goal(*posterior.predict(k.rows(row[None])))[0][0] >= anywhere.max() - 1e-6


def test_suggestions_take_turns():
    from addtree.search.acquisition import log_expected_improvement

    encoding, k, posterior, X, z = setting("additive+interactions")
    goal = log_expected_improvement(float(posterior.means().min()))
    plain, lower, local = (ask("logei", encoding, posterior, X, z, turn=turn) for turn in (9, 13, 11))
    by_goal = [goal(*posterior.predict(k.rows(row[None])))[0][0] for row in (plain, lower, local)]
    assert by_goal[0] >= max(by_goal[1:])
    best, c = X[np.argmin(z)], encoding.index["c"]
    assert local[c] == best[c]  # close to the best means in its branch
    usual, further = (joint_acquisition(Policy(), posterior, Observed(encoding, X, z, set()), turn) for turn in (9, 13))
    moments = posterior.predict(k.rows(encoding.sample(50, np.random.default_rng(3))))
    assert np.all(further(*moments)[0] < usual(*moments)[0])  # a lower target is harder to improve on


def test_the_schedule_of_modes():
    everywhere, local, neglected = Mode.EVERYWHERE, Mode.LOCAL, Mode.NEGLECTED
    modes = {turn: list(Policy().modes(turn)) for turn in range(1, 13)}
    assert [turn for turn, found in modes.items() if neglected in found] == [1, 3, 6, 10]
    assert [turn for turn, found in modes.items() if found[0] is Mode.GAP] == [3, 10]
    assert [idle for idle in range(1, 18) if Mode.GAP in Policy(patience=4).modes(8, idle)] == [8, 16]
    assert not any(Mode.GAP in Policy(model_free=False).modes(turn) for turn in modes)
    assert [turn for turn, found in modes.items() if local in found] == [2, 5, 8, 11]
    assert all(found[-1] is everywhere for found in modes.values())
    assert [turn for turn in modes if Policy().aims_lower(turn)] == [1, 4, 7, 10]
    idle = {idle: Policy(patience=4).explores(8, idle) for idle in range(10)}
    assert [n for n, explores in idle.items() if explores] == [4, 8]
    plain = Policy(lower_turn=None, local_turn=None, neglected=False)
    assert all(list(plain.modes(turn, idle=4)) == [everywhere] and not plain.aims_lower(turn) for turn in modes)
    assert all(list(Policy("ucb").modes(turn)) == [everywhere] for turn in modes)


def test_a_neglected_branch_has_its_turn_again():
    encoding, k, _, X, _ = setting("additive+interactions")
    c = encoding.index["c"]
    X = np.concatenate([encoding.enter(encoding.sample(30, np.random.default_rng(1)), 1, np.random.default_rng(2)), X])
    X = X[(X[:, c] == 0) | (np.cumsum(X[:, c] != 0) <= 2)]
    seen = set(X[:, c])
    z = np.where(X[:, c] == 0, -1.0, 3.0) + 0.01 * X[:, encoding.index["x"]]
    amplitudes = np.array([1e-3 if term.kind == "trend" else 0.7 for term in k.terms])
    posterior = Posterior.from_data(k, Hyperparameters(amplitudes, np.full(k.n_scales, 3.0), 1e-6), k.rows(X), z)
    taken = set(encoding.keys(X))
    options = [ask("logei", encoding, posterior, X, z, turn=turn, taken=taken)[c] for turn in (36, 45, 37, 38, 39)]
    assert options[0] != 0
    assert options[1] != 0
    assert options[2:] == [0.0, 0.0, 0.0]
    assert 0.0 in seen


def test_an_option_with_nothing_new_to_offer_does_not_take_the_turn_of_others():
    space = Space(c=Choice(a=Space(y=unit), b=Space(z=unit), none=Space()))
    encoding, k = build(space, "additive+interactions")
    rng = np.random.default_rng(0)
    X = np.concatenate([encoding.enter(encoding.sample(n, rng), node, rng) for node, n in ((1, 20), (2, 4), (3, 1))])
    z = np.where(X[:, encoding.index["c"]] == 0, -1.0, 3.0) + 0.01 * rng.normal(size=len(X))
    hyper = Hyperparameters(np.full(len(k.terms), 0.7), np.full(k.n_scales, 3.0), 1e-6)
    posterior = Posterior.from_data(k, hyper, k.rows(X), z)
    found = [ask("logei", encoding, posterior, X, z, turn=turn, taken=encoding.keys(X)) for turn in (36, 39)]
    assert [encoding.decode(row)["c"] for row in found] == ["b", "a"]


@pytest.mark.parametrize(
    ("acquisition", "covariance", "words"),
    [
        ("ei", "additive", ["'ei'", "'logei', 'ucb', 'additive-ucb', 'thompson'"]),
        ("additive-ucb", "independent", ["adds up over vertices", "covariance='additive'", "acquisition='ucb'"]),
        ("additive-ucb", "additive+interactions", ["adds up over vertices"]),
    ],
)
def test_an_acquisition_that_does_not_fit_says_what_would(acquisition, covariance, words):
    with pytest.raises(OptionError) as caught:
        check_acquisition(acquisition, covariance)
    for word in words:
        assert word in str(caught.value)


def suggested(pairs, turn, *, sign=1.0, noise=1e-4, policy=None, constrained=None, weighed=None):
    """The suggestion after pairs of a configuration and a value.

    sign         of the values in the model
    noise        its variance in the model
    constrained  values that must be at most zero
    weighed      values whose mean is added to the acquisition
    """
    encoding, k = build(SPACE, "additive+interactions")
    X, z = encoding.encode([config for config, _ in pairs]), np.array([value for _, value in pairs])
    hyper = Hyperparameters(np.full(len(k.terms), 0.7), np.full(k.n_scales, 0.3), noise)

    def posterior(values):
        return Posterior.from_data(k, hyper, k.rows(X), np.array(values))

    constraints = {} if constrained is None else {"constraints": (posterior(constrained),), "bounds": ((-np.inf, 0.0),)}
    bonus = None if weighed is None else Single(posterior([-value for value in weighed]), lowest)
    posteriors = Posteriors((posterior(sign * z),), **constraints)
    observed = Observed(encoding, X, z, set(encoding.keys(X)))
    return suggest(policy or Policy(), posteriors, observed, turn=turn, rng=np.random.default_rng(0), bonus=bonus)


def decided_by_the_model(pairs, turn, **others):
    """Whether two models that disagree lead to different suggestions."""
    found = [suggested(pairs, turn, sign=sign, **others) for sign in (1.0, -1.0)]
    return not np.array_equal(*found, equal_nan=True)


def test_an_option_that_was_hardly_seen_does_not_need_the_model():
    rng = np.random.default_rng(0)
    seen = [({"x": 0.5, "c": "a", "y": y}, y) for y in rng.random(8)] + [({"x": 0.5, "c": "e"}, 1.0)] * 8
    once = [({"x": 0.5, "c": "b", "z": 0.9}, 2.0)]
    assert not decided_by_the_model(seen + once, turn=15)
    assert decided_by_the_model(seen + once + [({"x": 0.5, "c": "b", "z": 0.1}, 2.5)], turn=15)


def test_constraints_failures_and_noise_limit_the_turns_that_ignore_the_model():
    rng = np.random.default_rng(0)
    seen = [({"x": 0.5, "c": "a", "y": y}, y) for y in rng.random(8)] + [({"x": 0.5, "c": "e"}, 1.0)] * 8
    pairs = [*seen, ({"x": 0.5, "c": "b", "z": 0.9}, 2.0)]
    assert not decided_by_the_model(pairs, turn=15, constrained=[-3.0] * 17)
    assert decided_by_the_model(pairs, turn=15, constrained=[-3.0] * 16 + [30.0])
    assert decided_by_the_model(pairs, turn=15, constrained=[-3.0] * 17, noise=1.0)  # the best one may be luck
    assert not decided_by_the_model(pairs, turn=15, weighed=[0.0] * 17)
    assert decided_by_the_model(pairs, turn=15, weighed=[0.0] * 16 + [-30.0])


def test_every_turn_needs_the_model_until_something_feasible_is_known():
    pairs = [({"x": x, "c": "a", "y": 0.5}, x) for x in (0.1, 0.4, 0.7)] + [({"x": 0.5, "c": "b", "z": 0.9}, 2.0)]
    for values in ([3.0] * 4, [-3.0] + [3.0] * 3):
        usual = suggested(pairs, 15, constrained=values)
        trusting = suggested(pairs, 15, constrained=values, policy=Policy(model_free=False))
        assert np.array_equal(usual, trusting, equal_nan=True) == (min(values) > 0.0)


def test_a_local_turn_does_not_need_the_model_once_its_searches_fail():
    best, rng = [({"x": 0.5, "c": "a", "y": 0.5}, 0.0)], np.random.default_rng(0)
    in_vain = [({"x": x, "c": "a", "y": y}, 1.0 + x) for x, y in rng.random((3, 2))]
    assert decided_by_the_model(best + in_vain[:2], turn=11)
    assert not decided_by_the_model(best + in_vain, turn=11)
