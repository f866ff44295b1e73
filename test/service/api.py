# SPDX-License-Identifier: BSL-1.0
"""Each endpoint does what it says."""
import json
import re
import unittest

from service_fixture import BASE, NEVER, Service, ServiceTest, main, wait_until

STATES = ["waiting", "running", "completed", "failed", "cancelled", "timed_out", "dropped"]
LONG = 3_600_000


class Documents(ServiceTest):
    def test_page_and_its_parts(self):
        for target, content_type in [
            ("/", "text/html; charset=utf-8"),
            ("/style.css", "text/css; charset=utf-8"),
            ("/script.js", "text/javascript; charset=utf-8"),
        ]:
            answer = self.request("GET", target)
            self.assertEqual(answer.status, 200)
            self.assertEqual(answer.headers["content-type"], content_type)
            answer.body.decode("utf-8")

    def test_health(self):
        answer = self.request("GET", "/healthz")
        self.assertEqual((answer.status, answer.json()), (200, {"status": "ok"}))
        self.assertEqual(answer.headers["cache-control"], "no-store")
        self.assertEqual(answer.headers["x-content-type-options"], "nosniff")

    def test_head_is_get_without_the_body(self):
        for target in ["/", "/healthz", BASE + "/schedules", BASE + "/tasks/0", "/nothing"]:
            whole = self.request("GET", target)
            with self.service.connect() as client:
                head = client.request("HEAD", target)
                self.assertEqual(head.status, whole.status)
                for name in ["content-type", "content-length"]:
                    self.assertEqual(head.headers[name], whole.headers[name])
                # The connection goes on where the body would have been.
                self.assertEqual(client.request("GET", "/healthz").json(), {"status": "ok"})

    def test_options_tells_the_methods(self):
        for target, methods in [
            ("/healthz", "GET, HEAD, OPTIONS"),
            (BASE + "/tasks/sample", "GET, HEAD, POST, DELETE, OPTIONS"),
            (BASE + "/schedules/a", "GET, HEAD, PUT, DELETE, OPTIONS"),
            ("*", "GET, HEAD, POST, PUT, DELETE, OPTIONS"),
        ]:
            answer = self.request("OPTIONS", target)
            self.assertEqual(answer.status, 204)
            told = answer.headers["allow"].split(", ")
            self.assertLessEqual(set(told), set(methods.split(", ")))
            self.assertIn("OPTIONS", told)

    def test_target_may_be_absolute_or_encoded(self):
        for target in [
            "/%68ealthz", "/healthz?", "/healthz?what=ever", "http://test/healthz",
            f"http://{self.service.address[0]}:{self.service.address[1]}/healthz?a",
        ]:
            self.assertEqual(self.request("GET", target).status, 200, target)

    def test_versions_of_http(self):
        with self.service.connect() as client:
            client.send("GET /healthz HTTP/1.0\r\n\r\n")
            answer = client.read_answer()
            self.assertEqual((answer.status, answer.version), (200, "HTTP/1.0"))
            self.assertTrue(client.is_at_end())
        with self.service.connect() as client:
            for _ in range(3):
                answer = client.request(
                    "GET", "/healthz", headers=["Connection: keep-alive"], version="1.0"
                )
                self.assertEqual(answer.headers["connection"].lower(), "keep-alive")
        with self.service.connect() as client:
            answer = client.request("GET", "/healthz", headers=["Connection: close"])
            self.assertEqual(answer.headers["connection"], "close")
            self.assertTrue(client.is_at_end())


