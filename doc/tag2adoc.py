#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Makes Asciidoctor attributes of Doxygen's tag file: tag2adoc.py TAG_FILE ADOC_FILE

`{ref-steady_timer}` is a link to that type, `{ref-manual_clock-advance}` one to a member; of
overloads, to the first.
"""
import sys
import xml.etree.ElementTree as ElementTree

NAMESPACE = "timewheel"


def links(tag_file):
    for compound in ElementTree.parse(tag_file).getroot():
        scope = compound.findtext("name").split("::")
        if scope[0] != NAMESPACE:
            continue
        if scope[1:]:
            yield scope[1:], compound.findtext("filename")
        for member in compound.findall("member"):
            page, anchor = member.findtext("anchorfile"), member.findtext("anchor")
            yield [*scope[1:], member.findtext("name")], f"{page}#{anchor}"


def main(tag_file, adoc_file):
    attributes = {}
    for name, address in links(tag_file):
        attributes.setdefault("-".join(name), f"link:reference/{address}[{'::'.join(name)}]")
    if not attributes:
        sys.exit(f"{tag_file}: nothing in namespace {NAMESPACE}")
    with open(adoc_file, "w", encoding="utf-8") as out:
        for name, link in attributes.items():
            if name.replace("-", "").replace("_", "").isalnum():  # else an operator or a destructor
                out.write(f":ref-{name}: {link}\n")


main(*sys.argv[1:])
