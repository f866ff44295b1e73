# SPDX-License-Identifier: BSL-1.0
"""Connections: pipelining, half-closed, slow and silent clients, too many of them, time-outs."""
import contextlib
import json
import socket
import time
import unittest

from service_fixture import (
    BASE, NEVER, PATIENCE, SCALE, ConnectionEnded, Service, ServiceTest, main, make_request,
    running_in_threads, scaled, wait_until,
)

SAMPLE = BASE + "/tasks/sample"


class Connections(ServiceTest):
    ARGUMENTS = ("--idle-timeout", NEVER, "--request-timeout", NEVER)

    def test_keep_alive(self):
        with self.service.connect() as client:
            for _ in range(100):
                self.assertEqual(client.request("GET", "/healthz").status, 200)
                self.assertEqual(client.request("GET", "/nothing").status, 404)
                self.assertEqual(client.request("POST", SAMPLE, {"delay": -1}).status, 400)

    def test_pipelined_requests_are_answered_in_order(self):
        count = 500
        with self.service.connect() as client:
            client.send(
                b"".join(
                    make_request("POST", SAMPLE, {"delay": 1_000_000 + i}) + make_request("GET", f"/{i}")
                    for i in range(count)
                )
            )
            for i in range(count):
                self.assertEqual(client.read_answer().json()["delay"], 1_000_000 + i)
                self.assertEqual(client.read_answer().status, 404)

    def test_nothing_is_answered_after_the_last_request(self):
        with self.service.connect() as client:
            client.send(
                make_request("GET", "/healthz")
                + make_request("GET", "/healthz", headers=["Connection: close"])
                + make_request("POST", SAMPLE, {})
            )
            client.read_answer()
            self.assertEqual(client.read_answer().headers["connection"], "close")
            self.assertTrue(client.is_at_end())

    def test_error_does_not_take_back_earlier_answers(self):
        with self.service.connect() as client:
            client.send(make_request("GET", "/healthz") * 10 + b"nonsense\r\n\r\n" + b"x" * 100_000)
            for _ in range(10):
                self.assertEqual(client.read_answer().status, 200)
            self.assert_error(client.read_answer(), 400, "invalid_request")
            self.assertTrue(client.is_at_end())

    def test_half_closed_client_gets_all_its_answers(self):
        with self.service.connect() as client:
            client.send(make_request("GET", BASE + "/stats") * 50)
            client.socket.shutdown(socket.SHUT_WR)
            for _ in range(50):
                self.assertEqual(client.read_answer().status, 200)
            self.assertTrue(client.is_at_end())

    def test_request_byte_by_byte(self):
        data = make_request("POST", SAMPLE, {"delay": 5}, headers=["Accept: */*"])
        with self.service.connect() as client:
            for i in range(len(data)):
                client.send(data[i : i + 1])
                if i % 16 == 0:
                    time.sleep(0.001)  # the service gets what there is, in pieces
            self.assertEqual(client.read_answer().status, 201)

    def test_closed_and_reset_connections_are_forgotten(self):
        for data in [b"", b"GET", make_request("GET", "/healthz")]:
            for reset in [False, True]:
                client = self.service.connect()
                client.send(data)
                if reset:
                    client.socket.setsockopt(
                        socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0"
                    )
                client.close()
        self.service.wait_for_no_connections()

    def test_slow_clients_do_not_stall_the_wheel(self):
        clients = [self.service.connect() for _ in range(100)]
        try:
            for number, client in enumerate(clients):
                client.send(make_request("POST", SAMPLE, "x" * 50_000)[: 100 + number * 100])
            ids = [self.service.add("simple", 20) for _ in range(50)]
            for id_ in ids:
                self.service.wait_for_state(id_, "completed")
        finally:
            for client in clients:
                client.close()
        self.service.wait_for_no_connections()