class Tasks(ServiceTest):
    # What is not to time out has a multiple of its time.
    ARGUMENTS = ("--tick-duration", "5", "--task-timeout", "1500")

    def test_sample_has_defaults(self):
        for body in [None, "", {}, {"type": None, "delay": None, "repeat": None}]:
            answer = self.request("POST", BASE + "/tasks/sample", body)
            self.assertEqual(answer.status, 201)
            told = answer.json()
            self.assertRegex(told.pop("taskId"), r"^\d+$")
            self.assertEqual(
                told,
                {"type": "simple", "delay": 1000, "message": "Task created successfully"},
            )

    def test_body_is_json_whatever_its_content_type(self):
        for content_type in ["application/x-www-form-urlencoded", "text/plain", "application/json"]:
            answer = self.request(
                "POST", BASE + "/tasks/sample", ' {"delay" : 5}\n', [f"Content-Type: {content_type}"]
            )
            self.assertEqual((answer.status, answer.json()["delay"]), (201, 5))

    def test_whole_numbers_may_be_written_as_floats(self):
        for text, delay in [("1e2", 100), ("20.0", 20), ("0.5e1", 5), ("-0", 0), ("-0.0", 0)]:
            answer = self.request("POST", BASE + "/tasks/sample", '{"delay":%s}' % text)
            self.assertEqual((answer.status, answer.json()["delay"]), (201, delay), answer)
            self.assertIn(b'"delay":%d,' % delay, answer.body)

    def test_last_of_two_equal_fields_counts(self):
        answer = self.request("POST", BASE + "/tasks/sample", '{"delay":1,"delay":2}')
        self.assertEqual(answer.json()["delay"], 2)

    def test_each_type_ends_as_it_should(self):
        for type_, state in [
            ("simple", "completed"),
            ("cpu", "completed"),
            ("failing", "failed"),
            ("hanging", "timed_out"),
        ]:
            before = self.service.get(BASE + "/execution-stats")["outcomes"][state]
            id_ = self.service.add(type_, 10)
            task = self.service.wait_for_state(id_, *STATES[2:])
            self.assertEqual(task["state"], state, task)
            self.assertEqual((task["id"], task["type"], task["delay"]), (id_, type_, 10))
            self.assertEqual((task["runs"], task["progress"], task["remaining"]), (1, 1, 0))
            self.assertEqual("error" in task, state != "completed")
            self.assertGreaterEqual(task["startedAt"], task["dueAt"] - 1)
            self.assertGreaterEqual(task["finishedAt"], task["startedAt"])
            if type_ == "hanging":
                self.assertGreaterEqual(task["duration"], 1500)
            after = self.service.get(BASE + "/execution-stats")["outcomes"][state]
            self.assertGreater(after, before)

    def test_progress_of_a_waiting_task(self):
        id_ = self.service.add("simple", LONG)
        task = self.service.task(id_)
        self.assertEqual((task["state"], task["runs"]), ("waiting", 0))
        self.assertLess(task["progress"], 0.1)
        self.assertLessEqual(task["remaining"], LONG)
        self.assertGreater(task["remaining"], LONG - 300_000)
        self.assertEqual(task["dueAt"] - task["createdAt"], LONG)
        later = wait_until(
            lambda: t if (t := self.service.task(id_))["remaining"] < task["remaining"] else None
        )
        self.assertGreaterEqual(later["progress"], task["progress"])
        short = self.service.add("simple", 400)
        seen = []
        wait_until(lambda: seen.append(self.service.task(short)) or seen[-1]["runs"], interval=0.01)
        progress = [each["progress"] for each in seen]
        self.assertEqual(progress, sorted(progress))

    def test_slow_takes_two_seconds(self):
        with Service("--tick-duration", "5") as service:
            task = service.wait_for_state(service.add("slow", 0), "completed")
            self.assertGreaterEqual(task["duration"], 2000)

    def test_running_task_is_shown(self):
        with Service("--tick-duration", "5", "--task-timeout", NEVER) as service:
            id_ = service.add("hanging", 0)
            task = service.wait_for_state(id_, "running")
            self.assertEqual((task["runs"], task["remaining"]), (1, 0))
            self.assertNotIn("finishedAt", task)
            listed = service.get(BASE + "/tasks?state=running")["tasks"]
            self.assertEqual([each["id"] for each in listed], [id_])
            self.assertEqual(service.get(BASE + "/stats")["running"], 1)

    def test_batch(self):
        answer = self.request("POST", BASE + "/tasks/batch")
        told = answer.json()
        self.assertEqual((answer.status, told["count"], len(told["taskIds"])), (201, 10, 10))
        self.assertEqual(told["message"], "Batch tasks created successfully")
        for id_ in told["taskIds"]:
            self.assertTrue(1000 <= self.service.task(id_)["delay"] <= 10_000)
        told = self.request(
            "POST", BASE + "/tasks/batch", {"count": 50, "minDelay": 7, "maxDelay": 7}
        ).json()
        self.assertEqual(len(set(told["taskIds"])), 50)
        for id_ in told["taskIds"]:
            self.assertEqual(self.service.wait_for_state(id_, "completed")["delay"], 7)

    def test_stress_test_tells_time_and_throughput(self):
        answer = self.request("POST", BASE + "/stress-test")
        told = answer.json()
        self.assertEqual((answer.status, told["taskCount"]), (201, 1000))
        self.assertEqual(told["message"], "Stress test completed successfully")
        self.assertGreater(told["creationTime"], 0)
        self.assertAlmostEqual(
            told["throughput"], 1000 / told["creationTime"] * 1000, delta=told["throughput"] * 0.01
        )
        told = self.request(
            "POST", BASE + "/stress-test", {"taskCount": 1, "minDelay": 0, "maxDelay": 0}
        ).json()
        self.assertEqual(told["taskCount"], 1)
        self.assertGreater(told["throughput"], 0)

    def test_list_is_in_pages(self):
        with Service("--tick-duration", "5") as service:
            self.assertEqual(service.get(BASE + "/tasks"), {"tasks": []})
            ids = [service.add("simple", LONG) for _ in range(7)]
            done = service.add("simple", 0)
            service.wait_for_state(done, "completed")
            ids.append(done)
            ids.append(service.add("simple", LONG))

            def pages(query):
                found, after = [], "0"
                while True:
                    page = service.get(f"{BASE}/tasks?{query}&after={after}")
                    found.append([each["id"] for each in page["tasks"]])
                    if "next" not in page:
                        return found
                    after = page["next"]

            self.assertEqual(sum(pages("limit=4"), []), ids)
            self.assertEqual([len(page) for page in pages("limit=4")], [4, 4, 1])
            self.assertEqual(sum(pages("limit=3&state=waiting"), []), ids[:7] + ids[8:])
            self.assertEqual(pages("state=completed"), [[done]])
            self.assertEqual(pages("limit=0"), [[]])
            self.assertEqual(pages("state=failed"), [[]])
            for state in STATES:
                pages(f"state={state}")

    def test_list_has_a_hundred_unless_told(self):
        with Service() as service:
            service.request(
                "POST", BASE + "/tasks/batch", {"count": 120, "minDelay": LONG, "maxDelay": LONG}
            )
            page = service.get(BASE + "/tasks")
            self.assertEqual((len(page["tasks"]), page["next"]), (100, "100"))
            self.assertEqual(len(service.get(BASE + "/tasks?limit=1000")["tasks"]), 120)

    def test_cancel_in_each_state(self):
        waiting = self.service.add("simple", LONG)
        answer = self.request("DELETE", f"{BASE}/tasks/{waiting}")
        self.assertEqual((answer.status, answer.json()), (200, {"id": waiting, "state": "cancelled"}))
        task = self.service.task(waiting)
        self.assertEqual((task["state"], task["runs"], task["remaining"]), ("cancelled", 0, 0))
        self.assertLess(task["progress"], 0.1)  # it did not come any further
        self.assertNotIn("duration", task)
        self.assertNotIn("startedAt", task)

        with Service("--tick-duration", "5", "--task-timeout", NEVER) as service:
            running = service.add("hanging", 0)
            service.wait_for_state(running, "running")
            answer = service.request("DELETE", f"{BASE}/tasks/{running}")
            self.assertEqual(
                (answer.status, answer.json()), (202, {"id": running, "state": "running"})
            )
            service.wait_for_state(running, "cancelled")

        for type_, state in [("simple", "completed"), ("failing", "failed"),
                             ("hanging", "timed_out")]:
            id_ = self.service.add(type_, 0)
            self.service.wait_for_state(id_, state)
            self.assert_error(
                self.request("DELETE", f"{BASE}/tasks/{id_}"), 409, "already_finished"
            )
        self.assert_error(self.request("DELETE", f"{BASE}/tasks/{waiting}"), 409, "already_finished")
        self.assert_error(self.request("DELETE", f"{BASE}/tasks/999999999"), 404, "not_found")

    def test_cancel_in_the_workers_queue(self):
        with Service("--tick-duration", "5", "--worker-threads", "1") as service:
            # One worker has always something to do; whatever is behind that can be cancelled.
            for _ in range(50):
                service.add("cpu", 0, repeat=1)
            last = service.add("simple", 0)
            wait_until(lambda: service.get(BASE + "/stats")["queued"])
            answer = service.request("DELETE", f"{BASE}/tasks/{last}")
            if answer.status == 200:
                self.assertEqual(service.task(last)["state"], "cancelled")
            elif answer.status != 202:  # it was just begun
                self.assert_error(answer, 409, "already_finished")

    def test_tasks_that_are_due_at_once_are_never_lost(self):
        ids = [self.service.add("simple", 0) for _ in range(200)]
        for id_ in ids:
            self.assertEqual(self.service.wait_for_state(id_, "completed")["runs"], 1)

    def test_cleanup_drops_the_finished(self):
        with Service("--tick-duration", "5") as service:
            waiting = service.add("simple", LONG)
            done = [service.add(type_, 0) for type_ in ["simple", "failing", "simple"]]
            for id_ in done:
                service.wait_for_state(id_, "completed", "failed")
            self.assertEqual(
                service.request("POST", BASE + "/tasks/cleanup").json(), {"removed": 3}
            )
            self.assertEqual(service.request("GET", f"{BASE}/tasks/{done[0]}").status, 404)
            self.assertEqual(service.task(waiting)["state"], "waiting")
            self.assertEqual(
                service.request("POST", BASE + "/tasks/cleanup").json(), {"removed": 0}
            )
            # What has happened is still counted.
            self.assertEqual(service.get(BASE + "/execution-stats")["total"], 3)

    def test_number_in_the_path_may_not_be_anything_else(self):
        id_ = self.service.add("simple", LONG)
        self.assertEqual(self.service.task("%3" + id_[0] + id_[1:])["id"], id_)


