#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs the benchmarks that test/bench/report has built, and says what they show."""
import argparse
import collections
import datetime
import json
import math
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

import plot
from targets import ASIO, TARGETS, WHEEL, size

QUICK = ["arm_cancel", "rearm", "touch", "cancel_after", "mass_expiry", "stream", "threads",
         "memory", "bare", "timer_calls_wheel"]
NAMES = {ASIO: "Asio", WHEEL: "timewheel", "wheel re-arm": "timewheel, re-armed",
         "wheel, time known": "timewheel, time known", "clock alone": "reading the clock",
         "bare store": "reading the clock and storing it",
         "asio, executor type": "Asio, executor type",
         "wheel, executor type": "timewheel, executor type",
         "wheel, tick 1 ms": "timewheel, tick 1 ms", "wheel, tick 10 ms": "timewheel, tick 10 ms",
         "no deadline": "without a deadline", "object, asio": "the object, Asio",
         "object, wheel": "the object, timewheel", "object, idle_timer": "the object, idle_timer"}


TITLES = {
    "arm_cancel": "arm, wait and cancel, before all others",
    "arm_cancel_late": "arm, wait and cancel, after all others",
    "rearm": "re-arm a random timer",
    "rearm_sequential": "re-arm one after the other",
    "timeouts": "requests, of which 1 in 20 times out",
    "two_threads": "two threads re-arm, real time",
    "remote_cancel": "armed and cancelled by another thread, real time",
    "touch": "activity",
    "cancel_after": "one at a time, deadline before all others",
    "cancel_after_late": "one at a time, deadline after all others",
    "cancel_after_64_at_a_time": "64 at a time, deadline before all others",
    "cancel_after_late_64_at_a_time": "64 at a time, deadline after all others",
    "cancel_after_any_64_at_a_time": "64 at a time, `any_io_executor`",
    "cancel_after_shared": "one at a time, context for two threads",
    "cancel_after_shared_64_at_a_time": "64 at a time, context for two threads",
    "mass_expiry": "all due within 1 ms",
    "stream": "spread over 1 s",
    "hold_exponential": "re-armed as they expire, exponential delays",
    "hold_bimodal": "re-armed as they expire, short and long delays",
    "hold_constant": "re-armed as they expire, equal delays",
    "jobs_add_remove": "add and remove a job",
    "jobs_fire": "jobs due at once, real time",
    "bare_insert": "insert",
    "bare_refile": "move a random node",
    "bare_expire": "expire all",
    "loops_arm_cancel": "arm and cancel, before all others",
    "loops_rearm": "re-arm a random timer",
}


class Samples:
    def __init__(self, values, unit):
        self.values, self.unit = values, unit
        self.median = statistics.median(values)

    def __str__(self):
        return self.number(self.median)

    def spread(self):
        return f"{self.number(min(self.values))} to {self.number(max(self.values))}"

    @staticmethod
    def number(value):
        digits = 0 if value >= 100 or value == int(value) else 1 if value >= 10 else 2
        return f"{value:,.{digits}f}".replace(",", " ")


def say(words):
    print(f"== {words}", file=sys.stderr, flush=True)


# -- Measuring ---------------------------------------------------------------------------------


def run_benchmarks(program, arguments, raw):
    """What the program is made with, and the samples: {(workload, n): {subject: Samples}}.

    The output of the program is kept in the file `raw`.
    """
    results = collections.defaultdict(dict)
    made_with = {}
    last = None
    with (
        subprocess.Popen([program, *arguments], stdout=subprocess.PIPE, text=True) as process,
        open(raw, "w", encoding="utf-8") as copy,
    ):
        for text in process.stdout:
            copy.write(text)
            result = json.loads(text)
            if "workload" not in result:
                made_with = result
                continue
            key = result["workload"], result["n"]
            if key != last:
                say(f"{key[0]}, {size(key[1])}")
                last = key
            results[key][result["subject"]] = Samples(result["samples"], result["unit"])
    if process.returncode != 0:
        sys.exit("a benchmark failed, so there is no report")
    return made_with, results


