# SPDX-License-Identifier: BSL-1.0
"""Settings from a file, the environment and the command line, and what is said of wrong ones."""
import os
import pathlib
import socket
import tempfile
import unittest

import service_fixture
from service_fixture import BASE, Service, main, run_program

# Each setting with values that it takes, values that it does not, and what is said of these.
SETTINGS = {
    "address": (["127.0.0.1"], ["", "localhost", "127.0.0.256", "1.2.3", "::1]"], "an IP address"),
    "port": (["0"], ["-1", "65536", "x", "80x", "1e3", "", "0x50", "+80"],
             "a whole number from 0 to 65535"),
    "tick-duration": (["1", "60000"], ["0", "60001", "1.5"], "a whole number from 1 to 60000 ms"),
    "worker-threads": (["1", "16"], ["0", "257", "-4"], "a whole number from 1 to 256"),
    "enable-metrics": (["true", "false"], ["yes", "1", "TRUE", ""], "true or false"),
    "task-timeout": (["1", "86400000"], ["0", "86400001"], "a whole number from 1 to 86400000 ms"),
    "queue-size": (["1"], ["0"], "a whole number from 1 to"),
    "queue-policy": (["block", "drop", "run_inline"], ["none", "", "Drop"],
                     "block, drop or run_inline"),
    "max-tasks": (["1"], ["0", "99999999999999999999"], "a whole number from 1 to"),
    "max-batch": (["1"], ["0"], "a whole number from 1 to"),
    "history-size": (["0", "5"], ["-1", "x"], "a whole number from 0 to"),
    "max-schedules": (["1"], ["0"], "a whole number from 1 to"),
    "body-limit": (["16"], ["15"], "a whole number from 16 to"),
    "header-limit": (["256"], ["255"], "a whole number from 256 to"),
    "max-connections": (["1"], ["0", "100001"], "a whole number from 1 to 100000"),
    "idle-timeout": (["10"], ["9"], "a whole number from 10 to 86400000 ms"),
    "request-timeout": (["10"], ["9"], "a whole number from 10 to 86400000 ms"),
    "shutdown-timeout": (["0"], ["-1", "86400001"], "a whole number from 0 to 86400000 ms"),
    "allowed-origins": (["", "https://a.example", "http://a,https://b:8080"],
                        ["a.example", "*", "null", "https://", "https://a/", "https://A.example",
                         "http://a, http://b", "ftp://a", "http://a,,http://b"],
                        "origins such as https://example.org, separated by commas"),
}


def environment_name(key):
    return "TIMEWHEEL_" + key.upper().replace("-", "_")


class ConfigurationTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, text):
        path = self.folder / "settings.conf"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    def assert_rejected(self, *arguments, mentions, environment=None):
        done = run_program(*arguments, environment=environment)
        self.assertEqual(done.returncode, 2, done)
        self.assertEqual(done.stdout, "")
        self.assertTrue(done.stderr.endswith("\nTry wheel_service --help.\n"), done.stderr)
        for each in mentions:
            self.assertIn(each, done.stderr)
        return done.stderr


