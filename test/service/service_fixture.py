# SPDX-License-Identifier: BSL-1.0
"""What the tests of the service share: the running program, and a client that hides nothing.

Each file is run as `python3 FILE PROGRAM [unittest's arguments]`. What is waited for is a condition,
with limits that a slow machine keeps. That something does not happen is looked at when something
else, which is due after it, has happened. TIMEWHEEL_SERVICE_SCALE, a number from 0 to 1, makes the
big tests smaller, for programs with a sanitizer in them.
"""
import contextlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

PATIENCE = 120  # seconds for anything that should happen at once
NEVER = "86400000"  # milliseconds that no test takes, for what must not time out
BASE = "/api/timingwheel"
SCALE = float(os.environ.get("TIMEWHEEL_SERVICE_SCALE", "1"))
PROGRAM = None


def main():
    """Runs the tests of the calling module on the program that the first argument names."""
    global PROGRAM
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(f"usage: {sys.argv[0]} PROGRAM [ARGUMENT OF UNITTEST]...")
    # The file is a module named __main__, and its tests know this one by its name.
    sys.modules["service_fixture"].PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()


def scaled(number, least=1):
    return max(least, int(number * SCALE))


def clean_environment():
    """The environment without settings of the service."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TIMEWHEEL_")}


def run_program(*arguments, environment=None):
    """Runs the program to its end, which should come by itself."""
    return subprocess.run(
        [PROGRAM, *arguments],
        env={**clean_environment(), **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def wait_until(condition, what="the condition", patience=PATIENCE, interval=0.02):
    """Returns the first value of `condition` that counts as true."""
    deadline = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come within {patience} s")
        time.sleep(interval)


class Answer:
    """A response: status, headers (names in lower case), body."""

    def __init__(self, status, version, headers, body):
        self.status = status
        self.version = version
        self.headers = headers
        self.body = body

    def json(self):
        return json.loads(self.body.decode("utf-8"))

    @property
    def error(self):
        return self.json()["error"]

    def __repr__(self):
        return f"{self.version} {self.status} {self.headers} {self.body[:300]!r}"


class ConnectionEnded(Exception):
    """The other end has closed in place of an answer; `args[0]` is what came before."""


class Client:
    """One connection, on which bytes can be sent that no polite client would send."""

    def __init__(self, address):
        self.socket = socket.create_connection(address, timeout=PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode("utf-8"))

    def _more(self):
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionEnded(self.rest)
        self.rest += data

    def read_until(self, mark):
        while mark not in self.rest:
            self._more()
        head, self.rest = self.rest.split(mark, 1)
        return head

    def read_exactly(self, size):
        while len(self.rest) < size:
            self._more()
        data, self.rest = self.rest[:size], self.rest[size:]
        return data

    def read_head(self):
        lines = self.read_until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        match = re.fullmatch(r"(HTTP/1\.[01]) (\d{3}) [\w \-']+", lines[0])
        if not match:
            raise AssertionError(f"not a status line: {lines[0]!r}")
        headers = {}
        for line in lines[1:]:
            name, value = line.split(":", 1)
            if name.lower() in headers:
                raise AssertionError(f"two headers {name}")
            headers[name.lower()] = value.strip()
        return int(match[2]), match[1], headers

    def read_answer(self, has_body=True):
        status, version, headers = self.read_head()
        body = b""
        if has_body and status >= 200 and status != 204:
            body = self.read_exactly(int(headers["content-length"]))
        return Answer(status, version, headers, body)

    def request(self, method, target, body=None, headers=(), version="1.1"):
        """Sends a request and returns its answer. A body that is no text or bytes is sent as JSON."""
        self.send(make_request(method, target, body, headers, version))
        return self.read_answer(has_body=method != "HEAD")

    def is_at_end(self, patience=PATIENCE):
        """Whether the other end closes without sending anything more."""
        self.socket.settimeout(patience)
        try:
            return not self.rest and self.socket.recv(1) == b""
        except ConnectionResetError:
            return True
        except socket.timeout:
            return False
        finally:
            self.socket.settimeout(PATIENCE)

    def is_silent(self, seconds=0.3):
        return not self.rest and not select.select([self.socket], [], [], seconds)[0]


def make_request(method, target, body=None, headers=(), version="1.1"):
    if body is not None and not isinstance(body, (bytes, str)):
        body = json.dumps(body)
    if isinstance(body, str):
        body = body.encode("utf-8")
    if isinstance(target, str):
        target = target.encode("utf-8")
    lines = [f"HTTP/{version}", "Host: test", *headers]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    head = "\r\n".join(lines) + "\r\n\r\n"
    return method.encode() + b" " + target + b" " + head.encode("utf-8") + (body or b"")


class Service:
    """The program, running on a port of its own."""

    def __init__(self, *arguments, environment=None):
        if "--port" not in arguments:
            arguments = ("--port", "0", *arguments)
        self.process = subprocess.Popen(
            [PROGRAM, *arguments],
            env={**clean_environment(), **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.first_line = self.process.stdout.readline()
        match = re.fullmatch(r"http://(\[[0-9a-f:]+\]|[0-9.]+):(\d+)/\n", self.first_line)
        if not match:
            self.process.kill()
            rest = self.process.communicate()
            raise AssertionError(f"does not print its address: {self.first_line!r}, {rest}")
        self.address = (match[1].strip("[]"), int(match[2]))

    def connect(self):
        return Client(self.address)

    def request(self, method, target, body=None, headers=(), version="1.1"):
        """A request on a connection of its own."""
        with self.connect() as client:
            return client.request(method, target, body, headers, version)

    def exchange(self, data, half_close=False):
        """Sends bytes and returns the one answer to them."""
        with self.connect() as client:
            client.send(data)
            if half_close:
                client.socket.shutdown(socket.SHUT_WR)
            return client.read_answer()

    def get(self, target):
        answer = self.request("GET", target)
        if answer.status != 200:
            raise AssertionError(f"GET {target}: {answer}")
        return answer.json()

    def add(self, type_="simple", delay=0, **more):
        answer = self.request(
            "POST", BASE + "/tasks/sample", {"type": type_, "delay": delay, **more}
        )
        if answer.status != 201:
            raise AssertionError(f"not created: {answer}")
        return answer.json()["taskId"]

    def task(self, id_):
        return self.get(f"{BASE}/tasks/{id_}")

    def wait_for_state(self, id_, *states):
        def task_if_there():
            task = self.task(id_)
            return task if task["state"] in states else None

        return wait_until(task_if_there, f"state {' or '.join(states)} of task {id_}")

    def let_pass(self, milliseconds):
        """Waits until the service has run a task by this delay."""
        self.wait_for_state(self.add("simple", milliseconds), "completed")

    def connections(self):
        """How many there are, without the one that asks."""
        text = self.request("GET", "/metrics").body.decode()
        return int(text.split("\ntimewheel_http_connections ")[1].split()[0]) - 1

    def wait_for_no_connections(self, patience=PATIENCE):
        wait_until(lambda: self.connections() == 0, "the end of all connections", patience)

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def terminate(self, signal_number=signal.SIGTERM):
        self.told_to_stop_at = time.monotonic()
        self.process.send_signal(signal_number)

    def wait(self, patience=PATIENCE):
        """Waits for the end; returns the exit code. What it wrote is in `output` and `errors` then."""
        self.output, self.errors = self.process.communicate(timeout=patience)
        return self.process.returncode

    def stop(self):
        """Stops it as an operator would, and checks that it ends well."""
        self.terminate()
        code = self.wait()
        if code != 0 or self.errors or self.output != "stopping\nstopped\n":
            raise AssertionError(f"exit code {code}, wrote {self.output!r} and {self.errors!r}")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.stop()
        elif self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


class ServiceTest(unittest.TestCase):
    """Tests on one program, with ARGUMENTS."""

    ARGUMENTS = ()

    @classmethod
    def setUpClass(cls):
        cls.service = Service(*cls.ARGUMENTS)

    @classmethod
    def tearDownClass(cls):
        cls.service.stop()

    def request(self, *arguments, **named):
        return self.service.request(*arguments, **named)

    def assert_error(self, answer, status, code, field=None):
        """The answer is an error of the API, which is well formed."""
        self.assertEqual(answer.status, status, answer)
        self.assertEqual(answer.headers["content-type"], "application/json")
        error = answer.error
        self.assertEqual(answer.json().keys(), {"error"})
        self.assertEqual(error["code"], code, answer)
        self.assertTrue(error["message"])
        self.assertEqual(error.get("field"), field, answer)
        self.assertLessEqual(error.keys(), {"code", "message", "field"})
        return error["message"]

    def assert_lives(self):
        self.assertEqual(self.request("GET", "/healthz").json(), {"status": "ok"})


@contextlib.contextmanager
def running_in_threads(functions):
    """Runs functions at once and raises the first of their errors."""
    errors = []

    def guarded(function):
        try:
            function()
        except BaseException as error:  # pylint: disable=broad-except
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(each,)) for each in functions]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]
