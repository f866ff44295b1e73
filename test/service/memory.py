# SPDX-License-Identifier: BSL-1.0
"""Memory is bounded, however many tasks there were and whoever listens."""
import contextlib
import socket
import time

from service_fixture import BASE, SCALE, Service, ServiceTest, main, scaled, wait_until

MIB = 1 << 20


class MemoryTest(ServiceTest):
    def assert_small(self, grown, most):
        if SCALE == 1:  # a sanitizer keeps what is freed
            self.assertLess(grown, most)


class History(MemoryTest):
    def test_a_million_tasks_with_flat_memory(self):
        total, batch, history = scaled(1_000_000, 40_000), 20_000, 5_000
        with Service("--tick-duration", "5", "--history-size", str(history),
                     "--queue-size", "100000") as service, service.connect() as client:

            def run(count):
                nonlocal done
                answer = client.request(
                    "POST", BASE + "/stress-test",
                    {"taskCount": count, "minDelay": 0, "maxDelay": 20},
                )
                self.assertEqual(answer.status, 201, answer)
                done += count
                wait_until(
                    lambda: client.request("GET", BASE + "/execution-stats").json()["total"] == done,
                    patience=300,
                )

            done = 0
            begun = time.monotonic()
            while done < max(total // 4, 2 * batch):
                run(batch)  # what is kept for the largest number at a time is there now
            warm, early = done, service.resident_bytes()
            while done < total:
                run(min(batch, total - done))
            late = service.resident_bytes()
            needed = time.monotonic() - begun
            stats = client.request("GET", BASE + "/execution-stats").json()
            self.assertEqual(stats["outcomes"]["completed"], done)
            shown = client.request("GET", BASE + "/stats").json()["tasks"]
            self.assertEqual((shown["completed"], shown["waiting"]), (history, 0))
            oldest = client.request("GET", BASE + "/tasks?limit=1").json()["tasks"][0]
            self.assertEqual(client.request("GET", f"{BASE}/tasks/1").status, 404)
            self.assertGreater(int(oldest["id"]), done - history - 2 * batch)
            print(
                f"{done} tasks in {needed:.1f} s; resident: {early / MIB:.1f} MiB after "
                f"{warm}, {late / MIB:.1f} MiB after all"
            )
            self.assert_small(late - early, 16 * MIB)

    def test_ring_keeps_the_last(self):
        with Service("--tick-duration", "5", "--history-size", "3") as service:
            ids = []
            for _ in range(6):
                ids.append(service.add("simple", 0))
                service.wait_for_state(ids[-1], "completed")
            shown = [each["id"] for each in service.get(BASE + "/tasks")["tasks"]]
            self.assertEqual(shown, ids[3:])
            waiting = service.add("simple", 10**9)
            self.assertEqual(service.task(waiting)["state"], "waiting")
            self.assertEqual(len(service.get(BASE + "/tasks")["tasks"]), 4)


class Clients(MemoryTest):
    def test_listeners_that_do_not_read_share_one_event(self):
        count = scaled(200, 50)
        with Service() as service:
            service.get("/healthz")
            before = service.resident_bytes()
            with contextlib.ExitStack() as stack:
                clients = [stack.enter_context(service.connect()) for _ in range(count)]
                for client in clients:
                    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                    client.send(f"GET {BASE}/events HTTP/1.1\r\nHost: a\r\n\r\n")
                # One that reads tells when the others have got their events.
                reader = stack.enter_context(service.connect())
                reader.send(f"GET {BASE}/events HTTP/1.1\r\nHost: a\r\n\r\n")
                for _ in range(8):
                    reader.read_until(b"\n\n")
                grown = service.resident_bytes() - before
            self.assert_small(grown, 4 * MIB + count * 64 * 1024)

    def test_requests_and_connections_leave_nothing(self):
        with Service() as service:
            def use(count):
                for _ in range(count):
                    with service.connect() as client:
                        client.request("POST", BASE + "/tasks/sample", {"delay": "x" * 30_000})
                        client.request("GET", BASE + "/tasks")
                        client.send(b"GET / HTTP/1.1\r\nX: " + b"x" * 4000)

            use(300)
            before = service.resident_bytes()
            use(scaled(1500, 300))
            self.assert_small(service.resident_bytes() - before, 8 * MIB)


if __name__ == "__main__":
    main()
