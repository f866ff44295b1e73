# SPDX-License-Identifier: BSL-1.0
"""Every bad request is answered by a 4xx with a JSON error, and the service goes on."""
import random

from service_fixture import BASE, Service, ServiceTest, main, make_request

SAMPLE = BASE + "/tasks/sample"


class Fields(ServiceTest):
    def assert_rejected(self, target, body, field, *mentioned, method="POST"):
        message = self.assert_error(
            self.request(method, target, body), 400, "invalid_field", field
        )
        self.assertTrue(message.startswith(field), message)
        for each in mentioned:
            self.assertIn(each, message)

    def test_numbers(self):
        for text, shown in [
            ("-1", "-1"), ("1.5", "1.5"), ("1e999", ""), ("-1e999", ""), ("1e18", ""),
            ("18446744073709551615", "18446744073709551615"), ("9223372036854775807", ""),
            ("123456789012345678901234567890", ""), ("100000000001", "100000000001"),
            ('"5"', '"5"'), ("true", "true"), ("[]", "[]"), ("{}", "{}"), ("1e-3", "0.001"),
        ]:
            self.assert_rejected(
                SAMPLE, '{"delay":%s}' % text, "delay", shown, "a whole number from 0 to 100000000000"
            )
        for text in ["0", "-5", "0.5", '""']:
            self.assert_rejected(SAMPLE, '{"repeat":%s}' % text, "repeat", "from 1 to")
        for text in ["0", "-1", "100001", "1e9", '"10"']:
            self.assert_rejected(
                BASE + "/tasks/batch", '{"count":%s}' % text, "count", "from 1 to 100000"
            )
            self.assert_rejected(
                BASE + "/stress-test", '{"taskCount":%s}' % text, "taskCount", "from 1 to 100000"
            )

    def test_range_is_in_order(self):
        for target in ["/tasks/batch", "/stress-test"]:
            self.assert_rejected(BASE + target, {"minDelay": 9, "maxDelay": 8}, "minDelay", "9", "8")
            self.assert_rejected(BASE + target, {"maxDelay": -1}, "maxDelay", "-1")
            # Also when one of them is the default.
            self.assert_rejected(BASE + target, {"minDelay": 10_001}, "minDelay", "10001")

    def test_types(self):
        for type_ in ["", "SIMPLE", "nothing", 5, [], {}, False, "simple\0"]:
            self.assert_rejected(SAMPLE, {"type": type_}, "type", "simple, slow, cpu, failing, hanging")

    def test_unknown_field_is_named(self):
        for target, names in [
            ("/tasks/sample", "type, delay, repeat"),
            ("/tasks/batch", "count, minDelay, maxDelay"),
            ("/stress-test", "taskCount, minDelay, maxDelay"),
        ]:
            message = self.assert_error(
                self.request("POST", BASE + target, {"dely": 5}), 400, "unknown_field", "dely"
            )
            self.assertIn(names, message)

    def test_long_values_are_shortened_between_characters(self):
        for sign in ["x", "é", "€", "\U0001f550"]:
            for shift in range(4):
                text = "a" * shift + sign * 5000
                for body in [{text: 1}, {"type": text}, {"delay": [text]}]:
                    answer = self.request("POST", SAMPLE, body)
                    self.assertEqual(answer.status, 400)
                    self.assertLess(len(answer.error["message"]), 300)

    def test_body_that_is_not_a_json_object(self):
        for body in [
            "{", "}", "x", "[]", "[{}]", "null", "5", '"a"', "{}x", "{} {}", "{'a':1}", "{a:1}",
            '{"delay":}', '{"delay":01}', '{"delay":+1}', '{"delay":.5}', '{"delay":NaN}',
            '{"delay":1,}', "\ufeff{}", "\0", "{}\0", '{"a":"\n"}', '{"a":"\\ud800"}',
            "[" * 5000, '{"a":' * 5000, "[" * 20 + "]" * 20,
            b'{"type":"\xff"}', b'{"type":"\xc0\x80"}', b'{"type":"\xed\xa0\x80"}', b"\xff\xfe{\0}\0",
        ]:
            self.assert_error(self.request("POST", SAMPLE, body), 400, "invalid_json")

    def test_random_bytes(self):
        chosen = random.Random(1)
        for _ in range(300):
            body = bytes(chosen.choice(b'{}[]",:0123456789eE.-+ntfa\\u\xff\xc3\x28 ') for _ in range(
                chosen.randrange(1, 60)))
            answer = self.request("POST", SAMPLE, body)
            self.assertIn(answer.status, [201, 400], body)
            answer.json()


