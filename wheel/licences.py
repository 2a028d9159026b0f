"""Prints the licences of the code that the wheel holds: crates in the core, libraries in the jar, Rust's own.

    python wheel/licences.py TARGET JAR

A text that several share stands once. Ends with an error where a crate states no licence.
"""

import json
import subprocess
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAMES = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")


def crates(target: str) -> Iterator[dict[str, Any]]:
    """Packages that are linked into the core, without those that only run while it is built."""
    asked = ["cargo", "metadata", "--format-version=1", "--locked", f"--filter-platform={target}"]
    found = json.loads(subprocess.run(asked, check=True, capture_output=True).stdout)
    packages = {package["id"]: package for package in found["packages"]}
    needs = {
        node["id"]: [
            to["pkg"] for to in node["deps"] if any(kind["kind"] is None for kind in to["dep_kinds"])
        ]
        for node in found["resolve"]["nodes"]
    }
    todo = [key for key, package in packages.items() if package["name"] == "steelyard-core"]
    seen = set[str]()
    while todo:
        if (key := todo.pop()) in seen or "proc-macro" in packages[key]["targets"][0]["kind"]:
            continue
        seen.add(key)
        todo += needs[key]
    yield from (packages[key] for key in seen if packages[key]["source"])


def main(target: str, jar: str) -> None:
    """Prints them: one line for each crate, then each text with its holders."""
    texts = defaultdict[str, list[str]](list)
    for crate in sorted(crates(target), key=lambda crate: (crate["name"], crate["version"])):
        title = f"{crate['name']} {crate['version']}"
        if not crate["license"]:
            sys.exit(f"{title} states no licence")
        print(f"{title}: {crate['license']}")
        for place in sorted(Path(crate["manifest_path"]).parent.iterdir()):
            if place.is_file() and place.name.upper().startswith(NAMES):
                texts[place.read_text().strip()].append(title)
    print("The Rust standard library: MIT OR Apache-2.0")
    print("_jdbc.jar holds jackson-databind (Apache-2.0) and HdrHistogram (CC0-1.0 OR BSD-2-Clause)")
    with zipfile.ZipFile(jar) as opened:
        for name in sorted(opened.namelist()):
            if name.startswith("META-INF/") and any(word in name.upper() for word in NAMES):
                texts[opened.read(name).decode().strip()].append(f"_jdbc.jar, {name}")
    for text, holders in sorted(texts.items(), key=lambda found: found[1]):
        print(f"\n{'=' * 100}\n{', '.join(dict.fromkeys(holders))}\n\n{text}")


if __name__ == "__main__":
    main(*sys.argv[1:])
