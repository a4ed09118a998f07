"""`config.yaml` of seed §6.3, made on first use; read again whenever somebody edited it."""

from __future__ import annotations

from nebula.graph.disk.data_folder import DataFolder
from nebula.graph.disk.files import ABSENT, Signature
from nebula.graph.errors import BadFile
from nebula.graph.formats.config_yaml import FILE, MAX_BYTES, TEMPLATE, GraphSettings, parse_settings
from nebula.graph.ids import now
from nebula.language import Sentence


class SettingsFile:
    """What is wrong with the file costs a remark (`problem`); the default then stands."""

    def __init__(self, disk: DataFolder) -> None:
        self._disk = disk
        self._signature: Signature | None = ABSENT
        self._settings = GraphSettings()
        self.problem: Sentence | None = None

    def ensure(self) -> None:
        """Make the file if there is none."""
        if not self._disk.exists(FILE):
            self._disk.replace(FILE, TEMPLATE.format(now=now()).encode("utf-8"))

    def read(self) -> GraphSettings:
        """Return the settings as they stand in the file now; the defaults where it is silent or makes no sense."""
        current = self._disk.signature(FILE)
        if current != self._signature:
            self._signature = current
            try:
                data = self._disk.read(FILE, MAX_BYTES)
                self._settings, self.problem = (GraphSettings(), None) if data is None else parse_settings(data)
            except BadFile as error:
                self._settings, self.problem = GraphSettings(), error.reason
        return self._settings
