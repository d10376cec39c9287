from .client.connecting import connect as connect
from .estimators.tree import DecisionTree as DecisionTree
from .frames.examples import example as example
from .owner.keys import Keys as Keys
from .owner.randomizing import randomize as randomize
from .reporting.estimating import EstimatedCounts as EstimatedCounts
from .reporting.estimating import estimate as estimate
from .reporting.reports import Reports as Reports