def compile_times(root, boost_include, rounds):
    """CPU seconds to compile nothing but a header, in turns."""
    system = ["-isystem", boost_include] if boost_include else []
    command = ["g++", "-std=c++20", "-fsyntax-only", "-I", root / "include", *system, "-x", "c++", "-"]
    samples = {ASIO: [], WHEEL: []}
    headers = {ASIO: "boost/asio/steady_timer.hpp", WHEEL: "timewheel/steady_timer.hpp"}
    for _ in range(rounds):
        for subject, header in headers.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, input=f"#include <{header}>\n", text=True, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            samples[subject].append(used)
    return {subject: Samples(values, "s") for subject, values in samples.items()}


def traced_timer_calls(program):
    """The calls of timerfd_settime that strace counts, or nothing without it."""
    if not shutil.which("strace"):
        return {}
    calls = {}
    for subject in (ASIO, WHEEL):
        with tempfile.NamedTemporaryFile("r") as log:
            subprocess.run(
                ["strace", "-f", "-c", "-e", "trace=timerfd_settime", "-o", log.name, program,
                 f"timer_calls_{subject}"],
                check=True, stdout=subprocess.DEVNULL,
            )
            match = re.search(r"^ *\S+ +\S+ +\S+ +(\d+) .*timerfd_settime", log.read(), re.MULTILINE)
        calls[f"{subject}, by strace"] = Samples([float(match.group(1)) if match else 0.0], "calls")
    return calls


def derive(results):
    """The figures that are put together from others."""
    if ("timer_calls", 2) in results:
        results[("timer_calls", 2)]["one call"] = Samples([1.0], "calls")
    for workload, n in list(results):
        if workload == "bare_refile":
            results[("bare_vs_list", n)] = {
                "relink": results[(workload, n)]["list, no order"],
                **{name: results[(f"bare_{name}", n)][WHEEL] for name in ("insert", "refile", "expire")},
            }
    small, large = ("arm_cancel", 10_000), ("arm_cancel", 10_000_000)
    if small in results and large in results:
        results[("growth_arm_cancel", large[1])] = {
            "10k": results[small][WHEEL], "10M": results[large][WHEEL]
        }


# -- What is said about it ----------------------------------------------------------------------


def judge(results, quick):
    """For each target: the target, the value or None, and whether that is enough."""
    for target in TARGETS:
        if quick and not target.quick:
            continue
        value = target.measure(results)
        yield target, value, value is None or target.reached(value)


def bound(target, value):
    if value is None:
        return ""
    return f"{'at most ' if target.at_most else ''}{value:g}{target.unit}"


def print_targets(results, quick):
    good = True
    for target, value, reached in judge(results, quick):
        good = good and reached
        measured = "-" if value is None else f"{value:.2f}{target.unit}"
        verdict = "not in this Boost" if value is None else "ok" if reached else "short"
        print(f"{target.name:50} {measured:>9}   must {bound(target, target.must):14} {verdict}")
    return good


def command_output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def machine():
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"^model name\s*: (.*)$", cpuinfo, re.MULTILINE)
    memory = re.search(r"MemTotal: +(\d+)", pathlib.Path("/proc/meminfo").read_text(encoding="utf-8"))
    cache = pathlib.Path("/sys/devices/system/cpu/cpu0/cache/index3/size")
    cache_size = ""
    if cache.exists():
        cache_size = f"{int(cache.read_text().rstrip().rstrip('K')) >> 10} MiB of L3 cache, "
    return (
        f"{model.group(1) if model else os.uname().machine}, {os.cpu_count()} CPUs, "
        + cache_size
        + f"{int(memory.group(1)) / (1 << 20):.0f} GiB, Linux {os.uname().release.split('-')[0]}"
    )


def commit(root):
    """The last one that changed the library: others don't change what is measured."""
    git = ["git", "-C", root]
    changed = command_output(*git, "status", "--porcelain", "--", "include")
    last = command_output(*git, "log", "-1", "--format=%h", "--", "include")
    return last + (" and changes" if changed else "")


def crossover(results, workload):
    """From which n on Asio's median is above ours; between two sizes by interpolation."""
    ratios = sorted(
        (n, subjects[ASIO].median / subjects[WHEEL].median)
        for (name, n), subjects in results.items()
        if name == workload and ASIO in subjects and WHEEL in subjects
    )
    worse = [i for i, (_, ratio) in enumerate(ratios) if ratio < 1]
    if not worse:
        return f"at all sizes from {size(ratios[0][0])} on"
    if worse[-1] == len(ratios) - 1:
        return f"at no size up to {size(ratios[-1][0])}"
    (n1, r1), (n2, r2) = ratios[worse[-1]], ratios[worse[-1] + 1]
    n = math.exp(math.log(n1) + (math.log(n2) - math.log(n1)) * (1 - r1) / (r2 - r1))
    digits = 10 ** (len(str(round(n))) - 1)
    return f"from about {size(round(n / digits) * digits)} on"