class Help(ConfigurationTest):
    def test_names_all_with_defaults(self):
        for option in ["--help", "-h"]:
            done = run_program(option)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for key in SETTINGS:
                self.assertIn(f"--{key} ", done.stdout)
            for text in ["8081", "127.0.0.1", "(100)", "(30000)", "TIMEWHEEL_TICK_DURATION", "--config"]:
                self.assertIn(text, done.stdout)
            for line in done.stdout.splitlines():
                self.assertLessEqual(len(line), 100)

    def test_comes_whatever_else_there_is(self):
        done = run_program(
            "--help", "--config", "/nowhere", environment={"TIMEWHEEL_PORT": "x"}
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Wrong(ConfigurationTest):
    def test_value_is_named_with_what_is_allowed(self):
        for key, (_, wrong, allowed) in SETTINGS.items():
            for value in filter(None, wrong):
                said = f"{key}: '{value}' is not allowed; it takes {allowed}"
                self.assert_rejected(f"--{key}={value}", mentions=[said])
            value = wrong[-1]
            said = f"{key}: '{value}' is not allowed; it takes {allowed}"
            self.assert_rejected(
                environment={environment_name(key): value}, mentions=["in the environment: " + said]
            )
            path = self.file(f"# a comment\n\n{key} = {value}\n")
            self.assert_rejected("--config", path, mentions=[f"{path}:3: {said}"])

    def test_command_line(self):
        for arguments, mentions in [
            (["--prt", "5"], ["--prt"]),
            (["--unknown=5"], ["--unknown"]),
            (["5"], ["positional"]),
            (["--port"], ["port: the value is missing; it takes a whole number from 0 to 65535"]),
            (["--port="], ["port: the value is missing; it takes a whole number"]),
            (["--port", "-1"], ["port: '-1' is not allowed; it takes a whole number from 0 to 65535"]),
            (["--port=1", "--port=2"], ["--port", "more than once"]),
            (["--port=1", "-x"], ["-x"]),
            (["--queue=5"], ["queue", "ambiguous"]),
            (["--config"], ["config"]),
        ]:
            self.assert_rejected(*arguments, mentions=mentions)

    def test_a_value_that_is_overridden_may_not_be_wrong_either(self):
        self.assert_rejected(
            "--port=0", environment={"TIMEWHEEL_PORT": "x"}, mentions=["in the environment: port: 'x'"]
        )

    def test_file(self):
        for text, line, mentions in [
            ("port = 0\nprt = 5\n", 2, ["prt"]),
            ("port\n", 1, ["port"]),
            ("\n\n = 5", 3, []),
            ("port = 1\ntick-duration = 5\nport = 2\n", 3, ["port: it is in line 1 already"]),
            ("[server]\nport = 1\n", 1, ["sections"]),
            ("  [server]", 1, ["sections"]),
            ("port = 1 2\n", 1, ["port: '1 2'"]),
            ('port = "1"\n', 1, ["port: '\"1\"'"]),
            ("config = other\n", 1, ["config"]),
            ("help = 1\n", 1, ["help"]),
            (b"port = \xff\n", 1, ["port"]),
            ("port = 1\n" + "x" * 100_000, 2, []),
        ]:
            path = self.file(text)
            done = service_fixture.subprocess.run(
                [service_fixture.PROGRAM, "--config", path],
                capture_output=True, timeout=service_fixture.PATIENCE, check=False,
            )
            said = done.stderr.decode("utf-8", "replace")
            self.assertEqual(done.returncode, 2, said)
            for each in [f"{path}:{line}: ", *mentions]:
                self.assertIn(each, said)

    def test_file_that_can_not_be_read(self):
        for path in ["/nowhere/at/all", str(self.folder), ""]:
            self.assert_rejected(f"--config={path}", mentions=["config"])


class Right(ConfigurationTest):
    def test_each_value(self):
        for key, (right, _, _) in SETTINGS.items():
            for value in right:
                path = self.file(f"{key} = {value}\n")
                with Service("--config", path) as service:
                    self.assertEqual(service.get("/healthz"), {"status": "ok"})

    def tick(self, *arguments, environment=None):
        with Service(*arguments, environment=environment) as service:
            return service.get(BASE + "/stats")["tickDuration"]

    def test_command_line_wins_over_environment_over_file(self):
        path = self.file("tick-duration=7 # why\r\nworker-threads = 2\r\n")
        environment = {"TIMEWHEEL_TICK_DURATION": "8", "TIMEWHEEL_WORKER_THREADS": "3"}
        self.assertEqual(self.tick(), 100)
        self.assertEqual(self.tick("--config", path), 7)
        self.assertEqual(self.tick("-c", path), 7)
        self.assertEqual(self.tick("--config", path, environment=environment), 8)
        self.assertEqual(
            self.tick("--config", path, "--tick-duration", "9", environment=environment), 9
        )

    def test_unknown_variables_belong_to_others(self):
        self.assertEqual(self.tick(environment={"TIMEWHEEL_SEED": "5", "TIMEWHEEL_": "x"}), 100)

    def test_empty_file(self):
        self.assertEqual(self.tick("--config", self.file("")), 100)
        self.assertEqual(self.tick("--config", "/dev/null"), 100)

    def test_metrics_may_be_switched_off(self):
        with Service("--enable-metrics", "false") as service:
            self.assertEqual(service.request("GET", "/metrics").status, 404)

    def test_history_of_nothing(self):
        with Service("--history-size", "0", "--tick-duration", "5") as service:
            id_ = service.add("simple", 0)
            service_fixture.wait_until(
                lambda: service.request("GET", f"{BASE}/tasks/{id_}").status == 404
            )
            self.assertEqual(service.get(BASE + "/tasks"), {"tasks": []})
            self.assertEqual(service.get(BASE + "/execution-stats")["outcomes"]["completed"], 1)
            self.assertEqual(service.request("DELETE", f"{BASE}/tasks/{id_}").status, 404)
            self.assertEqual(
                service.request("POST", BASE + "/tasks/cleanup").json(), {"removed": 0}
            )
            with service.connect() as client:
                client.send(f"GET {BASE}/events HTTP/1.1\r\nHost: a\r\n\r\n")
                client.read_head()
                self.assertIn(b'"latest":[]', client.read_until(b"\n\n"))


class Addresses(unittest.TestCase):
    def test_loopback_unless_told(self):
        with Service() as service:
            self.assertTrue(service.first_line.startswith("http://127.0.0.1:"))

    def test_other_addresses(self):
        with Service("--address", "0.0.0.0") as service:
            self.assertTrue(service.first_line.startswith("http://0.0.0.0:"))
        if not socket.has_ipv6 or not os.path.exists("/proc/net/if_inet6"):
            return
        with open("/proc/net/if_inet6", encoding="ascii") as file:
            if "00000000000000000000000000000001" not in file.read():
                return
        with Service("--address", "::1") as service:
            self.assertTrue(service.first_line.startswith("http://[::1]:"))
            self.assertEqual(service.get("/healthz"), {"status": "ok"})

    def assert_does_not_start(self, *arguments, mentions):
        done = run_program(*arguments)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        for each in ["can't start: listen on ", *mentions]:
            self.assertIn(each, done.stderr)

    def test_port_in_use(self):
        with Service() as service:
            port = str(service.address[1])
            self.assert_does_not_start(
                "--port", port, mentions=[f"127.0.0.1:{port}", "Address already in use"]
            )
            self.assertEqual(service.get("/healthz"), {"status": "ok"})

    def test_address_of_another_machine(self):
        self.assert_does_not_start("--address", "192.0.2.1", mentions=["192.0.2.1:8081"])

    @unittest.skipIf(os.geteuid() == 0, "this user may use all ports")
    def test_privileged_port(self):
        with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", encoding="ascii") as file:
            if int(file.read()) <= 1:
                self.skipTest("all may use all ports")
        self.assert_does_not_start("--port", "1", mentions=["127.0.0.1:1:", "Permission denied"])

    def test_port_can_be_used_again_at_once(self):
        with Service() as service:
            port = service.address[1]
            client = service.connect()
            client.request("GET", "/healthz")
        client.close()  # after the service, whose side is in TIME_WAIT now
        with Service("--port", str(port)) as service:
            self.assertEqual(service.get("/healthz"), {"status": "ok"})


if __name__ == "__main__":
    main()
