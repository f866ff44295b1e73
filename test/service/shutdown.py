# SPDX-License-Identifier: BSL-1.0
"""SIGTERM: no new tasks, running ones end or are cancelled at a deadline, exit code 0."""
import contextlib
import os
import signal
import socket
import subprocess
import time
import unittest

import service_fixture
from service_fixture import (
    BASE, NEVER, PATIENCE, ConnectionEnded, Service, clean_environment, main, make_request,
    wait_until,
)

FAST = ("--tick-duration", "5")
LONG = 3_600_000


class ShutdownTest(unittest.TestCase):
    def assert_ends(self, service, at_least=0.0, at_most=PATIENCE):
        """It ends well, these seconds after it was told to stop."""
        self.assertEqual(service.wait(), 0, service.errors)
        needed = time.monotonic() - service.told_to_stop_at
        self.assertEqual((service.output, service.errors), ("stopping\nstopped\n", ""))
        self.assertGreaterEqual(needed, at_least)
        self.assertLess(needed, at_most)


class Tasks(ShutdownTest):
    def test_nothing_to_do(self):
        for number in [signal.SIGTERM, signal.SIGINT]:
            service = Service()
            service.terminate(number)
            self.assert_ends(service)

    def test_signal_as_soon_as_the_address_is_there(self):
        for _ in range(20):
            service = Service()
            service.terminate()
            self.assert_ends(service)

    def test_long_ticks_do_not_make_it_longer(self):
        with Service("--tick-duration", "60000") as service:
            service.add("simple", LONG)
            service.terminate()
            self.assert_ends(service, at_most=40)

    def test_waiting_and_repeating_tasks_are_cancelled(self):
        service = Service(*FAST, "--shutdown-timeout", NEVER)
        service.request(
            "POST", BASE + "/tasks/batch", {"count": 1000, "minDelay": LONG, "maxDelay": LONG}
        )
        for type_ in ["simple", "failing", "cpu"]:
            for repeat in [1, 10, LONG]:
                service.add(type_, 0, repeat=repeat)
        service.request("PUT", BASE + "/schedules/a", {"period": 1})
        service.request("PUT", BASE + "/schedules/b", {"cron": "* * * * *"})
        service.terminate()
        self.assert_ends(service)

    def test_running_task_may_end(self):
        service = Service(*FAST, "--shutdown-timeout", NEVER)
        id_ = service.add("slow", 0, repeat=1)
        started = service.wait_for_state(id_, "running")["startedAt"]
        service.terminate()
        self.assert_ends(service)
        self.assertGreaterEqual(time.time() * 1000, started + 1990)

    def test_hanging_task_is_cancelled_at_the_deadline(self):
        for body in [{"type": "hanging"}, {"type": "hanging", "repeat": 1}]:
            service = Service(*FAST, "--shutdown-timeout", "700", "--task-timeout", NEVER)
            id_ = service.add(body["type"], 0, **{k: v for k, v in body.items() if k == "repeat"})
            service.wait_for_state(id_, "running")
            service.terminate()
            self.assert_ends(service, at_least=0.7)

    def test_deadline_of_nothing(self):
        service = Service(*FAST, "--shutdown-timeout", "0", "--task-timeout", NEVER)
        for _ in range(10):
            service.wait_for_state(service.add("hanging", 0), "running")
        service.terminate()
        self.assert_ends(service)

    def test_running_schedule(self):
        for type_, key, patience in [("slow", "a", NEVER), ("hanging", "b", "500")]:
            service = Service(*FAST, "--shutdown-timeout", patience, "--task-timeout", NEVER)
            service.request("PUT", f"{BASE}/schedules/{key}", {"period": 10, "type": type_})
            wait_until(lambda: service.get(f"{BASE}/schedules/{key}")["state"] == "running")
            service.terminate()
            self.assert_ends(service)

    def test_full_queue_of_workers(self):
        service = Service(*FAST, "--worker-threads", "1", "--queue-size", "10")
        service.request("POST", BASE + "/tasks/batch", {"count": 5000, "minDelay": 0, "maxDelay": 50})
        for _ in range(50):
            service.add("cpu", 0)
        service.terminate()
        self.assert_ends(service)

    def test_tasks_that_begin_meanwhile(self):
        for _ in range(5):
            service = Service("--tick-duration", "1")
            service.request(
                "POST", BASE + "/tasks/batch", {"count": 2000, "minDelay": 0, "maxDelay": 100}
            )
            service.terminate()
            self.assert_ends(service)


