import numpy as np
import pytest
from scipy.stats import loguniform, norm, uniform
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

import addtree as at
from addtree.sklearn.spaces import read_space

FOREST, SVM = RandomForestClassifier(), SVC()
BETWEEN_MODELS = [
    {"clf": [SVM], "clf__C": loguniform(1e-3, 1e3), "clf__kernel": ["rbf", "poly"], "scale": [None, "robust"]},
    {"clf": [FOREST], "clf__max_depth": [None, 3, 5], "scale": [None, "robust"]},
]


def sampled(space, n=50):
    read = read_space(space)
    rng = np.random.default_rng(0)
    return [read.params(read.space.sample(rng)) for _ in range(n)]


def test_a_space_is_taken_as_it_is():
    space = at.Space(clf=at.Choice({SVM: at.Space(clf__C=at.Real(1, 2)), FOREST: at.Space()}))
    read = read_space(space)
    assert read.space is space
    assert read.params({"clf": SVM, "clf__C": 1.5}) == {"clf": SVM, "clf__C": 1.5}


def test_one_dict_is_a_flat_space():
    read = read_space({"C": loguniform(1, 10), "kernel": ["rbf", "poly"], "degree": [3]})
    assert read.space == at.Space(C=at.Real(1, 10, log=True), kernel=at.Categorical(["rbf", "poly"]))
    assert read.params({"C": 2.0, "kernel": "poly"}) == {"C": 2.0, "kernel": "poly", "degree": 3}


def test_a_list_of_one_dict_is_that_dict():
    assert read_space([{"C": [1, 2]}]).space == read_space({"C": [1, 2]}).space


def test_several_dicts_are_a_choice():
    space = read_space(BETWEEN_MODELS).space
    choice = space.children["alternative"]
    assert choice.labels == ("clf=SVC()", "clf=RandomForestClassifier()")
    assert [set(option.children) for option in choice.spaces] == [
        {"clf__C", "clf__kernel", "scale"},
        {"clf__max_depth", "scale"},
    ]


def test_configurations_have_the_parameters_of_their_dict():
    found = sampled(BETWEEN_MODELS)
    assert {type(params["clf"]) for params in found} == {SVC, RandomForestClassifier}
    for params in found:
        entry = BETWEEN_MODELS[0] if params["clf"] is SVM else BETWEEN_MODELS[1]
        assert params.keys() == entry.keys()
        assert params["scale"] in entry["scale"]


def test_a_parameter_with_two_domains_is_two_variables():
    space = [{"C": uniform(0, 1)}, {"C": uniform(10, 1)}, {"C": uniform(0, 1), "d": [1, 2]}]
    options = read_space(space).space.children["alternative"].spaces
    assert [set(option.children) for option in options] == [{"C"}, {"C (2)"}, {"C", "d"}]
    found = sampled(space)
    assert all(set(params) <= {"C", "d"} for params in found)
    assert {params["C"] > 5 for params in found} == {True, False}


def test_quantiles_of_two_distributions_are_two_variables():
    found = sampled([{"C": norm(0, 1)}, {"C": norm(100, 1)}])
    assert {params["C"] > 50 for params in found} == {True, False}


def test_each_dict_keeps_its_own_objects():
    first, second = SVC(), SVC()
    found = sampled([{"clf": [first, None], "a": [1]}, {"clf": [second, None], "a": [2]}])
    assert {id(params["clf"]) for params in found if params["clf"] is not None and params["a"] == 1} == {id(first)}
    assert {id(params["clf"]) for params in found if params["clf"] is not None and params["a"] == 2} == {id(second)}


def test_an_empty_dict_stands_for_the_defaults():
    assert {} in sampled([{}, {"C": [1, 2]}])
    assert read_space({}).params({}) == {}


def test_a_parameter_may_be_called_alternative():
    found = sampled([{"alternative": [1, 2]}, {"alternative": [3, 4]}])
    assert {params["alternative"] for params in found} == {1, 2, 3, 4}


def test_the_space_can_be_saved():
    assert at.Space.from_dict(read_space(BETWEEN_MODELS).space.to_dict()) == read_space(BETWEEN_MODELS).space


@pytest.mark.parametrize("space", [None, [], "C", [1], [{"C": [1]}, None]])
def test_anything_else_is_refused(space):
    with pytest.raises(at.SpaceError, match="a dict, or a list of dicts"):
        read_space(space)


def test_an_error_names_the_parameter():
    with pytest.raises(at.SpaceError, match="parameter 'C': 3 is neither"):
        read_space([{"d": [1]}, {"C": 3}])


def test_a_name_that_is_not_a_string_is_named():
    with pytest.raises(at.SpaceError, match="name must be a string, got 3"):
        read_space({3: [1, 2]})