class Targets(ServiceTest):
    def test_unknown(self):
        for target in [
            "//", "//healthz", "/healthz/", "/Healthz", "/x", "/api", BASE, BASE + "/", "/..",
            "/../healthz", "/%2e%2e/healthz", BASE + "/tasks/", BASE + "/schedules/",
            BASE + "/tasks/sample/", BASE + "//tasks", BASE + "/tasks/1/2", "/healthz%2F", "/%00",
            "/metrics/x", "/" + "a" * 5000, "/" + "a/" * 2000,
        ]:
            self.assert_error(self.request("GET", target), 404, "not_found")
        for method in ["PUT", "GET", "DELETE"]:
            self.assert_error(
                self.request(method, BASE + "/schedules/", {"period": 5}), 404, "not_found"
            )

    def test_not_a_path(self):
        for target in [
            "healthz", "*", "/%", "/%zz", "/%f", "/a%", "/a?%zz", "/a|b", "/a b".replace(" ", "\\"),
            '/"', "/<>", "/^", "?", "#", "/#x", "http://", "ftp://a/", "/é",
        ]:
            self.assert_error(self.request("GET", target), 400, "invalid_target")

    def test_method_of_another_resource(self):
        for method, target, allowed in [
            ("POST", "/healthz", "GET, HEAD, OPTIONS"),
            ("DELETE", "/metrics", "GET, HEAD, OPTIONS"),
            ("GET", BASE + "/stress-test", "POST, OPTIONS"),
            ("HEAD", BASE + "/stress-test", "POST, OPTIONS"),
            ("PUT", BASE + "/tasks", "GET, HEAD, OPTIONS"),
            ("POST", BASE + "/tasks/5", "GET, HEAD, DELETE, OPTIONS"),
            ("PATCH", BASE + "/schedules/a", "PUT, GET, HEAD, DELETE, OPTIONS"),
            ("TRACE", "/", "GET, HEAD, OPTIONS"),
            ("BREW", "/", "GET, HEAD, OPTIONS"),
        ]:
            answer = self.request(method, target)
            self.assertEqual(answer.headers["allow"], allowed)
            if method == "HEAD":
                self.assertEqual(answer.status, 405)
            else:
                self.assert_error(answer, 405, "method_not_allowed")
        for target in ["/healthz", "test:80"]:
            self.assertIn(self.request("CONNECT", target).status, [400, 405])

    def test_task_that_is_none(self):
        for id_ in ["0", "999999999", "9223372036854775807"]:
            for method in ["GET", "DELETE"]:
                self.assert_error(self.request(method, f"{BASE}/tasks/{id_}"), 404, "not_found")
        for id_ in ["x", "-1", "1x", "+1", "%201", "1.0", "1e3", "99999999999999999999", "%00", "é",
                    "%FF", "%C3%28", "%F0%9F%95%90" * 100, "%ED%A0%80", "0x1", "%22", "%5C"]:
            for method in ["GET", "DELETE"]:
                answer = self.request(method, f"{BASE}/tasks/{id_}")
                if id_ == "é":
                    self.assert_error(answer, 400, "invalid_target")
                else:
                    self.assert_error(answer, 400, "invalid_field", "id")

    def test_query(self):
        for query, field in [
            ("limit=", "limit"), ("limit", "limit"), ("limit=-1", "limit"), ("limit=1001", "limit"),
            ("limit=1.0", "limit"), ("limit=99999999999999999999", "limit"), ("limit=%FF", "limit"),
            ("after=x", "after"), ("after=-1", "after"), ("after=%00", "after"),
            ("state=", "state"), ("state=Waiting", "state"), ("state=%FF%FE", "state"),
            ("state=" + "%C3%A9" * 100, "state"), ("state=a" + "%C3%A9" * 100, "state"),
            ("limit=1&limit=2", "limit"), ("state=waiting&state=running", "state"),
        ]:
            self.assert_error(
                self.request("GET", f"{BASE}/tasks?{query}"), 400, "invalid_field", field
            )
        for query, field in [("x=1", "x"), ("%FF=1", "\ufffd"), ("=", ""), ("Limit=1", "Limit"),
                             ("limit=1&", "")]:
            answer = self.request("GET", f"{BASE}/tasks?{query}")
            if query == "limit=1&":
                self.assertIn(answer.status, [200, 400])
            else:
                self.assert_error(answer, 400, "unknown_field", field or None)


