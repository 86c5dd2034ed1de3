"""A real browser for tests: headless Chromium over its DevTools protocol, with every request and complaint of a page kept.

The network is off unless a test asks for it. Where there is no Chromium the tests that need one are skipped, and say so.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from websockets.sync.client import connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Only for what hangs: a busy machine may take long to start a browser.
PATIENCE_S = 300


def find():
    """The browser's command, or None."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@dataclass
class Page:
    """One tab."""

    socket: Any
    requests: list[str] = field(default_factory=list)
    """Addresses that the page asked for."""
    complaints: list[str] = field(default_factory=list)
    """Console errors and warnings, uncaught exceptions, and what the content security policy refused."""
    blocked: list[str] = field(default_factory=list)
    """Why requests were stopped inside the browser, like ``csp``."""
    arrived: list[dict] = field(default_factory=list)
    """Events, in order."""
    number: int = 0

    def call(self, method, **parameters):
        """Ask the browser for something and wait for its answer."""
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv(timeout=PATIENCE_S))
            if message.get("id") == self.number:
                assert "error" not in message, (method, message["error"])
                return message["result"]
            self._hear(message)

    def wait(self, event):
        """Until the browser tells of an event."""
        while not any(each["method"] == event for each in self.arrived):
            self._hear(json.loads(self.socket.recv(timeout=PATIENCE_S)))
        self.arrived.clear()

    def open(self, url):
        """Load an address and wait for it."""
        self.arrived.clear()
        self.call("Page.navigate", url=url)
        self.wait("Page.loadEventFired")

    def run(self, script):
        """The value of an expression in the page. Works under any content security policy: it comes from outside the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def until(self, script, what, patience_s=PATIENCE_S):
        """Wait until an expression is true."""
        end = time.monotonic() + patience_s
        while time.monotonic() < end:
            if found := self.run(script):
                return found
            time.sleep(0.2)
        raise AssertionError(f"{what} did not happen; the page says: {self.run('document.body.innerText')[:2_000]}")

    def resize(self, width, height, *, mobile=False):
        """Another screen."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def prefer(self, *, scheme="light", media=""):
        """Light or dark; ``print`` shows what a printer would get."""
        self.call(
            "Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}]
        )

    def press(self, key, code=None):
        """One key, down and up."""
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=code or key,
                windowsVirtualKeyCode={"Tab": 9, "Enter": 13, " ": 32}.get(key, 0),
                **({"text": "\r"} if key == "Enter" and kind == "keyDown" else {}),
            )

    def picture(self, **clip):
        """A PNG of the screen, or of ``x, y, width, height`` of the page."""
        parameters = {"clip": {**clip, "scale": 1}, "captureBeyondViewport": True} if clip else {}
        return base64.b64decode(self.call("Page.captureScreenshot", **parameters)["data"])

    def _hear(self, message):
        if "method" not in message:
            return
        self.arrived.append(message)
        details = message["params"]
        match message["method"]:
            case "Network.requestWillBeSent":
                self.requests.append(details["request"]["url"])
            case "Network.loadingFailed" if "blockedReason" in details:
                self.blocked.append(details["blockedReason"])
            case "Log.entryAdded" if details["entry"]["level"] in {"error", "warning"}:
                self.complaints.append(details["entry"]["text"])
            case "Runtime.consoleAPICalled" if details["type"] in {"error", "warning", "assert"}:
                self.complaints.append(json.dumps(details["args"]))
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(details["exceptionDetails"]))
            case "Audits.issueAdded":
                self.complaints.append(json.dumps(details["issue"]))


@contextmanager
def opened(folder, *, online=False):
    """A browser with one empty tab and a profile of its own below ``folder``."""
    profile = folder / "browser"
    command = [
        find(),
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--hide-scrollbars",
        "--remote-debugging-port=0",
        f"--user-data-dir={profile}",
        "about:blank",
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    try:
        with connect(_tab(profile, process), max_size=None, open_timeout=PATIENCE_S) as socket:
            page = Page(socket)
            for domain in ("Page", "Runtime", "Network", "Log", "Audits"):
                page.call(f"{domain}.enable")
            if not online:
                page.call(
                    "Network.emulateNetworkConditions",
                    offline=True,
                    latency=0,
                    downloadThroughput=0,
                    uploadThroughput=0,
                )
            yield page
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(30)


def _tab(profile, process):
    """The address of the tab's socket."""
    import urllib.request

    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        assert process.poll() is None, "the browser ended while it started"
        try:
            port = (profile / "DevToolsActivePort").read_text().split()[0]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=10) as answer:
                tabs = [tab for tab in json.load(answer) if tab["type"] == "page"]
            if tabs:
                return tabs[0]["webSocketDebuggerUrl"]
        except (OSError, IndexError):
            pass
        time.sleep(0.1)
    raise AssertionError("the browser did not start")
