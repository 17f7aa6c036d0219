"""A report in which every name, label and message tries to inject HTML or a script."""

from __future__ import annotations

import addtree as at
from addtree.report import Record, Report, build
from tests.strategies import sample

HOSTILE = (
    "<img src=x onerror=\"window.hacked='name'\">",
    "</script><script>window.hacked='label'</script>",
    "\"><svg onload=window.hacked='attr'> ' & &lt;b&gt; %{x} ${1}",
    "名前 é ‮rtl \u2028 🙂",
    "<a href=\"javascript:window.hacked='link'\">x</a><!--",
)


def hostile_report() -> Report:
    name, label, attribute, unicode, link = HOSTILE
    space = at.Space(
        {
            name: at.Real(0, 1),
            unicode: at.Categorical([attribute, label, link]),
            link: at.Choice({label: at.Space({attribute: at.Real(0, 1)}), name: at.Space(), unicode: at.Space()}),
        }
    )
    known = []
    for i, config in enumerate(sample(space, 24, 0)):
        if i % 6 == 5:
            known.append(Record(i, config, "failed", error=HOSTILE[i % len(HOSTILE)] + " " + label))
        else:
            value = config[name] ** 2 + config.get(attribute, 0.5) * config[name] + (config[link] == name)
            known.append(Record(i, config, "done", value))
    return build(space, known, title=label)
