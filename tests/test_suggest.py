import numpy as np
import pytest

from addtree import Choice, Real, Space
from addtree.covariance import Hyperparameters
from addtree.errors import OptionError
from addtree.gp import Posterior
from addtree.sample_path import SamplePath
from addtree.suggest import _stalled, check_acquisition, suggest
from tests.strategies import COVARIANCES, build

unit = Real(0, 1)
SPACE = Space(x=unit, c=Choice(a=Space(y=unit), b=Space(z=unit), e=Space()))
PAIRS = [(c, a) for c in COVARIANCES for a in ("logei", "ucb", "thompson")] + [("additive", "additive-ucb")]


def setting(covariance, seed=0):
    encoding, k = build(SPACE, covariance)
    rng = np.random.default_rng(seed)
    X, z = encoding.sample(12, rng), rng.normal(size=12)
    hyper = Hyperparameters(np.full(len(k.terms), 0.7), np.full(k.n_scales, 0.3), 1e-4)
    return encoding, k, Posterior.of(k, hyper, k.rows(X), z), X, z


def ask(acquisition, encoding, posterior, X, z, *, seed=0, turn=1, taken=frozenset()):
    rng = np.random.default_rng(seed)
    return suggest(acquisition, posterior, encoding, X, z, taken=set(taken), turn=turn, rng=rng)


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
    from addtree.acquisition import log_expected_improvement

    encoding, k, posterior, X, z = setting("additive+interactions")
    goal = log_expected_improvement(float(posterior.means().min()))
    row = ask("logei", encoding, posterior, X, z)
    anywhere = goal(*posterior.predict(k.rows(encoding.sample(2000, np.random.default_rng(9)))))[0]
    assert goal(*posterior.predict(k.rows(row[None])))[0][0] >= anywhere.max() - 1e-6


def test_a_run_that_stalls_aims_lower_every_other_turn():
    encoding, _, posterior, X, _ = setting("additive+interactions")
    stalled = np.array([0.0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])
    assert _stalled(stalled)
    assert not _stalled(stalled[:6])
    assert not _stalled(np.arange(12.0)[::-1])
    going = np.arange(12.0)[::-1]
    odd = [ask("logei", encoding, posterior, X, y, turn=1) for y in (stalled, going)]
    assert not np.array_equal(odd[0], odd[1], equal_nan=True)


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
