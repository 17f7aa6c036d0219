"""The tree of the space in the report."""

import addtree as at
from addtree.report import build
from addtree.report.tree import draw
from tests.report.cases import evaluated, smooth


def test_rules_are_shown_where_they_apply():
    inner = at.Space(y=at.Real(0, 1)).where("y < 0.5")
    space = at.Space(x=at.Real(0, 1), c=at.Choice(a=inner, b=at.Space())).where("x <= y")
    page = draw(build(space, evaluated(space, smooth, 4)))
    assert page.index("where y &lt; 0.5") < page.index('"label">b') < page.index("where x &lt;= y")
