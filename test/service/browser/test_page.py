# SPDX-License-Identifier: BSL-1.0
"""The live page of the wheel service in a browser.

    python3 test_page.py WHEEL_SERVICE FOLDER_FOR_SCREENSHOTS [an option or a case of unittest]...

The environment variable CHROMIUM names the browser, if it is not found as "chromium".
"""

import os
import pathlib
import signal
import subprocess
import sys
import unittest
import urllib.request

from chromium import PATIENCE, Chromium

SERVICE = "wheel_service"
SCREENSHOTS = pathlib.Path(".")

ROWS = "document.querySelectorAll('#tasks tbody tr')"
FOCUS = "document.activeElement"
LIVE = "document.getElementById('connection').dataset.state === 'live'"

# The text whose contrast to what is behind it is below 4.5:1, or 3:1 where it is large.
TOO_FAINT = """(() => {
    const parse = (color) => color.match(/[\\d.]+/g).map(Number);
    const luminance = (color) => {
        const [r, g, b] = parse(color).slice(0, 3).map((part) => part / 255).map(
            (part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = (element) => {
        for (; element; element = element.parentElement) {
            const color = getComputedStyle(element).backgroundColor;
            if ((parse(color)[3] ?? 1) === 1)
                return color;
        }
        return "rgb(255, 255, 255)";
    };
    const faint = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node; (node = walker.nextNode());) {
        const element = node.parentElement;
        if (!node.textContent.trim() || !element.checkVisibility() || element.closest("script"))
            continue;
        const style = getComputedStyle(element);
        const color = element instanceof SVGElement ? style.fill : style.color;
        const [low, high] = [luminance(color), luminance(ground(element))].sort((a, b) => a - b);
        const least = parseFloat(style.fontSize) >= 24 ? 3 : 4.5;
        if ((high + 0.05) / (low + 0.05) < least)
            faint.push(node.textContent.trim().slice(0, 40));
    }
    return faint;
})()"""


