"""A small schema, and trees over it drawn by hypothesis."""

from pramana_core.domain import Variable
from pramana_core.model_sharing.attributes import CategoricalAttribute, NumericAttribute, TreeSchema
from tests.shared.model_sharing.random_trees import fractions, trees

COLOUR = CategoricalAttribute("colour", ("red", "green", "blue"))
SCHEMA = TreeSchema(
    Variable("class", ("a", "b", "c")),
    (
        COLOUR,
        NumericAttribute("size", -1.5, 10),
        NumericAttribute("age", 0, 120, whole=True),
        CategoricalAttribute("<&> \N{SNOWMAN}", ("x", "y")),
    ),
)


SHARED_TREES = trees(SCHEMA, fractions)
