import pytest

from addtree.errors import OptionError
from addtree.model.specification import Specification
from addtree.model.transform import TransformSettings


def test_the_papers_covariance_is_not_transformed():
    assert Specification("additive", transform=TransformSettings()).learned_transform is None
    assert Specification(transform=TransformSettings()).learned_transform == TransformSettings()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"covariance": "rbf"}, ["'rbf'", "'additive'", "use one of"]),
        ({"inference": "mcmc"}, ["'mcmc'", "'map', 'mle'"]),
        ({"noise": -1.0}, ["-1.0", "standard deviation", "None"]),
        ({"noise": float("nan")}, ["nan", "standard deviation"]),
        ({"noise": "low"}, ["'low'", "standard deviation"]),
    ],
)
def test_options_that_cannot_work_say_what_would(options, words):
    with pytest.raises(OptionError) as caught:
        Specification(**options)
    for word in words:
        assert word in str(caught.value)