class Service:
    """The program under test."""

    def __init__(self, port=0, tick=10, patience=0):
        self._process = subprocess.Popen(
            [
                SERVICE,
                f"--port={port}",
                f"--tick-duration={tick}",
                f"--shutdown-timeout={1000 * patience}",
                "--task-timeout=86400000",  # what hangs does so until a test has seen it
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.url = self._process.stdout.readline().strip()
        if not self.url.startswith("http://"):
            self.stop()
            raise RuntimeError(f"the service does not say where it is, but '{self.url}'")
        self.port = int(self.url.rstrip("/").rsplit(":", 1)[1])

    def interrupt(self):
        self._process.send_signal(signal.SIGTERM)

    def stop(self):
        self.interrupt()
        self._process.wait(PATIENCE)
        self._process.stdout.close()


def setUpModule():
    global browser
    browser = Chromium(os.environ.get("CHROMIUM", "chromium"))
    unittest.addModuleCleanup(browser.close)


class PageCase(unittest.TestCase):
    def setUp(self):
        self.service = Service()
        self.addCleanup(lambda: self.service.stop())
        self.open()

    def open(self):
        browser.open(self.service.url)
        browser.wait_for(LIVE)

    def assert_no_problems(self):
        self.assertEqual(browser.problems, [])

    def count(self, state):
        return int(browser.text("#count-" + state).replace(",", ""))

    def wait_for_count(self, state, least):
        browser.wait_for(
            f"Number(document.getElementById('count-{state}').textContent.replaceAll(',', ''))"
            f" >= {least}"
        )

    def add_sample(self, delay, kind="simple"):
        """Returns the number of the new task."""
        browser.choose("#sample-type", kind)
        browser.fill("#sample-delay", str(delay))
        browser.evaluate("document.getElementById('message').textContent = ''")
        browser.click("#sample button")
        browser.wait_for_text("#message", "is added")
        return browser.text("#message").split()[1]

    def button(self, task):
        return f'#tasks tr[data-name="{task}"] button'

    def wait_for_no_row(self, task):
        browser.wait_for(f"!document.querySelector('#tasks tr[data-name=\"{task}\"]')")


class Loading(PageCase):
    def test_shows_the_wheel_and_the_states(self):
        self.assertEqual(browser.evaluate("document.title"), "Timing wheel")
        self.assertEqual(browser.evaluate("document.querySelectorAll('#slots line').length"), 768)
        self.assertEqual(browser.evaluate("document.querySelectorAll('#states dd').length"), 7)
        self.assertEqual(browser.text("#rings td"), "10 ms")
        self.assertEqual(browser.text("#rings td + td"), "2.6 s")
        self.assert_no_problems()

    def test_takes_nothing_from_elsewhere(self):
        with urllib.request.urlopen(self.service.url) as answer:
            self.assertIn("default-src 'self'", answer.headers["Content-Security-Policy"])
        names = browser.evaluate(
            "performance.getEntriesByType('resource').map((each) => each.name)"
        )
        self.assertTrue(names)
        for name in names:
            self.assertTrue(name.startswith(self.service.url), name)

    def test_everything_to_fill_in_has_a_label(self):
        self.assertEqual(
            browser.evaluate(
                "[...document.querySelectorAll('input, select')]"
                ".filter((field) => field.labels.length !== 1).map((field) => field.id)"
            ),
            [],
        )
        self.assertEqual(browser.evaluate("document.querySelectorAll('h1').length"), 1)
        self.assertEqual(
            browser.evaluate(
                "[...document.querySelectorAll('section')]"
                ".filter((part) => !part.querySelector('h2')).length"
            ),
            0,
        )


class Adding(PageCase):
    def test_batch_moves_the_counters_and_the_wheel(self):
        completed = self.count("completed")
        self.add_sample(600_000)
        browser.wait_for("document.querySelector('#slots line[data-level=\"1\"]')")
        browser.fill("#batch-count", "40")
        browser.fill("#batch-least", "500")
        browser.fill("#batch-most", "3000")
        browser.click("#batch button")
        browser.wait_for_text("#message", "40 tasks are added")
        turned = browser.evaluate("document.querySelector('#hands path').style.transform")
        browser.wait_for(f"document.querySelector('#hands path').style.transform !== '{turned}'")
        self.wait_for_count("completed", completed + 40)
        browser.wait_for("document.querySelector('#throughput path').getAttribute('d').length > 40")
        browser.wait_for("document.querySelectorAll('#latest li').length === 10")
        self.assert_no_problems()

    def test_stress_test_tells_its_speed(self):
        completed = self.count("completed")
        browser.fill("#stress-most", "1000")
        browser.click("#stress button")
        browser.wait_for_text("#message", "1,000 tasks are added in")
        self.wait_for_count("completed", completed + 1000)
        browser.wait_for("Number(document.querySelector('#lateness output').textContent) >= 0")

    def test_refusal_is_shown_at_the_field(self):
        browser.fill("#batch-least", "20000")
        browser.click("#batch button")
        browser.wait_for_text("#batch-error", "minDelay: 20000 is not allowed")
        self.assertEqual(browser.evaluate(FOCUS + ".id"), "batch-least")
        self.assertEqual(browser.evaluate(FOCUS + ".ariaInvalid"), "true")
        self.assertEqual(
            browser.evaluate(FOCUS + ".getAttribute('aria-describedby')"), "batch-error"
        )
        browser.fill("#batch-least", "100")
        browser.click("#batch button")
        browser.wait_for_text("#message", "10 tasks are added")
        self.assertEqual(browser.text("#batch-error"), "")
        self.assertEqual(browser.evaluate("document.querySelectorAll('[aria-invalid]').length"), 0)

    def test_what_is_out_of_range_is_not_sent(self):
        for value in ("-1", "1.5", "", "100000000001"):
            browser.fill("#sample-delay", value)
            browser.click("#sample button")
            self.assertFalse(browser.evaluate("document.querySelector('#sample').checkValidity()"))
        self.assertEqual(browser.text("#message"), "")


class Tasks(PageCase):
    def test_cancel(self):
        cancelled = self.count("cancelled")
        task = self.add_sample(600_000)
        browser.wait_for_text(f'#tasks tr[data-name="{task}"]', "waiting")
        browser.click(self.button(task))
        browser.wait_for_text("#message", f"Task {task} is cancelled")
        self.wait_for_no_row(task)
        self.wait_for_count("cancelled", cancelled + 1)
        browser.choose("#filter", "cancelled")
        browser.wait_for_text(f'#tasks tr[data-name="{task}"]', "cancelled")
        self.assertTrue(browser.evaluate(f"document.querySelector('{self.button(task)}').hidden"))
        self.assert_no_problems()

    def test_running_task_is_told_to_stop(self):
        task = self.add_sample(0, "hanging")
        browser.choose("#filter", "running")
        browser.click(self.button(task))
        browser.wait_for_text("#message", f"Task {task} is told to stop")
        self.wait_for_no_row(task)
        browser.choose("#filter", "cancelled")
        browser.wait_for(f"document.querySelector('#tasks tr[data-name=\"{task}\"]')")

    def test_progress_and_remaining_time_move(self):
        task = self.add_sample(600_000)
        row = f"document.querySelector('#tasks tr[data-name=\"{task}\"]')"
        progress = row + "?.querySelector('progress')"
        remaining = row + "?.cells[2].textContent"
        value = browser.wait_for(progress + "?.value")
        before = browser.wait_for(remaining)
        browser.wait_for(f"{progress}.value > {value} && {remaining} !== '{before}'")
        browser.click(self.button(task))
        self.wait_for_no_row(task)

    def test_more(self):
        browser.fill("#batch-count", "60")
        browser.fill("#batch-least", "500000")
        browser.fill("#batch-most", "600000")
        browser.click("#batch button")
        browser.wait_for(ROWS + ".length === 25")
        browser.click("#more")
        browser.wait_for(ROWS + ".length === 50")
        browser.click("#more")
        browser.wait_for(ROWS + ".length === 60")
        self.assertEqual(browser.evaluate(FOCUS + ".id"), "tasks")
        browser.choose("#filter", "running")
        browser.wait_for(ROWS + ".length === 0")
        self.assertTrue(browser.evaluate("document.getElementById('more').hidden"))

    def test_forget_finished_ones(self):
        self.add_sample(0, "failing")
        browser.choose("#filter", "failed")
        browser.wait_for(ROWS + ".length >= 1")
        browser.wait_for_text("#latest", "failed")
        browser.click("#cleanup")
        browser.wait_for_text("#message", "forgotten")
        browser.wait_for(ROWS + ".length === 0")


class Schedules(PageCase):
    def test_add_and_remove(self):
        # The key is text, whatever it looks like.
        key = "a/b <img src=x onerror=alert(1)>"
        browser.fill("#schedule-key", key)
        browser.fill("#schedule-period", "100")
        browser.click("#schedule button")
        browser.wait_for_text("#message", "is saved")
        browser.wait_for_text("#schedules tbody th", key)
        row = "document.querySelector('#schedules tbody tr')"
        browser.wait_for(f"Number({row}.cells[4].textContent) >= 2")
        browser.wait_for_text("#latest", "by schedule a/b")
        browser.click("#schedules tbody button")
        browser.wait_for_text("#message", "is removed")
        browser.wait_for("document.querySelectorAll('#schedules tbody tr').length === 0")
        self.assertEqual(browser.evaluate("document.images.length"), 0)
        self.assert_no_problems()

    def test_cron(self):
        browser.fill("#schedule-key", "by cron")
        browser.choose("#schedule-by", "cron")
        browser.fill("#schedule-cron", "61 * * * *")
        browser.click("#schedule button")
        browser.wait_for_text("#schedule-error", "cron")
        self.assertEqual(browser.evaluate(FOCUS + ".id"), "schedule-cron")
        self.assertEqual(
            browser.evaluate(FOCUS + ".getAttribute('aria-describedby')"),
            "cron-hint schedule-error",
        )
        browser.fill("#schedule-cron", "0 4 * * mon")
        browser.click("#schedule button")
        browser.wait_for_text("#schedules tbody", "0 4 * * mon")
        browser.click("#schedules tbody button")
        browser.wait_for("document.querySelectorAll('#schedules tbody tr').length === 0")


class Access(PageCase):
    def test_keyboard(self):
        reached = []
        for _ in range(60):
            browser.press("Tab")
            reached.append(browser.evaluate(FOCUS + ".id || " + FOCUS + ".textContent"))
            if reached[-1] == "sample-delay":
                break
        self.assertEqual(reached[-1], "sample-delay")
        self.assertNotEqual(browser.evaluate(f"getComputedStyle({FOCUS}).outlineStyle"), "none")
        for _ in range(2):
            browser.evaluate("document.getElementById('message').textContent = ''")
            browser.type("700000")
            browser.press("Enter")
            browser.wait_for_text("#message", "is added")
        browser.choose("#filter", "waiting")
        for _ in range(60):
            browser.press("Tab")
            if browser.evaluate(FOCUS + ".id") == "filter":
                break
        browser.press("Tab")  # to the other button there
        browser.wait_for(ROWS + ".length >= 2")
        browser.press("Tab")
        self.assertIn("Cancel task", browser.evaluate(FOCUS + ".ariaLabel"))
        # The focus goes to the task that takes the place of the one that is cancelled.
        next_one = browser.evaluate(ROWS + "[1].querySelector('button').ariaLabel")
        browser.press("Space")
        browser.wait_for(f"{FOCUS}.ariaLabel === '{next_one}'")

    def test_no_motion_for_those_who_want_none(self):
        style = "getComputedStyle(document.querySelector('#hands path')).transitionDuration"
        self.assertEqual(browser.evaluate(style), "0.25s")
        browser.prefer(reduced_motion="reduce")
        self.assertEqual(browser.evaluate(style), "0s")


class Losing(PageCase):
    def test_restart(self):
        self.add_sample(0)
        self.wait_for_count("completed", 1)
        self.service.stop()
        browser.wait_for("!document.getElementById('banner').hidden")
        self.assertIn("is lost", browser.text("#banner"))
        browser.click("#sample button")
        browser.wait_for_text("#sample-error", "can't be reached")
        self.service = Service(port=self.service.port)
        browser.wait_for(LIVE)
        self.assertTrue(browser.evaluate("document.getElementById('banner').hidden"))
        browser.wait_for_text("#message", "Connected again")
        self.assertEqual(self.count("completed"), 0)
        self.add_sample(0)
        self.wait_for_count("completed", 1)

    def test_stopping(self):
        self.service.stop()
        self.service = Service(patience=86_400)
        self.open()
        self.add_sample(0, "hanging")
        self.wait_for_count("running", 1)
        self.service.interrupt()
        browser.wait_for_text("#banner", "is stopping")
        self.service.interrupt()
        browser.wait_for_text("#banner", "is lost")


class Looks(PageCase):
    """Screenshots for people; what a program can judge of them is judged here."""

    @classmethod
    def setUpClass(cls):
        cls.own = Service(tick=100)
        browser.open(cls.own.url)
        browser.wait_for(LIVE)
        # Something in each ring, in each state, and in the lists.
        for count, least, most in ((400, 500, 6000), (900, 6000, 3_600_000), (900, 10**6, 10**9)):
            browser.fill("#stress-count", str(count))
            browser.fill("#stress-least", str(least))
            browser.fill("#stress-most", str(most))
            browser.evaluate("document.getElementById('message').textContent = ''")
            browser.click("#stress button")
            browser.wait_for_text("#message", "tasks are added in")
        for kind in ("failing", "hanging", "slow", "cpu"):
            browser.choose("#sample-type", kind)
            browser.fill("#sample-delay", "0")
            browser.evaluate("document.getElementById('message').textContent = ''")
            browser.click("#sample button")
            browser.wait_for_text("#message", "is added")
        browser.fill("#schedule-key", "every five seconds")
        browser.click("#schedule button")
        browser.wait_for_text("#schedules tbody", "every five seconds")
        browser.choose("#schedule-by", "cron")
        browser.fill("#schedule-key", "on Mondays at four")
        browser.fill("#schedule-cron", "0 4 * * mon")
        browser.click("#schedule button")
        browser.wait_for_text("#schedules tbody", "on Mondays at four")

    @classmethod
    def tearDownClass(cls):
        browser.prefer()
        cls.own.stop()

    def setUp(self):
        pass  # the page that is open is used on

    def look(self, name, scheme, width, scale=1):
        browser.prefer(color_scheme=scheme)
        browser.resize(width, 900, scale)
        self.wait_for_count("completed", 400)
        browser.resize(width, browser.evaluate("document.documentElement.scrollHeight"), scale)
        browser.screenshot(SCREENSHOTS / f"page_{name}.png")
        self.assertEqual(browser.evaluate(TOO_FAINT), [])
        self.assertLessEqual(
            browser.evaluate("document.documentElement.scrollWidth"), width, "it is too wide"
        )
        self.assert_no_problems()

    def test_light(self):
        self.look("light", "light", 1280)

    def test_dark(self):
        self.look("dark", "dark", 1280)

    def test_phone(self):
        self.look("phone", "light", 375, 2)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    SERVICE = sys.argv[1]
    SCREENSHOTS = pathlib.Path(sys.argv[2])
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
