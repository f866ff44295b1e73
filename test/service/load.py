# SPDX-License-Identifier: BSL-1.0
"""10 000 requests over 100 connections, and every answer is right."""
import threading
import time

from service_fixture import (
    BASE, NEVER, ServiceTest, main, make_request, running_in_threads, scaled, wait_until,
)

LONG = 10**9


class Load(ServiceTest):
    ARGUMENTS = ("--tick-duration", "10", "--idle-timeout", NEVER)

    def test_every_answer_is_right(self):
        connections, threads = 100, 10
        rounds = scaled(10_000) // connections
        latencies, added = [], []
        ready = threading.Barrier(threads)

        def ask_all(number):
            """Ten connections: a request on each, then the answers of each, and so on."""
            clients = [self.service.connect() for _ in range(connections // threads)]
            ids = [None] * len(clients)
            ready.wait()
            for turn in range(rounds):
                sent = []
                for index, client in enumerate(clients):
                    delay = LONG + (number * 1000 + index) * 1000 + turn
                    kind = turn % 5
                    sent.append((kind, delay, time.monotonic()))
                    if kind == 0:
                        request = ("POST", BASE + "/tasks/sample", {"type": "slow", "delay": delay})
                    elif kind == 1:
                        request = ("GET", f"{BASE}/tasks/{ids[index]}")
                    elif kind == 2:
                        request = ("GET", BASE + "/stats")
                    elif kind == 3:
                        request = ("POST", BASE + "/tasks/sample", {"delay": -delay})
                    else:
                        request = ("DELETE", f"{BASE}/tasks/{ids[index]}")
                    client.send(make_request(*request))
                for index, client in enumerate(clients):
                    kind, delay, begun = sent[index]
                    answer = client.read_answer()
                    latencies.append(time.monotonic() - begun)
                    told = answer.json()
                    if kind == 0:
                        self.assertEqual((answer.status, told["delay"]), (201, delay))
                        ids[index] = told["taskId"]
                        added.append(told["taskId"])
                    elif kind == 1:
                        self.assertEqual(
                            (answer.status, told["id"], told["delay"], told["type"], told["state"]),
                            (200, ids[index], delay - 1, "slow", "waiting"),
                        )
                    elif kind == 2:
                        self.assertEqual(answer.status, 200)
                        self.assertGreaterEqual(told["added"], told["tasks"]["waiting"])
                    elif kind == 3:
                        self.assert_error(answer, 400, "invalid_field", "delay")
                        self.assertIn(str(-delay), told["error"]["message"])
                    else:
                        self.assertEqual(
                            (answer.status, told), (200, {"id": ids[index], "state": "cancelled"})
                        )
            for client in clients:
                client.close()

        begun = time.monotonic()
        with running_in_threads([lambda n=n: ask_all(n) for n in range(threads)]):
            pass
        needed = time.monotonic() - begun
        latencies.sort()
        count = len(latencies)
        self.assertEqual(count, rounds * connections)
        self.assertEqual(len(set(added)), len(added))
        self.assertEqual(self.service.get(BASE + "/stats")["added"], len(added))
        print(
            f"{count} requests, {connections} connections: {needed:.2f} s, {count / needed:.0f}/s, "
            f"median {latencies[count // 2] * 1000:.1f} ms, "
            f"99 % {latencies[count * 99 // 100] * 1000:.1f} ms (this client included)"
        )

    def test_requests_while_the_wheel_is_busy(self):
        count = scaled(50_000, 1000)
        done = self.service.get(BASE + "/execution-stats")["outcomes"]["completed"]
        told = self.request(
            "POST", BASE + "/stress-test", {"taskCount": count, "minDelay": 0, "maxDelay": 2000}
        ).json()
        print(f"{count} tasks created in {told['creationTime']} ms: {told['throughput']:.0f}/s")
        with self.service.connect() as client:
            def completed():
                stats = client.request("GET", BASE + "/execution-stats").json()
                return stats["outcomes"]["completed"] - done == count

            wait_until(completed, patience=300, interval=0)


if __name__ == "__main__":
    main()
