"""A real broker, Mosquitto, on a port of its own, and a way to send it messages."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

PLACES = ("/usr/sbin", "/usr/local/sbin", "/opt/homebrew/sbin")
"""Where packages put it, which is not on the path of everyone."""


def command() -> str:
    found = shutil.which("mosquitto") or next(
        (path for place in PLACES if (path := shutil.which("mosquitto", path=place))), None
    )
    if found is None:
        pytest.fail(
            "mosquitto is not installed: apt-get install mosquitto (scripts/setup dev does so as "
            "root on Debian or Ubuntu; macOS: brew install mosquitto)"
        )
    return found


@dataclass
class Broker:
    """A broker that can go away and come back with what it had."""

    folder: Path
    port: int = field(default_factory=lambda: free_port())
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.folder.mkdir(exist_ok=True)
        config = self.folder / "mosquitto.conf"
        config.write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\npersistence true\n"
            f"persistence_location {self.folder}/\nmax_inflight_messages 0\nuser root\n"
            "max_queued_messages 0\n"
        )
        self.process = subprocess.Popen(
            [command(), "-c", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                return

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(20)
            self.process = None

    def send(self, topic: str, messages: list[str], retain: bool = False) -> None:
        """Send messages; when it returns the broker has them all."""
        from paho.mqtt.client import CallbackAPIVersion, Client

        client = Client(CallbackAPIVersion.VERSION2)
        client.connect("127.0.0.1", self.port)
        client.loop_start()
        for sent in [client.publish(topic, message, 1, retain) for message in messages]:
            sent.wait_for_publish(20)
        client.disconnect()
        client.loop_stop()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
