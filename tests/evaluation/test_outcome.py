import addtree as at
from addtree.evaluation.outcome import evaluate


def test_an_error_that_addtree_raises_names_the_line_of_the_user_that_called_it():
    def wrong(config):
        return at.Space(x=at.Real(1, config["low"]))

    line = wrong.__code__.co_firstlineno + 1
    outcome = evaluate(wrong, {"low": 0.0}, (Exception,))
    assert outcome.evaluation.error.startswith("SpaceError: ")
    assert outcome.evaluation.error.endswith(f"({__file__}, line {line}, in wrong)")