class Repeating(ServiceTest):
    ARGUMENTS = ("--tick-duration", "5")

    def wait_for_runs(self, id_, runs):
        return wait_until(
            lambda: task if (task := self.service.task(id_))["runs"] >= runs else None
        )

    def test_runs_until_it_is_cancelled(self):
        answer = self.request("POST", BASE + "/tasks/sample", {"delay": 10, "repeat": 20})
        self.assertEqual((answer.status, answer.json()["repeat"]), (201, 20))
        id_ = answer.json()["taskId"]
        task = self.wait_for_runs(id_, 3)
        self.assertIn(task["state"], ["waiting", "running"])
        self.assertEqual((task["repeat"], task["delay"]), (20, 10))
        wait_until(lambda: self.service.task(id_)["state"] == "waiting")
        self.assertIn(
            self.request("DELETE", f"{BASE}/tasks/{id_}").status, [200, 202]
        )
        runs = self.service.wait_for_state(id_, "cancelled")["runs"]
        self.service.let_pass(100)
        self.assertEqual(self.service.task(id_)["runs"], runs)

    def test_goes_on_after_a_failure(self):
        id_ = self.service.add("failing", 0, repeat=10)
        task = self.wait_for_runs(id_, 3)
        self.assertIn(task["state"], ["waiting", "running"])
        self.assertTrue(task["error"])
        self.request("DELETE", f"{BASE}/tasks/{id_}")
        self.service.wait_for_state(id_, "cancelled")

    def test_cancel_between_runs_takes_no_time_for_a_run(self):
        with Service("--tick-duration", "5") as service:
            id_ = service.add("simple", 0, repeat=LONG)
            ran = wait_until(
                lambda: task if (task := service.task(id_))["runs"] and task["state"] == "waiting"
                else None
            )
            self.assertGreater(ran["remaining"], LONG - 300_000)
            self.assertLess(ran["progress"], 0.1)
            # By now, the time since the run could not be taken for the time that it took.
            service.let_pass(int(ran["duration"]) + 100)
            service.request("DELETE", f"{BASE}/tasks/{id_}")
            task = service.task(id_)
            self.assertEqual((task["state"], task["runs"]), ("cancelled", 1))
            self.assertEqual(task["duration"], ran["duration"])
            durations = service.get(BASE + "/execution-stats")["duration"]
            self.assertEqual(durations["count"], 2)  # with the one that was waited for

    def test_cancel_while_it_runs_ends_it(self):
        with Service("--tick-duration", "5", "--task-timeout", NEVER) as service:
            id_ = service.add("hanging", 0, repeat=10)
            service.wait_for_state(id_, "running")
            self.assertEqual(service.request("DELETE", f"{BASE}/tasks/{id_}").status, 202)
            self.assertEqual(service.wait_for_state(id_, "cancelled")["runs"], 1)

    def test_cancelled_also_if_the_last_run_is_completed(self):
        for _ in range(5):
            id_ = self.service.add("cpu", 0, repeat=1)
            self.service.wait_for_state(id_, "running")
            self.request("DELETE", f"{BASE}/tasks/{id_}")
            task = self.service.wait_for_state(id_, *STATES[2:])
            self.assertEqual(task["state"], "cancelled")

    def test_hanging_waits_again_after_the_timeout(self):
        with Service("--tick-duration", "5", "--task-timeout", "50") as service:
            id_ = service.add("hanging", 0, repeat=10)
            wait_until(lambda: service.task(id_)["runs"] >= 3)
            self.assertGreaterEqual(service.get(BASE + "/execution-stats")["outcomes"]["timed_out"], 2)