def table(columns, header, rows):
    options = ',options="header"' if header else ""
    return "\n".join(
        [f'[cols="{columns}"{options}]', "|==="]
        + (["|" + " |".join(header), ""] if header else [])
        + ["|" + " |".join(row) for row in rows]
        + ["|===", ""]
    )


def comparison(results, *workloads):
    """A table with a row for each size and subject."""
    rows = []
    for workload in workloads:
        title = TITLES[workload]
        for (name, n), subjects in sorted(results.items()):
            if name != workload:
                continue
            pending = size(n)
            for subject, samples in subjects.items():
                ratio = ""
                if ASIO in subjects and subject != ASIO:
                    ratio = f"{subjects[ASIO].median / samples.median:.2f}"
                rows.append([title, pending, NAMES.get(subject, subject), str(samples),
                             samples.spread(), ratio])
                title = pending = ""
    header = ["workload", "timers", "", "median", "spread", "times as fast as Asio"]
    if not any(row[-1] for row in rows):
        header, rows = header[:-1], [row[:-1] for row in rows]
    return table(",".join(["4,>1,3,>2,>3,>2".split(",")[i] for i in range(len(header))]), header, rows)


def losses(results):
    """Where Asio's median is not above ours."""
    found = collections.defaultdict(list)
    for (workload, n), subjects in sorted(results.items()):
        if workload in TITLES and not workload.startswith("loops_"):
            if ASIO in subjects and WHEEL in subjects:
                ratio = subjects[ASIO].median / subjects[WHEEL].median
                if ratio < 1.005:
                    found[workload].append(f"{ratio:.2f} times as fast as Asio with {size(n)}")
    for workload, ratios in found.items():
        kind = "`cancel_after`, " if workload.startswith("cancel_after") else ""
        kind = "timers that expire, " if workload in ("stream", "mass_expiry") else kind
        yield f"* {kind}{TITLES[workload]}: {', '.join(ratios)}"


def lines(results, workload, subjects):
    found = {}
    for subject in subjects:
        points = [
            (n, by_subject[subject].median)
            for (name, n), by_subject in sorted(results.items())
            if name == workload and subject in by_subject
        ]
        if len(points) > 1:
            found[NAMES.get(subject, subject)] = points
    return found


PLOTS = {
    "arm_cancel": ("Arm, wait and cancel, before all others", [ASIO, WHEEL]),
    "arm_cancel_late": ("Arm, wait and cancel, after all others", [ASIO, WHEEL]),
    "rearm": ("Re-arm a random timer", [ASIO, WHEEL]),
    "touch": ("Activity on an idle connection",
              [ASIO, "wheel re-arm", WHEEL, "wheel, time known", "bare store", "clock alone"]),
    "mass_expiry": ("All timers due within 1 ms", [ASIO, WHEEL]),
    "bare_refile": ("Move a node in the bare structure",
                    ["std::multimap", "binary heap", WHEEL, "list, no order"]),
}


def draw(results, folder):
    folder.mkdir(exist_ok=True)
    for workload, (title, subjects) in PLOTS.items():
        svg = plot.log_lines(title, "timers", "ns per operation", lines(results, workload, subjects))
        (folder / f"{workload}.svg").write_text(svg, encoding="utf-8")
    shares = {n: subjects for (name, n), subjects in results.items() if name == "lateness_share"}
    limits = sorted(n for n in shares if n) + [0]

    def label(i):
        if limits[i] == 0:
            return "more"
        return f"{limits[i] / 1000:g}"

    svg = plot.bars(
        "How late handlers run, 100 000 per second", "up to this many milliseconds late", "% of all",
        [label(i) for i in range(len(limits))],
        {NAMES.get(name, name): [shares[n][name].median for n in limits] for name in shares[limits[0]]},
    )
    (folder / "lateness.svg").write_text(svg, encoding="utf-8")


def image(name, words):
    return f"image::benchmarks/{name}.svg[{words},opts=inline]\n"


