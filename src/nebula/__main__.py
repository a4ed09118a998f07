"""`python -m nebula` is `nebula`."""

import sys

from nebula.cli.nebula import main

sys.exit(main())
