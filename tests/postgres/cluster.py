"""A PostgreSQL server of a test's own, from Debian's programs: one that can be stopped and killed."""

from __future__ import annotations

import glob
import os
import pwd
import socket
import subprocess

TIME_LIMIT = 60


class Cluster:
    """A server in a folder, for the user of the test, or for `postgres` where that is root."""

    def __init__(self, folder):
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
        assert found, "Debian's postgresql is not installed; .ci/run installs it"
        self._bin = os.path.dirname(found[-1])
        self.folder = folder
        os.makedirs(folder)
        user = None
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            os.chown(folder, owner.pw_uid, owner.pw_gid)
            user = "postgres"
        self._user = user
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        self._run(
            "initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8"
        )

    @property
    def data(self):
        """The server's folder."""
        return os.path.join(self.folder, "data")

    def _run(self, program, *arguments):
        command = [os.path.join(self._bin, program), *arguments]
        if self._user:
            command = [
                "setpriv",
                f"--reuid={self._user}",
                f"--regid={self._user}",
                "--init-groups",
                *command,
            ]
        # Not pipes: the server would keep them open, and nobody would see their end.
        with open(os.path.join(self.folder, "log"), "ab") as log:
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=TIME_LIMIT, cwd=self.folder)  # fmt: skip

    def start(self):
        """Start, and wait until it answers."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -c shared_buffers=16MB"
        self._run("pg_ctl", "-D", self.data, "-o", options, "-w", "start")

    def stop(self, mode="fast"):
        """Stop; in the mode ``immediate`` as a crash does it."""
        self._run("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop")
