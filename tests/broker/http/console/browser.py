"""A real browser, driven by the WebDriver protocol (W3C): chromedriver speaks it over HTTP.

Nothing has to be installed for that but the browser: on Debian `apt-get install chromium
chromium-driver`.
"""

from __future__ import annotations

import base64
import http.client
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from tests.patience import PATIENCE_S

ELEMENT: Final = "element-6066-11e4-a52e-4f735466cecf"
"""The member of an answer that names an element, by the standard."""

MISSING: Final = "needs chromium and chromedriver (apt-get install chromium chromium-driver)"

KEYS: Final = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "Space": "\ue00d"}


def is_there() -> bool:
    """True if there is a browser to be driven."""
    return all(shutil.which(name) for name in ("chromium", "chromedriver"))


class Browser:
    """One window."""

    def __init__(self, port: int, session: str) -> None:
        self._port = port
        self._session = session

    def _say(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        return said(self._port, method, f"/session/{self._session}{path}", body)

    def open(self, url: str) -> None:
        """Go there; what is to be seen there is waited for."""
        self._say("POST", "/url", {"url": url})

    def run(self, script: str, *given: Any) -> Any:
        """Return the result of a function's body, run in the page; it may be a promise."""
        return self._say("POST", "/execute/sync", {"script": script, "args": list(given)})

    def until(self, script: str, *given: Any) -> Any:
        """Return the value of an expression in the page, as soon as that is something."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            with suppress(AssertionError):  # between two pages there is none
                if found := self.run(f"return {script}", *given):
                    return found
            time.sleep(0.02)
        text = self.run("return document.body.innerText")
        raise AssertionError(f"never came: {script}\n{text}")

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        names = [KEYS.get(key, key) for key in keys]
        each = [{"type": kind, "value": key} for key in names for kind in ("keyDown", "keyUp")]
        self._say("POST", "/actions", {"actions": [{"type": "key", "id": "k", "actions": each}]})

    def type(self, selector: str, text: str) -> None:
        """Write into a field, in the place of what is there."""
        found = self._say("POST", "/element", {"using": "css selector", "value": selector})
        self._say("POST", f"/element/{found[ELEMENT]}/clear", {})
        self._say("POST", f"/element/{found[ELEMENT]}/value", {"text": text})

    def click(self, selector: str) -> None:
        """Click on an element."""
        found = self._say("POST", "/element", {"using": "css selector", "value": selector})
        self._say("POST", f"/element/{found[ELEMENT]}/click", {})

    def look(self, *, dark: bool = False, width: int = 1280, height: int = 900) -> None:
        """Be a window of this size, by day or by night."""
        self.tell(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 640,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.tell("Emulation.setEmulatedMedia", features=[scheme])

    def tell(self, command: str, **given: Any) -> Any:
        """Tell the browser something of its own (DevTools)."""
        return self._say("POST", "/goog/cdp/execute", {"cmd": command, "params": given})

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """Write what is to be seen, or all of the page, as PNG."""
        found = self.tell("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))

    def errors(self) -> list[str]:
        """The errors and warnings of the page since the last call."""
        log = self._say("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in log if entry["level"] in ("SEVERE", "WARNING")]


def said(port: int, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """The answer of a driver. Raises `AssertionError` for an error of its."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        sent = None if body is None else json.dumps(body)
        connection.request(method, path, sent, {"Content-Type": "application/json"})
        value = json.loads(connection.getresponse().read())["value"]
    finally:
        connection.close()
    assert not (isinstance(value, dict) and "error" in value), value
    return value


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser without a display."""
    command = ("chromedriver", "--port=0")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
        try:
            assert driver.stdout is not None
            line = next(line for line in driver.stdout if "successfully on port" in line)
            port = int(line.rpartition("on port ")[2].strip(". \n"))
            flags = ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage")
            options = {"args": [f"--{flag}" for flag in flags]}
            wanted = {
                "browserName": "chrome",
                "pageLoadStrategy": "none",  # a page with a stream is never done
                "goog:chromeOptions": options,
                "goog:loggingPrefs": {"browser": "ALL"},
            }
            asked = {"capabilities": {"alwaysMatch": wanted}}
            session = said(port, "POST", "/session", asked)["sessionId"]
            try:
                yield Browser(port, session)
            finally:
                said(port, "DELETE", f"/session/{session}")
        finally:
            driver.terminate()
