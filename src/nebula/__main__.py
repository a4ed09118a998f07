"""`python -m nebula` is `nebula`."""

import sys

from nebula.cli.start import nebula

sys.exit(nebula())