class Statistics(ServiceTest):
    ARGUMENTS = ("--tick-duration", "5", "--task-timeout", "1000")

    def test_stats_count(self):
        with Service("--tick-duration", "20") as service:
            stats = service.get(BASE + "/stats")
            self.assertEqual(stats["tickDuration"], 20)
            self.assertEqual(stats["tasks"], dict.fromkeys(STATES, 0))
            service.add("simple", LONG)
            done = service.add("simple", 0)
            service.wait_for_state(done, "completed")
            stats = service.get(BASE + "/stats")
            self.assertEqual((stats["added"], stats["executed"], stats["pending"]), (2, 1, 1))
            self.assertEqual((stats["tasks"]["waiting"], stats["tasks"]["completed"]), (1, 1))

    def test_execution_stats(self):
        for type_, state in [("simple", "completed"), ("failing", "failed"),
                             ("hanging", "timed_out")]:
            self.service.wait_for_state(self.service.add(type_, 0), state)
        cancelled = self.service.add("simple", LONG)
        self.request("DELETE", f"{BASE}/tasks/{cancelled}")
        stats = self.service.get(BASE + "/execution-stats")
        self.assertEqual(stats["outcomes"].keys(), set(STATES[2:]))
        self.assertEqual(stats["total"], sum(stats["outcomes"].values()))
        self.assertEqual(
            stats["outcomes"],
            {"completed": 1, "failed": 1, "timed_out": 1, "cancelled": 1, "dropped": 0},
        )
        for name in ["duration", "lateness"]:
            spread = stats[name]
            self.assertEqual(spread["count"], 3)
            self.assertLessEqual(spread["p50"], spread["p90"])
            self.assertLessEqual(spread["p90"], spread["p99"])
            self.assertLessEqual(spread["p99"], spread["max"])
        self.assertGreaterEqual(stats["duration"]["max"], 1000)
        wait_until(
            lambda: self.service.get(BASE + "/execution-stats")["throughput"] > 0
            or self.service.add("simple", 0) and False,
            interval=0.3,
        )

    def test_numbers_are_plain(self):
        self.service.add("simple", 2500)
        for target in ["/stats", "/execution-stats", "/tasks"]:
            body = self.request("GET", BASE + target).body.decode()
            self.assertIsNone(re.search(r'[:\[,]-?[0-9.]+[eE]', body), body)


