"""The parts of the plan's report: measures, predictions, losses, figures and the page."""
