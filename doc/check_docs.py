#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks the rules of the documentation that no tool knows: check_docs.py SOURCE_FOLDER XML_FOLDER

- Each `async_*` member documents its signature, its cancellation and its errors, in this order.
- Code that is shown comes from a file that is compiled and run.
- Each header has the licence, the guard that its path gives, and nothing of Asio's internals.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

ASYNC_HEADINGS = ["Completion signature", "Per-operation cancellation", "Errors"]
LICENCE = re.compile(
    r"// Copyright \(c\) \d{4} .+\n"
    r"// SPDX-License-Identifier: BSL-1\.0\n"
    r"// Distributed under the Boost Software License, Version 1\.0\. \(See accompanying file LICENSE\.\)\n"
)
DOC_COMMENT = re.compile(r"/\*\*.*?\*/|///[^\n]*", re.DOTALL)
CPP_BLOCK = re.compile(r"\[source, *(?:cpp|c\+\+)\b")
CODE_IN_COMMENT = re.compile(r"[@\\](?:code|verbatim)\b|```")


class Report:
    """Counts what was looked at, and collects what is wrong."""

    def __init__(self):
        self.checked = {"async members": 0, "guide files": 0, "headers": 0}
        self.complaints = []

    def complain(self, where, what):
        self.complaints.append(f"{where}: {what}")


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def check_async_members(xml_folder, report):
    for file in sorted(xml_folder.glob("*.xml")):
        for member in ElementTree.parse(file).iter("memberdef"):
            name = member.findtext("name")
            if not name.startswith("async_") or member.get("prot") != "public":
                continue
            report.checked["async members"] += 1
            titles = [
                "".join(section.find("title").itertext())
                for section in member.find("detaileddescription").iter("simplesect")
                if section.get("kind") == "par"
            ]
            found = [title for title in titles if title in ASYNC_HEADINGS]
            if found != ASYNC_HEADINGS:
                location = member.find("location")
                report.complain(
                    f"{location.get('file')}:{location.get('line')}",
                    f"{name} has the headings {found}, and should have {ASYNC_HEADINGS}",
                )


def check_guide(file, report):
    report.checked["guide files"] += 1
    lines = file.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        if not CPP_BLOCK.match(line):
            continue
        block = [text for text in lines[number : number + 4] if not re.match(r"\.\w", text)][:3]
        if block[::2] != ["----", "----"] or not block[1].startswith("include::{snippets}/"):
            report.complain(
                f"{file}:{number}",
                "a [source,cpp] block consists of one line include::{snippets}/...[]",
            )


def check_header(file, include_folder, report):
    report.checked["headers"] += 1
    text = file.read_text(encoding="utf-8")
    path = file.relative_to(include_folder)

    def forbid(pattern, inside, why):
        for match in re.finditer(pattern, inside):
            report.complain(f"{file}:{line_of(inside, match.start())}", why)

    if not LICENCE.match(text):
        report.complain(f"{file}:1", "does not begin with the three lines of the licence")
    guard = re.sub(r"\W", "_", str(path)).upper()
    if f"\n#ifndef {guard}\n#define {guard}\n" not in text or not text.endswith("\n#endif\n"):
        report.complain(f"{file}:5", f"is not guarded by {guard}")
    forbid(r"#endif[^\n]+", text, "#endif has no comment, since it would go out of date")
    forbid(CODE_IN_COMMENT, text, "code in a comment comes from a test, by @snippet")
    forbid(r"asio(?:::|/)detail\b", text, "Asio's internals are not used")
    if str(path) != "timewheel/config.hpp":
        code = DOC_COMMENT.sub(lambda comment: "\n" * comment.group().count("\n"), text)
        forbid(r"boost::asio", code, "boost::asio is spelled in config.hpp only; write asio")


def main(source_folder, xml_folder):
    report = Report()
    check_async_members(xml_folder, report)
    for file in sorted((source_folder / "doc").rglob("*.adoc")):
        check_guide(file, report)
    for file in sorted((source_folder / "include").rglob("*.hpp")):
        check_header(file, source_folder / "include", report)
    for what, count in report.checked.items():
        if count == 0:
            report.complain(source_folder, f"no {what} found")
    for complaint in report.complaints:
        print(complaint)
    print(", ".join(f"{count} {what}" for what, count in report.checked.items()))
    sys.exit(1 if report.complaints else 0)


main(*map(pathlib.Path, sys.argv[1:3]))