class Queue(ServiceTest):
    def test_drop_tells_what_was_dropped(self):
        with Service("--tick-duration", "5", "--worker-threads", "1", "--queue-size", "1",
                     "--queue-policy", "drop") as service:
            ids = service.request(
                "POST", BASE + "/tasks/batch", {"count": 200, "minDelay": 50, "maxDelay": 50}
            ).json()["taskIds"]
            states = {service.wait_for_state(id_, *STATES[2:])["state"] for id_ in ids}
            self.assertLessEqual(states, {"completed", "dropped"})
            outcomes = service.get(BASE + "/execution-stats")["outcomes"]
            self.assertEqual(outcomes["completed"] + outcomes["dropped"], 200)
            self.assertEqual(service.get(BASE + "/stats")["dropped"], outcomes["dropped"])

    def test_block_and_run_inline_run_all(self):
        for policy in ["block", "run_inline"]:
            with Service("--tick-duration", "5", "--worker-threads", "1", "--queue-size", "1",
                         "--queue-policy", policy) as service:
                service.request(
                    "POST", BASE + "/tasks/batch", {"count": 300, "minDelay": 0, "maxDelay": 20}
                )
                wait_until(
                    lambda: service.get(BASE + "/execution-stats")["outcomes"]["completed"] == 300
                )


