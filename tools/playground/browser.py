"""A headless Chromium with one page, spoken to over a pair of pipes (Chromium's protocol for tools). It needs no package of Python.

`scripts/install-chromium` gets the browser; TC_CHROMIUM names another.
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

BROWSERS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]


class Browser:
    """A browser with one page."""

    def __init__(self):
        names = [os.environ.get("TC_CHROMIUM", "")] + BROWSERS
        program = next((found for found in map(shutil.which, filter(None, names)) if found), None)
        if program is None:
            sys.exit("there is no Chromium: run scripts/install-chromium, or name one in TC_CHROMIUM")
        self.folder = tempfile.mkdtemp(prefix="tc-browser-")
        to_browser, self.out = os.pipe()
        self.back, from_browser = os.pipe()

        def ends():
            # The protocol's ends are 3 and 4; where a pipe has one of these numbers already, it must not be overwritten.
            first, second = os.dup(to_browser), os.dup(from_browser)
            os.dup2(first, 3)
            os.dup2(second, 4)

        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe"]
        flags += [f"--user-data-dir={self.folder}", "about:blank"]
        self.process = subprocess.Popen(
            [program, *flags], preexec_fn=ends, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.next, self.session, self.console = b"", 0, None, []
        # The context in which a frame's scripts run, by the frame.
        self.contexts = {}
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log"]:
            self.send(f"{domain}.enable")

    def send(self, method, **params):
        self.next += 1
        message = {"id": self.next, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.next:
                assert "error" not in answer, answer
                return answer["result"]
            self.note(answer.get("method"), answer.get("params"))

    def note(self, event, params):
        """Keeps what the browser tells without being asked."""
        if event in ("Runtime.exceptionThrown", "Log.entryAdded"):
            self.console.append(json.dumps(params)[:500])
        elif event == "Runtime.executionContextCreated":
            context = params["context"]
            if context["auxData"].get("isDefault"):
                self.contexts[context["auxData"]["frameId"]] = context["id"]

    def read(self):
        while b"\0" not in self.buffer:
            piece = os.read(self.back, 1 << 20)
            assert piece, "the browser ended"
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def run(self, script, frame=None):
        """The value of a JavaScript expression, in the page or in a frame of it; promises are waited for."""
        where = {} if frame is None else {"contextId": self.contexts[frame]}
        told = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, **where)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def wait(self, script, seconds=60, frame=None):
        """Waits until an expression is true, and tells how long that took."""
        begin = time.monotonic()
        while not self.run(script, frame):
            text = "document.body && document.body.innerText"
            assert time.monotonic() - begin < seconds, f"not within {seconds} s: {script}\n{(self.run(text, frame) or '')[-2000:]}"
            time.sleep(0.02)
        return time.monotonic() - begin

    def frames(self):
        """The frames within the page that have an address."""
        tree = self.send("Page.getFrameTree")["frameTree"]
        return [child["frame"]["id"] for child in tree.get("childFrames", [])]

    def visit(self, url, ready="document.readyState === 'complete'"):
        """Opens a page anew, and waits until it is ready."""
        # Only the fragment changing loads nothing.
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=url)
        self.wait(f"location.protocol !== 'about:' && {ready}")

    def picture(self, path):
        self.send("Emulation.setDeviceMetricsOverride", width=1500, height=950, deviceScaleFactor=1, mobile=False)
        data = base64.b64decode(self.send("Page.captureScreenshot")["data"])
        path.write_bytes(data)
        return len(data)

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
