"""Files of a patch that have no effect: nothing imports them, they are the release's own, or Python runs older code."""