class Events(ServiceTest):
    ARGUMENTS = ("--tick-duration", "5")

    def read_event(self, client):
        text = client.read_until(b"\n\n").decode("utf-8")
        self.assertTrue(text.startswith("data: "), text)
        return json.loads(text[len("data: "):])

    def test_listener_is_told_again_and_again(self):
        for target in [BASE + "/events", BASE + "/events?x=1"]:
            with self.service.connect() as client:
                client.send(f"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")
                status, _, headers = client.read_head()
                self.assertEqual((status, headers["content-type"]), (200, "text/event-stream"))
                for _ in range(3):
                    event = self.read_event(client)
                    self.assertLessEqual(
                        {"stats", "execution", "rings", "latest", "connections"}, event.keys()
                    )
                    self.assertEqual(len(event["rings"]["slots"]), 3)
                id_ = self.service.add("simple", 0)
                while id_ not in [each["id"] for each in self.read_event(client)["latest"]]:
                    pass

    def test_head_and_other_methods(self):
        answer = self.request("HEAD", BASE + "/events")
        self.assertEqual((answer.status, answer.headers["content-type"]), (200, "text/event-stream"))
        answer = self.request("POST", BASE + "/events", {})
        self.assert_error(answer, 405, "method_not_allowed")

    def test_many_listeners_hear_the_same(self):
        clients = [self.service.connect() for _ in range(50)]
        try:
            for client in clients:
                client.send(f"GET {BASE}/events HTTP/1.1\r\nHost: a\r\n\r\n")
            for client in clients:
                client.read_head()
                self.assertGreaterEqual(self.read_event(client)["connections"], 1)
        finally:
            for client in clients:
                client.close()
        self.service.wait_for_no_connections()


if __name__ == "__main__":
    main()
