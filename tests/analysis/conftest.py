"""Lets tests import the builder of evidence that lies beside this folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
