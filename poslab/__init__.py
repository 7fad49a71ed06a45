"""The instructor's side of the course: build, grade, measure. The command is `poslab`."""

import sys

__version__ = "1.0.0"

# jsonschema would build a grammar for web addresses out of this: seconds at every start, for what no notebook's schema asks.
sys.modules.setdefault("rfc3987_syntax", None)