def write_chapter(root, made_with, results, load, commit_measured):
    draw(results, root / "doc" / "benchmarks")
    target_rows = [
        [
            target.name.replace("<", "`<", 1).replace(">", ">`", 1) if "<" in target.name else target.name,
            bound(target, target.must),
            bound(target, target.aim),
            "-" if value is None else f"{value:.2f}{target.unit}",
            "not in this Boost" if value is None else "yes" if reached else "*no*",
        ]
        for target, value, reached in judge(results, quick=False)
    ]
    lost = list(losses(results)) or ["* Nowhere in this run."]
    late_rows = [
        [NAMES.get(subject, subject)]
        + [str(results[(f"lateness_{what}", 5000)][subject]) for what in ("median", "p99", "p999", "max")]
        for subject in results[("lateness_median", 5000)]
    ]
    echo_rows = [
        [size(n), NAMES[subject]]
        + [str(results[(f"echo_{what}", n)][subject]) for what in ("median", "p99", "max", "round_trips")]
        for (name, n) in sorted(results) if name == "echo_median"
        for subject in (ASIO, WHEEL)
    ]
    memory_rows = [
        [NAMES.get(subject, subject), str(samples)]
        for subject, samples in results[("memory", 1_000_000)].items()
    ]
    call_rows = [
        [subject.replace("asio", "Asio").replace("wheel", "timewheel"), str(samples)]
        for subject, samples in results[("timer_calls", 2)].items() if subject != "one call"
    ]
    compile_rows = [
        [NAMES[subject], str(samples), samples.spread()]
        for subject, samples in results[("compile", 0)].items()
    ]
    chapter = [
        "// Made by test/bench/report; changes here will be lost.",
        "== Benchmarks\n",
        "What Asio's timers and these cost, measured in one process and one run by "
        "`sh test/bench/report`, which has also made this page. `sh test/bench/report --quick` "
        "prints in a minute whether the figures that matter are reached on your machine.\n",
        "=== How this was measured\n",
        table("1,4", [], [
            ["machine", machine()],
            ["load average", f"{load[0]:.1f} before, {load[1]:.1f} after"],
            ["compiler", made_with["compiler"]],
            ["Boost", made_with["boost"]],
            ["commit", f"{commit_measured}, {datetime.date.today()}"],
        ]),
        "Every timer is really waited for, since Asio's does not touch its queue before. Asio's timers "
        "and ours exist at the same time and are sampled in turns; a figure is the median of the "
        "samples, in nanoseconds of this thread's CPU time for one operation if nothing else is said, "
        "and the spread goes from the least to the most. Completions are counted: a lost or doubled "
        "one fails the run. Handlers hold one pointer, and the context is polled after each 64 "
        "operations. `executor type` names timers whose executor is that of `io_context`; the others "
        "have the default, `any_io_executor`. The clock is read for each operation that needs it, "
        "which on a virtual machine may be a good part of the cost.\n",
        "=== What is to be reached\n",
        "How many times Asio's timer takes as long, or, where it says at most, how many times ours "
        "takes as much. The deadline of an operation is what `cancel_after` adds to the operation.\n",
        table("5,>2,>2,>2,^1", ["workload", "must", "aim", "measured", "reached"], target_rows),
        "What bounds those that are out of reach is told in <<_what_bounds_the_speed>>.\n",
        "=== Where Asio's timer is as good, or better\n",
        *lost,
        "",
        f"Timers that are re-armed at random cost less here {crossover(results, 'rearm')}; "
        f"timers that are armed after all others and cancelled, {crossover(results, 'arm_cancel_late')}; "
        f"timers that are armed before all others and cancelled, {crossover(results, 'arm_cancel')}; "
        f"timers that expire together, {crossover(results, 'mass_expiry')}.\n",
        "=== Timers that are cancelled or moved\n",
        image("arm_cancel", "Time to arm and cancel a timer that is due first"),
        image("arm_cancel_late", "Time to arm and cancel a timer that is due last"),
        image("rearm", "Time to re-arm a timer"),
        comparison(
            results, "arm_cancel", "arm_cancel_late", "rearm", "rearm_sequential", "timeouts",
            "two_threads", "remote_cancel"
        ),
        "=== Idle timeouts\n",
        image("touch", "Time to note an activity"),
        "The alternative to a touch is to re-arm. `time known` is `touch(time_point)` with one reading "
        "of the clock for 64 activities. `storing it` is what no touch can do without: the time goes to a "
        "place chosen at random among as many objects of the size of an `idle_timer`.\n",
        comparison(results, "touch"),
        "=== Deadlines of operations\n",
        "An operation that posts its handler, with and without a deadline, while 1000 timers are "
        "pending; one at a time, or 64, started by a handler. The context has a concurrency hint of 1 or "
        "2, and the executor is that of `io_context`, or `any_io_executor`. Asio's own adapter needs "
        "a strand where several threads run the context. The ratio is of the whole, the operation "
        "included.\n",
        comparison(
            results, "cancel_after", "cancel_after_late", "cancel_after_64_at_a_time",
            "cancel_after_late_64_at_a_time", "cancel_after_any_64_at_a_time", "cancel_after_shared",
            "cancel_after_shared_64_at_a_time"
        ),
        "=== Jobs\n",
        "A `wheel` with a thread pool of one thread, beside what one would write without it: a map from "
        "numbers to Asio's timers behind a mutex, whose handlers post to the pool. A job is added and "
        "removed while so many others wait, or so many jobs are due at once and run.\n",
        comparison(results, "jobs_add_remove", "jobs_fire"),
        "=== Timers that expire\n",
        image("mass_expiry", "Time for a timer that expires with many others"),
        comparison(
            results, "mass_expiry", "stream", "hold_exponential", "hold_bimodal", "hold_constant"
        ),
        "=== I/O during a mass expiry\n",
        "Round trips of a client in another thread with an echo server in the context whose timers all "
        "expire within 1 ms, in microseconds, until the last handler has run.\n",
        table("1,2,>2,>2,>2,>2", ["timers", "timer", "median", "99 %", "longest", "round trips"], echo_rows),
        "=== How late handlers run\n",
        image("lateness", "Histogram of lateness"),
        "5000 timers by 1 to 100 ms, in microseconds. A timer that rounds up to a tick is later on "
        "purpose; none may be early.\n",
        table("2,>1,>1,>1,>1", ["timer", "median", "99 %", "99.9 %", "most"], late_rows),
        "=== Memory\n",
        "Bytes of heap for each of a million timers that are waited for, the object included.\n",
        table("2,>1", ["timer", "bytes"], memory_rows),
        "=== System calls\n",
        "Calls of `timerfd_settime` for 10 000 timers that are armed, cancelled and polled in turn, "
        "while a later one is pending.\n",
        table("2,>1", ["timer", "calls"], call_rows),
        "=== The bare wheel\n",
        image("bare_refile", "Time to move a node"),
        "Without clock, lock and handlers; beside a binary heap whose nodes know their places, a "
        "multimap, and a list in no order. Delays are up to an hour of 1 ms ticks.\n",
        comparison(results, "bare_insert", "bare_refile", "bare_expire"),
        "=== Event loops in C\n",
        "They report nothing when a timer is cancelled or moved, so there is no handler to run.\n",
        comparison(results, "loops_arm_cancel", "loops_rearm"),
        "=== Compile time\n",
        "CPU seconds for a source file with nothing but `<steady_timer.hpp>`, without making code.\n",
        table("2,>1,>2", ["header", "median", "spread"], compile_rows),
    ]
    (root / "doc" / "benchmarks.adoc").write_text("\n".join(chapter), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--boost-include", default="")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()

    program = options.build / "test" / "bench" / "timewheel_bench"
    load_before, commit_measured = os.getloadavg()[0], commit(options.root)
    arguments = ["--quick", *QUICK] if options.quick else []
    available = re.search(r"MemAvailable: +(\d+)", pathlib.Path("/proc/meminfo").read_text())
    if not options.quick and int(available.group(1)) < 8 << 20:
        say("less than 8 GiB of memory: no more than a million timers")
        arguments += ["--largest", "1000000"]
    made_with, results = run_benchmarks(program, arguments, options.build / "samples.jsonl")
    say("compile time")
    results[("compile", 0)] = compile_times(options.root, options.boost_include, 3 if options.quick else 5)
    derive(results)
    if options.quick:
        sys.exit(0 if print_targets(results, quick=True) else 1)
    results[("timer_calls", 2)].update(traced_timer_calls(program))
    load = load_before, os.getloadavg()[0]
    write_chapter(options.root, made_with, results, load, commit_measured)
    print_targets(results, quick=False)
    say("wrote doc/benchmarks.adoc")


main()
