# SPDX-License-Identifier: BSL-1.0
"""A headless Chromium, driven by its DevTools protocol over a pair of pipes.

Nothing has to be installed besides the browser, and no version has to match it.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PATIENCE = 120  # seconds; only a condition that never comes true takes that long

KEYS = {
    "Tab": (9, ""),
    "Enter": (13, "\r"),
    "Space": (32, " "),
}


class Chromium:
    """The process, and one page at a time."""

    def __init__(self, program):
        self._profile = tempfile.mkdtemp(prefix="chromium-")
        to_browser, self._output = os.pipe()
        self._input, from_browser = os.pipe()
        options = [
            "--headless=new",
            "--remote-debugging-pipe",
            "--no-first-run",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-extensions",
            "--hide-scrollbars",
            f"--user-data-dir={self._profile}",
        ]
        if os.geteuid() == 0:
            options.append("--no-sandbox")  # the sandbox does not work for root
        # The protocol's pipes are descriptors 3 and 4, whatever they are here.
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "bash", program]
            + options
            + ["about:blank"],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._received = b""
        self._last_id = 0
        self._target = None
        self._session = None
        self.problems = []

    def close(self):
        try:
            self.call("Browser.close", on_page=False)
            self._process.wait(PATIENCE)
        except (OSError, EOFError, TimeoutError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._output)
        os.close(self._input)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method, on_page=True, **parameters):
        """Calls a method of the protocol and returns its result."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": parameters}
        if on_page:
            message["sessionId"] = self._session
        os.write(self._output, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 2 * PATIENCE
        while True:
            answer = self._receive(deadline, method)
            if answer.get("id") == self._last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._note(answer)

    def _receive(self, deadline, method):
        while b"\0" not in self._received:
            left = deadline - time.monotonic()
            if left < 0 or not select.select([self._input], [], [], left)[0]:
                raise TimeoutError(f"the browser does not answer {method}")
            part = os.read(self._input, 1 << 16)
            if not part:
                raise EOFError("the browser has ended")
            self._received += part
        message, self._received = self._received.split(b"\0", 1)
        return json.loads(message)

    def _note(self, event):
        """Keeps what a user would find in red in the console."""
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            thrown = details.get("exception", {}).get("description", details["text"])
            self.problems.append(thrown)
        elif event.get("method") == "Log.entryAdded":
            entry = parameters["entry"]
            if entry["level"] == "error":
                self.problems.append(f"{entry['text']} ({entry.get('url', '')})")

    def open(self, url, width=1280, height=900):
        """Opens a new page in the place of the one before."""
        previous = self._target
        made = self.call("Target.createTarget", on_page=False, url="about:blank")
        self._target = made["targetId"]
        if previous:
            self.call("Target.closeTarget", on_page=False, targetId=previous)
        self._session = self.call(
            "Target.attachToTarget", on_page=False, targetId=self._target, flatten=True
        )["sessionId"]
        self.problems = []
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")
        self.resize(width, height)
        self.call("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    def resize(self, width, height, scale=1):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=False,
        )

    def prefer(self, **features):
        """prefer(color_scheme="dark") sets the media feature prefers-color-scheme."""
        self.call(
            "Emulation.setEmulatedMedia",
            features=[
                {"name": "prefers-" + name.replace("_", "-"), "value": value}
                for name, value in features.items()
            ],
        )

    def evaluate(self, expression):
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def wait_for(self, condition):
        """Returns the value of the expression as soon as it is true in JavaScript's eyes."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                is_true, value = self.evaluate(
                    f"""new Promise((resolve) => {{
                        const end = performance.now() + 1000;
                        const look = () => {{
                            const value = ({condition});
                            if (value || performance.now() > end)
                                resolve([Boolean(value), value instanceof Node ? null : value]);
                            else
                                setTimeout(look, 20);
                        }};
                        look();
                    }})"""
                )
            except RuntimeError:  # the page may be on its way to another one
                if time.monotonic() > deadline:
                    raise
                continue
            if is_true:
                return value
            if time.monotonic() > deadline:
                raise AssertionError(f"did not become true: {condition}")

    def text(self, selector):
        return self.evaluate(f"document.querySelector({json.dumps(selector)})?.textContent")

    def wait_for_text(self, selector, text):
        self.wait_for(
            f"document.querySelector({json.dumps(selector)})"
            f"?.textContent.includes({json.dumps(text)})"
        )

    def click(self, selector):
        """Clicks on the middle of an element, once it is what is to be seen there."""
        at = self.wait_for(
            f"""(() => {{
                const target = document.querySelector({json.dumps(selector)});
                if (!target)
                    return null;
                target.scrollIntoView({{block: "center", behavior: "instant"}});
                const box = target.getBoundingClientRect();
                const at = {{x: box.x + box.width / 2, y: box.y + box.height / 2}};
                return target.contains(document.elementFromPoint(at.x, at.y)) && at;
            }})()"""
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)

    def press(self, key, shift=False):
        code, text = KEYS[key]
        parameters = {
            "key": " " if key == "Space" else key,
            "code": key,
            "windowsVirtualKeyCode": code,
            "modifiers": 8 if shift else 0,
        }
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **parameters)
        self.call("Input.dispatchKeyEvent", type="keyUp", **parameters)

    def type(self, text):
        """Types over what the focused field holds."""
        self.evaluate("document.activeElement.select()")
        self.call("Input.insertText", text=text)

    def fill(self, selector, text):
        self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")
        self.type(text)

    def choose(self, selector, value):
        """Chooses an option; the menu itself is the browser's, not the page's."""
        self.evaluate(
            f"""(() => {{
                const target = document.querySelector({json.dumps(selector)});
                target.value = {json.dumps(value)};
                target.dispatchEvent(new Event("change", {{bubbles: true}}));
            }})()"""
        )

    def screenshot(self, path):
        """Saves what the window shows."""
        shot = self.call("Page.captureScreenshot")
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