class Slow(ServiceTest):
    # A multiple of what a request takes that is not meant to be slow.
    ARGUMENTS = ("--tick-duration", "5", "--idle-timeout", "3000", "--request-timeout", "2000",
                 "--body-limit", "100000")

    def test_silent_connection_is_closed(self):
        with self.service.connect() as other, self.service.connect() as client:
            client.request("GET", "/healthz")
            self.assertTrue(other.is_at_end())
            self.assertTrue(client.is_at_end())

    def test_half_a_request_is_told_so(self):
        with contextlib.ExitStack() as stack:
            clients = []
            for data in [b"G", b"GET / HTTP/1.1\r\n", make_request("POST", SAMPLE, "x" * 10)[:-1]]:
                clients.append(stack.enter_context(self.service.connect()))
                clients[-1].send(data)
            for client in clients:
                answer = client.read_answer()
                self.assert_error(answer, 408, "timeout")
                self.assertEqual(answer.headers["connection"], "close")
                self.assertTrue(client.is_at_end())

    def test_drops_do_not_help(self):
        # Neither a header nor a body may take longer in all than the request timeout.
        for begin, drop in [
            (b"GET / HTTP/1.1\r\n", b"A: b\r\n"),
            (f"POST {SAMPLE} HTTP/1.1\r\nHost: a\r\nContent-Length: 90000\r\n\r\n".encode(), b" "),
        ]:
            with self.service.connect() as client:
                client.send(begin)
                deadline = time.monotonic() + PATIENCE
                while client.is_silent(0.05):
                    client.send(drop)
                    self.assertLess(time.monotonic(), deadline)
                self.assert_error(client.read_answer(), 408, "timeout")

    def test_silence_within_a_request_is_told_as_well(self):
        with Service("--idle-timeout", "1000", "--request-timeout", NEVER) as service:
            with service.connect() as client:
                client.send(b"GET / HT")
                self.assert_error(client.read_answer(), 408, "timeout")
                self.assertTrue(client.is_at_end())

    def test_what_goes_on_slowly_is_not_silent(self):
        data = make_request("GET", "/healthz", headers=["X: " + "x" * 50])

        def status(client):
            begun = time.monotonic()
            for i in range(0, len(data), 4):
                client.send(data[i : i + 4])
                time.sleep(0.05)
            self.assertGreater(time.monotonic() - begun, 1)
            return client.read_answer().status

        def is_answered():
            # A machine that lets this client sleep for a second makes it silent: it tries again.
            with service.connect() as client, contextlib.suppress(ConnectionError, ConnectionEnded):
                answered = status(client)
                self.assertIn(answered, [200, 408])
                return answered == 200

        with Service("--idle-timeout", "1000", "--request-timeout", NEVER) as service:
            wait_until(is_answered, "the answer to a request in many pieces")

    def test_client_that_does_not_read_is_given_up(self):
        self.request(
            "POST", BASE + "/tasks/batch", {"count": 2000, "minDelay": 10**9, "maxDelay": 10**9}
        )
        with self.service.connect() as client:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            with contextlib.suppress(ConnectionError, socket.timeout):
                client.socket.settimeout(5)
                for _ in range(10_000):
                    client.send(make_request("GET", BASE + "/tasks?limit=1000"))
            self.service.wait_for_no_connections()

    def test_listener_that_does_not_read_is_given_up(self):
        clients = [self.service.connect() for _ in range(5)]
        try:
            for client in clients:
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                client.send(f"GET {BASE}/events HTTP/1.1\r\nHost: a\r\n\r\n")
            # Events have to fill what the system holds for each of them first.
            self.service.wait_for_no_connections(patience=300)
        finally:
            for client in clients:
                client.close()