class Connections(ShutdownTest):
    def test_open_connections_of_all_kinds(self):
        with contextlib.ExitStack() as stack:
            service = Service(*FAST)
            clients = [stack.enter_context(service.connect()) for _ in range(40)]
            for number, client in enumerate(clients):
                if number % 4 == 1:
                    client.request("GET", "/healthz")
                elif number % 4 == 2:
                    client.send(b"GET / HT")
                elif number % 4 == 3:
                    client.send(f"GET {BASE}/events HTTP/1.1\r\nHost: a\r\n\r\n")
                    client.read_head()
            service.terminate()
            self.assert_ends(service)

    def test_client_that_reads_nothing(self):
        service = Service(*FAST)
        with service.connect() as client:
            service.request(
                "POST", BASE + "/tasks/batch", {"count": 1000, "minDelay": LONG, "maxDelay": LONG}
            )
            client.socket.settimeout(1)
            with contextlib.suppress(OSError):
                while True:
                    client.send(make_request("GET", BASE + "/tasks?limit=1000") * 50)
            service.terminate()
            self.assert_ends(service)

    def test_answer_under_way_is_sent_to_the_end(self):
        service = Service(*FAST)
        service.request(
            "POST", BASE + "/tasks/batch", {"count": 1000, "minDelay": LONG, "maxDelay": LONG}
        )
        with service.connect() as client:
            # Both ends have buffers for a part of it.
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32768)
            client.send(make_request("GET", BASE + "/tasks?limit=1000") * 100)
            client.read_answer()
            self.assertFalse(client.is_silent(PATIENCE))  # the next answer has begun
            service.terminate()
            self.assertEqual(service.process.stdout.readline(), "stopping\n")
            answers = 0
            with self.assertRaises(ConnectionEnded) as ended:
                while True:
                    answer = client.read_answer()
                    self.assertEqual(len(answer.json()["tasks"]), 1000)
                    answers += 1
            self.assertEqual(ended.exception.args[0], b"")  # nothing of another answer
            self.assertGreaterEqual(answers, 1)
        self.assertEqual(service.wait(), 0)

    def test_what_is_answered_meanwhile(self):
        service = Service(*FAST, "--shutdown-timeout", NEVER, "--task-timeout", NEVER)
        id_ = service.add("hanging", 0)
        service.wait_for_state(id_, "running")
        waiting = service.add("simple", LONG)
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(service.connect()) for _ in range(5)]
            for client in clients:
                client.request("GET", "/healthz")
            service.terminate()
            client = clients.pop()  # which is kept until then
            answer = wait_until(
                lambda: answer if (answer := client.request("GET", "/healthz")).status != 200
                else None
            )
            self.assertEqual((answer.status, answer.json()), (503, {"status": "stopping"}))
            client = clients.pop()
            answer = client.request("POST", BASE + "/tasks/sample", {})
            self.assertEqual((answer.status, answer.error["code"]), (503, "stopping"))
            self.assertEqual(answer.headers["connection"], "close")
            answer = clients.pop().request("PUT", BASE + "/schedules/a", {"period": 5})
            self.assertEqual((answer.status, answer.error["code"]), (503, "stopping"))
            # What there was can be looked at, and what hangs can be cancelled.
            answer = clients.pop().request("GET", f"{BASE}/tasks/{waiting}")
            self.assertEqual(answer.json()["state"], "cancelled")
            with self.assertRaises(ConnectionRefusedError):
                service.connect()
            self.assertEqual(
                clients.pop().request("DELETE", f"{BASE}/tasks/{id_}").status, 202
            )
            self.assert_ends(service)


class Signals(ShutdownTest):
    def test_second_one_ends_it_at_once(self):
        service = Service(*FAST, "--shutdown-timeout", NEVER, "--task-timeout", NEVER)
        service.wait_for_state(service.add("hanging", 0), "running")
        service.terminate()
        self.assertEqual(service.process.stdout.readline(), "stopping\n")
        # The second may come before the first is dealt with to the end.
        while service.process.poll() is None:
            service.terminate()
            time.sleep(0.1)
        self.assertEqual(service.wait(), 1)

    def test_nobody_reads_what_is_printed(self):
        reader, writer = os.pipe()
        process = subprocess.Popen(
            [service_fixture.PROGRAM, "--port", "0"], stdout=writer, stderr=subprocess.PIPE,
            env=clean_environment(),
        )
        os.close(writer)
        while (printed := os.read(reader, 1000)) and not printed.endswith(b"\n"):
            pass
        os.close(reader)
        process.terminate()
        _, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, errors), (0, b""))


if __name__ == "__main__":
    main()
