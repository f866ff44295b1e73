# SPDX-License-Identifier: BSL-1.0
"""GET /metrics is what Prometheus reads: checked by promtool if it is there, and by a parser."""
import math
import re
import shutil
import subprocess

from service_fixture import BASE, PATIENCE, Service, ServiceTest, main, wait_until

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)?\}})? (\S+)")


def parse(text):
    """Metrics as {name: (type, {(sample name, labels): value})}; raises whatever is wrong."""
    if not text.endswith("\n"):
        raise ValueError("the last line does not end")
    metrics, name = {}, None
    helped = set()
    for line in text[:-1].split("\n"):
        if match := re.fullmatch(rf"# HELP ({NAME}) (\S.*)", line):
            if match[1] in helped:
                raise ValueError(f"second HELP: {line}")
            helped.add(match[1])
        elif match := re.fullmatch(rf"# TYPE ({NAME}) (counter|gauge|histogram)", line):
            name = match[1]
            if name in metrics or name not in helped:
                raise ValueError(f"second TYPE, or no HELP: {line}")
            metrics[name] = (match[2], {})
        elif match := SAMPLE.fullmatch(line):
            kind, samples = metrics[name]
            suffixes = ["_bucket", "_sum", "_count"] if kind == "histogram" else [""]
            if match[1] not in [name + suffix for suffix in suffixes]:
                raise ValueError(f"not a sample of {name}: {line}")
            key = (match[1], match[2] or "")
            if key in samples:
                raise ValueError(f"twice: {line}")
            value = float(match[3])
            if math.isnan(value) or value < 0:
                raise ValueError(f"value: {line}")
            samples[key] = value
        else:
            raise ValueError(f"not of the format: {line!r}")
    for name, (kind, samples) in metrics.items():
        if not samples:
            raise ValueError(f"{name} has no samples")
        if (kind == "counter") != name.endswith("_total"):
            raise ValueError(f"only the name of a counter ends in _total: {name}")
        if kind == "histogram":
            check_histogram(name, samples)
    return metrics


def check_histogram(name, samples):
    buckets = [
        (float(re.fullmatch(r'le="([^"]+)"', labels)[1]), value)
        for (sample, labels), value in samples.items()
        if sample == name + "_bucket"
    ]
    if buckets != sorted(buckets) or len({bound for bound, _ in buckets}) != len(buckets):
        raise ValueError(f"buckets of {name} are out of order: {buckets}")
    if buckets[-1] != (math.inf, samples[name + "_count", ""]):
        raise ValueError(f"{name} has no bucket for all")
    if (samples[name + "_sum", ""] > 0) and samples[name + "_count", ""] == 0:
        raise ValueError(f"{name} has a sum of nothing")


class Metrics(ServiceTest):
    ARGUMENTS = ("--tick-duration", "5", "--task-timeout", "1000")

    def read(self, service=None):
        return (service or self.service).request("GET", "/metrics").body.decode("utf-8")

    def use_all(self):
        for type_, state in [("simple", "completed"), ("failing", "failed"), ("hanging", "timed_out")]:
            self.service.wait_for_state(self.service.add(type_, 0), state)
        self.request("DELETE", f"{BASE}/tasks/{self.service.add('simple', 10**9)}")
        self.service.add("simple", 10**9)

    def test_content_type(self):
        answer = self.request("GET", "/metrics")
        self.assertEqual(answer.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8")

    def test_format_before_and_after_something_has_happened(self):
        with Service() as service:
            parse(self.read(service))
        self.use_all()
        parse(self.read())

    def test_promtool(self):
        promtool = shutil.which("promtool")
        if not promtool:
            self.skipTest("there is no promtool")
        self.use_all()
        done = subprocess.run(
            [promtool, "check", "metrics"], input=self.read(), capture_output=True, text=True,
            timeout=PATIENCE, check=False,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_values(self):
        with Service(*self.ARGUMENTS) as service:
            for type_, state in [("simple", "completed"), ("failing", "failed"),
                                 ("hanging", "timed_out")]:
                service.wait_for_state(service.add(type_, 0), state)
            service.add("simple", 10**9)
            metrics = parse(self.read(service))

            def value(name, labels="", sample=None):
                return metrics[name][1][sample or name, labels]

            for state, count in [("waiting", 1), ("running", 0), ("completed", 1), ("failed", 1),
                                 ("timed_out", 1), ("cancelled", 0), ("dropped", 0)]:
                self.assertEqual(value("timewheel_tasks", f'state="{state}"'), count)
                if state not in ("waiting", "running"):
                    self.assertEqual(value("timewheel_runs_total", f'outcome="{state}"'), count)
            self.assertEqual(value("timewheel_added_total"), 4)
            self.assertEqual(value("timewheel_executed_total"), 3)
            self.assertEqual(value("timewheel_pending"), 1)
            self.assertGreaterEqual(value("timewheel_http_connections"), 1)
            self.assertGreater(value("timewheel_http_requests_total"), 4)
            duration = "timewheel_duration_seconds"
            self.assertEqual(value(duration, sample=duration + "_count"), 3)
            self.assertGreaterEqual(value(duration, sample=duration + "_sum"), 1)
            self.assertLessEqual(value(duration, 'le="0.05"', duration + "_bucket"), 2)

    def test_counters_only_grow(self):
        before = parse(self.read())
        self.use_all()
        self.request("POST", BASE + "/tasks/cleanup")
        after = parse(self.read())
        self.assertEqual(before.keys(), after.keys())
        for name, (kind, samples) in before.items():
            if kind != "gauge":
                for key, value in samples.items():
                    self.assertGreaterEqual(after[name][1][key], value, key)

    def test_numbers_are_plain(self):
        self.use_all()
        for line in self.read().splitlines():
            if not line.startswith("#"):
                self.assertRegex(line, r" \d+(\.\d+)?$")

    def test_each_request_counts(self):
        def requests():
            text = self.read()
            return int(text.split("\ntimewheel_http_requests_total ")[1].split()[0])

        first = requests()
        self.request("GET", "/nothing")
        self.service.exchange(b"nonsense\r\n\r\n")
        with self.service.connect() as client:
            client.send(f"GET {BASE}/events HTTP/1.1\r\nHost: a\r\n\r\n")
            client.read_head()
        wait_until(lambda: requests() >= first + 4)


if __name__ == "__main__":
    main()