class Many(ServiceTest):
    def test_too_many_connections(self):
        with Service("--max-connections", "5") as service:
            with contextlib.ExitStack() as stack:
                clients = [stack.enter_context(service.connect()) for _ in range(5)]
                for client in clients:
                    self.assertEqual(client.request("GET", "/healthz").status, 200)
                for _ in range(20):
                    with service.connect() as refused:
                        refused.send(make_request("POST", SAMPLE, "x" * 10_000))
                        answer = refused.read_answer()
                        self.assert_error(answer, 503, "too_many_connections")
                        self.assertEqual(answer.headers["connection"], "close")
                        self.assertTrue(refused.is_at_end())
                for client in clients:
                    self.assertEqual(client.request("GET", "/healthz").status, 200)
            wait_until(
                lambda: service.request("GET", "/healthz").status == 200, "room for a connection"
            )

    def test_flood_of_refused_connections_is_cut(self):
        with Service("--max-connections", "1") as service:
            with service.connect() as first:
                first.request("GET", "/healthz")
                clients = [service.connect() for _ in range(300)]
                told = 0
                for client in clients:
                    try:
                        told += client.read_answer().status == 503
                    except (ConnectionEnded, ConnectionError):
                        pass
                self.assertGreaterEqual(told, 50)
                self.assertEqual(first.request("GET", "/healthz").status, 200)
                for client in clients:
                    client.close()

    def test_a_thousand_connections_that_stay(self):
        count = scaled(1000, 100)
        with Service("--idle-timeout", NEVER) as service, contextlib.ExitStack() as stack:
            clients = [stack.enter_context(service.connect()) for _ in range(count)]
            for turn in range(3):
                for client in clients:
                    client.send(make_request("POST", SAMPLE, {"delay": 10**9 + turn}))
                ids = [int(client.read_answer().json()["taskId"]) for client in clients]
                self.assertEqual(
                    sorted(ids), list(range(turn * count + 1, (turn + 1) * count + 1))
                )
            for client in clients:
                self.assertEqual(client.request("GET", "/healthz").status, 200)
            text = service.request("GET", "/metrics").body.decode()
            self.assertIn(f"timewheel_http_connections {count + 1}\n", text)
            self.assertEqual(service.get(BASE + "/stats")["pending"], 3 * count)

    # A sanitizer needs descriptors of its own to look at memory.
    @unittest.skipIf(SCALE < 1, "not with a sanitizer")
    def test_descriptors_are_raised_or_said_to_be_few(self):
        # With a low limit of open files, connections wait; the service goes on.
        import resource  # pylint: disable=import-outside-toplevel
        import subprocess  # pylint: disable=import-outside-toplevel

        import service_fixture  # pylint: disable=import-outside-toplevel

        limited = subprocess.Popen(
            [service_fixture.PROGRAM, "--port", "0", "--max-connections", "500"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60)),
        )
        try:
            address = ("127.0.0.1", int(limited.stdout.readline().split(":")[2].rstrip("/\n")))
            clients = [socket.create_connection(address, timeout=PATIENCE) for _ in range(100)]
            for each in clients[:30]:
                each.sendall(make_request("GET", "/healthz"))
                self.assertIn(b"200 OK", each.recv(4096))
            for each in clients[:60]:
                each.close()
            for each in clients[60:]:
                each.sendall(make_request("GET", "/healthz", headers=["Connection: close"]))
                self.assertIn(b"200 OK", each.recv(4096))
                each.close()
            limited.terminate()
            _, errors = limited.communicate(timeout=PATIENCE)
            self.assertEqual(limited.returncode, 0)
            self.assertIn("max-connections: the system allows 60 open files", errors)
        finally:
            if limited.poll() is None:
                limited.kill()
                limited.communicate()

    def test_long_extension_of_a_chunk_has_a_limit(self):
        answer = self.service.exchange(
            f"POST {SAMPLE} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2;".encode()
            + b"x" * 5_000_000
        )
        self.assertIn(answer.status, [400, 431])
        self.assertIn("code", answer.error)

    def test_answers_are_whole_when_many_ask_at_once(self):
        def ask():
            with self.service.connect() as client:
                for _ in range(20):
                    body = client.request("GET", BASE + "/tasks?limit=1000").body
                    json.loads(body)

        self.request(
            "POST", BASE + "/tasks/batch", {"count": 300, "minDelay": 10**9, "maxDelay": 10**9}
        )
        with running_in_threads([ask] * 8):
            pass


if __name__ == "__main__":
    main()