class Protocol(ServiceTest):
    ARGUMENTS = ("--body-limit", "1000", "--header-limit", "2000")

    def test_not_http(self):
        for data in [
            b"\r\n\r\n\r\nfoo\r\n\r\n", b"foo\r\n\r\n", b"GET\r\n\r\n", b"GET /\r\n\r\n",
            b"GET / HTTP/2.0\r\n\r\n", b"GET / HTTP/1.2\r\n\r\n", b"GET / HTTP/0.9\r\n\r\n",
            b"GET  / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
            b"GET / HTTP/1.1\r\n: empty\r\n\r\n", b"GET / HTTP/1.1\r\nA b: c\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", b"GET / HTTP/1.1\r\nA: \x01\r\n\r\n",
            b"G\x00T / HTTP/1.1\r\n\r\n", b"GET /\x00 HTTP/1.1\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(300),
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\xff" * 100 + b"\r\n\r\n",
        ]:
            answer = self.service.exchange(data, half_close=True)
            self.assert_error(answer, 400, "invalid_request")
            self.assertEqual(answer.headers["connection"], "close")

    def test_lengths_that_are_wrong(self):
        for headers in [
            "Content-Length: -1", "Content-Length: x", "Content-Length: 5x", "Content-Length: ",
            "Content-Length: 99999999999999999999999", "Content-Length: 2\r\nContent-Length: 3",
            "Content-Length: 2, 3", "Content-Length: 2\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: gzip", "Transfer-Encoding: chunked, gzip",
            "Transfer-Encoding: identity", "Transfer-Encoding: xchunked",
        ]:
            answer = self.service.exchange(
                f"POST {SAMPLE} HTTP/1.1\r\nHost: a\r\n{headers}\r\n\r\n".encode() + b"{}"
            )
            self.assert_error(answer, 400, "invalid_request")
            self.assertEqual(answer.headers["connection"], "close")

    def test_host(self):
        answer = self.service.exchange(b"GET /healthz HTTP/1.1\r\n\r\n")
        self.assert_error(answer, 400, "invalid_request")
        answer = self.service.exchange(b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        self.assert_error(answer, 400, "invalid_request")

    def test_chunks_that_are_wrong(self):
        for chunks in [b"x\r\n{}\r\n0\r\n\r\n", b"-2\r\n{}\r\n0\r\n\r\n", b"2\r\n{}x0\r\n\r\n",
                       b"fffffffffffffffffff\r\n{}", b"\r\n{}"]:
            answer = self.service.exchange(
                f"POST {SAMPLE} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
                + chunks
            )
            self.assertIn(answer.status, [400, 413])
            answer.json()

    def test_half_a_request(self):
        whole = make_request("POST", SAMPLE, {"delay": 100_000})
        for size in [1, 3, 10, len(whole) // 2, len(whole) - 20, len(whole) - 1]:
            answer = self.service.exchange(whole[:size], half_close=True)
            self.assert_error(answer, 400, "invalid_request")

    def test_header_too_large(self):
        for data in [
            b"GET /" + b"a" * 3000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 3000 + b"\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: a\r\n" * 500 + b"\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 3_000_000,
            b"G" * 5000,
        ]:
            answer = self.service.exchange(data)
            if data[0:5] == b"GGGGG":
                self.assertIn(answer.status, [400, 431])
            else:
                self.assert_error(answer, 431, "header_too_large")
            self.assertEqual(answer.headers["connection"], "close")

    def test_body_too_large(self):
        fits = '{"delay":1}' + " " * 989
        self.assertEqual(self.request("POST", SAMPLE, fits).status, 201)
        answer = self.request("POST", SAMPLE, fits + " ")
        self.assert_error(answer, 413, "body_too_large")
        self.assertEqual(answer.headers["connection"], "close")
        # The answer arrives although the client sends far more than anybody reads.
        self.assert_error(self.request("POST", SAMPLE, " " * 20_000_000), 413, "body_too_large")
        chunk = b"400\r\n" + b" " * 1024 + b"\r\n"
        answer = self.service.exchange(
            f"POST {SAMPLE} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
            + chunk * 1000
        )
        self.assert_error(answer, 413, "body_too_large")

    def test_expectations(self):
        body = b'{"delay":1}'

        def head(*headers):
            lines = [f"POST {SAMPLE} HTTP/1.1", "Host: a", *headers]
            return ("\r\n".join(lines) + "\r\n\r\n").encode()

        for expected in ["100-continue", "100-Continue"]:
            with self.service.connect() as client:
                client.send(head(f"Content-Length: {len(body)}", f"Expect: {expected}"))
                self.assertEqual(client.read_answer().status, 100)
                self.assertTrue(client.is_silent())
                client.send(body)
                self.assertEqual(client.read_answer().status, 201)
                self.assertEqual(client.request("GET", "/healthz").status, 200)
        answer = self.service.exchange(head("Content-Length: 1001", "Expect: 100-continue"))
        self.assert_error(answer, 413, "body_too_large")
        answer = self.service.exchange(head("Content-Length: 11", "Expect: tea"))
        self.assert_error(answer, 417, "expectation_failed")
        # HTTP/1.0 does not know of it.
        with self.service.connect() as client:
            client.send(
                f"POST {SAMPLE} HTTP/1.0\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\n"
            )
            client.send(body)
            self.assertEqual(client.read_answer().status, 201)

    def test_chunked_body(self):
        with self.service.connect() as client:
            client.send(
                f"POST {SAMPLE} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                "3;extension=1\r\n{\"d\r\n8\r\nelay\":1}\r\n0\r\nTrailer: x\r\n\r\n"
            )
            self.assertEqual(client.read_answer().json()["delay"], 1)
            self.assertEqual(client.request("GET", "/healthz").status, 200)

    def test_random_bytes(self):
        chosen = random.Random(2)
        whole = make_request("POST", SAMPLE, {"delay": 100_000})
        for _ in range(300):
            data = bytearray(whole)
            for _ in range(chosen.randrange(1, 5)):
                data[chosen.randrange(len(data))] = chosen.randrange(256)
            answer = self.service.exchange(bytes(data), half_close=True)
            self.assertIn(answer.status, [201, 400, 404, 405, 413, 417], bytes(data))
            if answer.status != 204:
                answer.json()

    def test_last(self):
        self.assert_lives()


class Origins(ServiceTest):
    """A browser's page of another origin can neither read answers nor do anything."""

    ARGUMENTS = ("--allowed-origins", "https://good.example,http://also.example:8080")

    def test_no_origin_is_allowed_unless_told(self):
        with Service() as service:
            answer = service.request("GET", "/healthz", headers=["Origin: https://good.example"])
            self.assertEqual(answer.status, 200)
            self.assertNotIn("access-control-allow-origin", answer.headers)
            answer = service.request(
                "OPTIONS", SAMPLE,
                headers=["Origin: https://good.example", "Access-Control-Request-Method: POST"],
            )
            self.assertNotIn("access-control-allow-origin", answer.headers)
            self.assertNotIn("access-control-allow-methods", answer.headers)

    def test_allowed(self):
        for origin in ["https://good.example", "http://also.example:8080"]:
            for method, target in [("GET", "/healthz"), ("POST", SAMPLE), ("GET", "/nothing")]:
                answer = self.request(method, target, headers=[f"Origin: {origin}"])
                self.assertEqual(answer.headers["access-control-allow-origin"], origin)
                self.assertEqual(answer.headers["vary"], "Origin")
            answer = self.request(
                "OPTIONS", SAMPLE, headers=[f"Origin: {origin}", "Access-Control-Request-Method: PUT"]
            )
            self.assertEqual(answer.status, 204)
            self.assertEqual(answer.headers["access-control-allow-origin"], origin)
            self.assertIn("PUT", answer.headers["access-control-allow-methods"])
            self.assertEqual(answer.headers["access-control-allow-headers"], "Content-Type")
            with self.service.connect() as client:
                client.send(
                    f"GET {BASE}/events HTTP/1.1\r\nHost: a\r\nOrigin: {origin}\r\n\r\n"
                )
                self.assertEqual(client.read_head()[2]["access-control-allow-origin"], origin)

    def test_others(self):
        for origin in ["https://bad.example", "http://good.example", "https://good.example:443",
                       "https://good.example.bad", "null", "*", ""]:
            answer = self.request("GET", "/healthz", headers=[f"Origin: {origin}"])
            self.assertEqual(answer.status, 200)
            self.assertNotIn("access-control-allow-origin", answer.headers)

    def test_pages_of_others_change_nothing(self):
        # A browser sends a simple POST without asking.
        for origin in ["https://bad.example", "null", "http://test.bad", "http://xtest"]:
            for method, target in [
                ("POST", SAMPLE), ("POST", BASE + "/tasks/cleanup"), ("DELETE", BASE + "/tasks/1"),
            ]:
                answer = self.request(method, target, headers=[f"Origin: {origin}"])
                self.assert_error(answer, 403, "origin_not_allowed")
        # The page of the service itself.
        for origin in ["http://test", "https://test"]:
            answer = self.request("POST", SAMPLE, {}, headers=[f"Origin: {origin}"])
            self.assertEqual(answer.status, 201)


class Full(ServiceTest):
    def test_too_many_tasks(self):
        with Service("--max-tasks", "10", "--max-batch", "20") as service:
            body = {"count": 8, "minDelay": 100_000, "maxDelay": 100_000}
            self.assertEqual(service.request("POST", BASE + "/tasks/batch", body).status, 201)
            self.assert_error(
                service.request("POST", BASE + "/tasks/batch", body), 503, "too_many_tasks"
            )
            self.assertEqual(service.get(BASE + "/stats")["pending"], 8)  # all or nothing
            for _ in range(2):
                service.add("simple", 100_000)
            answer = service.request("POST", SAMPLE, {"delay": 5})
            self.assert_error(answer, 503, "too_many_tasks")
            service.request("DELETE", BASE + "/tasks/1")
            service.add("simple", 100_000)
            self.assert_error(
                service.request("POST", BASE + "/tasks/batch", {"count": 21}), 400,
                "invalid_field", "count",
            )
            self.assertEqual(service.get(BASE + "/stats")["tasks"]["waiting"], 10)


if __name__ == "__main__":
    main()
