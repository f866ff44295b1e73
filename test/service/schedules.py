# SPDX-License-Identifier: BSL-1.0
"""Schedules by key, with cron or a period."""
import time
import urllib.parse

from service_fixture import BASE, Service, ServiceTest, main, wait_until

SCHEDULES = BASE + "/schedules"
LONG = 3_600_000


def at(key):
    return SCHEDULES + "/" + urllib.parse.quote(key, safe="")


class Schedules(ServiceTest):
    ARGUMENTS = ("--tick-duration", "5", "--task-timeout", "1000", "--max-schedules", "200")

    def tearDown(self):
        for each in self.service.get(SCHEDULES)["schedules"]:
            self.request("DELETE", at(each["key"]))

    def test_put_get_delete(self):
        before = time.time() * 1000
        answer = self.request("PUT", at("a"), {"period": LONG})
        self.assertEqual(answer.status, 201)
        told = answer.json()
        self.assertEqual(
            {k: told[k] for k in ["key", "type", "period", "state", "runs", "history"]},
            {"key": "a", "type": "simple", "period": LONG, "state": "pending", "runs": 0,
             "history": []},
        )
        self.assertGreaterEqual(told["nextRun"], before + LONG - 2)
        self.assertLess(told["nextRun"], time.time() * 1000 + LONG + 2)
        self.assertEqual(self.service.get(at("a")), told)
        self.assertEqual(self.service.get(SCHEDULES), {"schedules": [told]})
        answer = self.request("DELETE", at("a"))
        self.assertEqual((answer.status, answer.json()), (200, {"key": "a", "removed": True}))
        for method in ["GET", "DELETE"]:
            self.assert_error(self.request(method, at("a")), 404, "not_found")
        self.assertEqual(self.service.get(SCHEDULES), {"schedules": []})

    def test_put_is_idempotent_and_updates(self):
        first = self.request("PUT", at("a"), {"period": LONG})
        self.service.let_pass(50)  # a run that is put off would be later now
        again = self.request("PUT", at("a"), {"period": LONG, "type": "simple"})
        self.assertEqual((first.status, again.status), (201, 200))
        self.assertEqual(first.json(), again.json())  # its next run is not put off
        changed = self.request("PUT", at("a"), {"period": LONG, "type": "failing"})
        self.assertEqual((changed.status, changed.json()["type"]), (200, "failing"))
        changed = self.request("PUT", at("a"), {"cron": "0 0 1 1 *"})
        self.assertEqual((changed.json()["cron"], changed.json()["type"]), ("0 0 1 1 *", "simple"))
        self.assertNotIn("period", changed.json())

    def test_runs_again_and_again(self):
        for type_, state in [("simple", "completed"), ("failing", "failed"), ("hanging", "timed_out")]:
            self.request("PUT", at(type_), {"period": 10, "type": type_})
            told = wait_until(
                lambda: told if (told := self.service.get(at(type_)))["runs"] >= 3 else None
            )
            self.assertTrue(told["history"])
            for run in told["history"]:
                self.assertEqual(run["outcome"], state)
                self.assertGreaterEqual(run["lateness"], 0)
            tasks = wait_until(lambda: [
                each for each in self.service.get(f"{BASE}/tasks?state={state}&limit=1000")["tasks"]
                if each.get("schedule") == type_
            ])
            self.assertEqual(tasks[0]["type"], type_)
            self.assertEqual(self.request("DELETE", at(type_)).status, 200)

    def test_cron_with_seconds_runs(self):
        self.request("PUT", at("each second"), {"cron": "* * * * * *"})
        told = wait_until(
            lambda: told if (told := self.service.get(at("each second")))["runs"] >= 1 else None
        )
        self.assertEqual(told["nextRun"] % 1000, 0)

    def test_removed_does_not_run_any_more(self):
        self.request("PUT", at("a"), {"period": 5})
        wait_until(lambda: self.service.get(at("a"))["runs"] >= 2)
        self.request("DELETE", at("a"))

        def is_alone():
            """Whether nothing but the task that is waited for has run; a last run may be going on."""
            def ran():
                return self.service.get(BASE + "/execution-stats")["total"]

            before = ran()
            self.service.let_pass(100)
            return ran() == before + 1

        wait_until(is_alone, "the end of the runs")
        self.request("PUT", at("a"), {"period": LONG})
        self.assertEqual(self.service.get(at("a"))["runs"], 0)  # another one

    def test_keys(self):
        for key in ["a b", "a/b", "//", "%", "%25", ".", "..", "é", "\U0001f550" * 50, "x" * 200, "?",
                    "#", "+", "a&b=c", '"', "\\", "tasks", "*", "~", "'"]:
            with self.subTest(key):
                answer = self.request("PUT", at(key), {"period": LONG})
                self.assertEqual((answer.status, answer.json()["key"]), (201, key))
                self.assertEqual(self.service.get(at(key))["key"], key)
                self.assertIn(key, [each["key"] for each in self.service.get(SCHEDULES)["schedules"]])
                answer = self.request("DELETE", at(key))
                self.assertEqual((answer.status, answer.json()["key"]), (200, key))

    def test_keys_that_are_wrong(self):
        for key in ["%FF", "%C3%28", "%C0%80", "%ED%A0%80", "%F5%80%80%80", "a%00b", "%0A", "%7F",
                    "%C2%85", "x" * 201, "%C3%A9" * 101, "%E2%82"]:
            for method in ["PUT", "GET", "DELETE"]:
                answer = self.request(method, f"{SCHEDULES}/{key}", {"period": LONG})
                self.assert_error(answer, 400, "invalid_field", "key")
        for method in ["PUT", "GET", "DELETE"]:
            answer = self.request(method, f"{SCHEDULES}/", {"period": LONG})
            self.assert_error(answer, 404, "not_found")
        self.assertEqual(self.service.get(SCHEDULES), {"schedules": []})

    def test_fields_that_are_wrong(self):
        for body, field in [
            ({}, "cron"), ({"period": None}, "cron"), ({"cron": "* * * * *", "period": 5}, "period"),
            ({"period": 0}, "period"), ({"period": -1}, "period"), ({"period": 1.5}, "period"),
            ({"period": "5"}, "period"), ({"period": 10**12}, "period"), ({"cron": 5}, "cron"),
            ({"cron": ""}, "cron"), ({"cron": "x"}, "cron"), ({"cron": "* * * *"}, "cron"),
            ({"cron": "60 * * * *"}, "cron"), ({"cron": "0 0 30 2 *"}, "cron"),
            ({"cron": "* " * 10_000}, "cron"), ({"cron": "\0" * 5}, "cron"), ({"cron": "é"}, "cron"),
            ({"cron": "é" * 1000}, "cron"), ({"cron": "€" * 1000}, "cron"), ({"cron": ["*"]}, "cron"),
            ({"cron": "* * * * mon-\u00e9"}, "cron"),
            ({"period": 5, "type": "x"}, "type"),
        ]:
            answer = self.request("PUT", at("a"), body)
            message = self.assert_error(answer, 400, "invalid_field", field)
            self.assertLess(len(message), 400)
            self.assertTrue(message.startswith(("cron", field)), message)
        self.assert_error(self.request("PUT", at("a"), {"perod": 5}), 400, "unknown_field", "perod")
        self.assert_error(self.request("PUT", at("a"), "[]"), 400, "invalid_json")
        self.assertEqual(self.service.get(SCHEDULES), {"schedules": []})

    def test_there_is_a_limit(self):
        for i in range(200):
            self.assertEqual(self.request("PUT", at(f"{i}"), {"period": LONG}).status, 201)
        answer = self.request("PUT", at("more"), {"period": LONG})
        self.assert_error(answer, 503, "too_many_schedules")
        self.assertEqual(self.request("PUT", at("5"), {"period": LONG - 1}).status, 200)
        self.request("DELETE", at("7"))
        self.assertEqual(self.request("PUT", at("more"), {"period": LONG}).status, 201)
        self.assertEqual(len(self.service.get(SCHEDULES)["schedules"]), 200)

    def test_run_of_a_removed_schedule_has_its_type(self):
        with Service("--tick-duration", "5", "--task-timeout", "500") as service:
            service.request("PUT", at("a"), {"period": 5, "type": "hanging"})
            wait_until(lambda: service.get(at("a"))["state"] == "running")
            service.request("DELETE", at("a"))
            found = wait_until(lambda: service.get(BASE + "/tasks?limit=10")["tasks"])
            self.assertEqual((found[0]["type"], found[0]["schedule"]), ("hanging", "a"))


if __name__ == "__main__":
    main()
