#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The bill of materials of the static program (SPDX 2.3, JSON) on standard output. What is in it is taken from the
linker's map: every archive and object that took part and is not ours belongs to a package of Debian, and these must be
just those that the program itself names in `credfresh version --verbose`."""
import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse
import uuid

# Of the parts that are linked; Debian's copyright files say more, of parts that are not.
LICENCES = {
    "cjson": "MIT", "curl": "curl", "expat": "MIT", "gcc": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "glibc": "LGPL-2.1-or-later", "libmicrohttpd": "LGPL-2.1-or-later", "libyaml": "MIT", "libzstd": "BSD-3-Clause",
    "openssl": "Apache-2.0", "zlib": "Zlib"}
REBUILT = {"libcjson.a": "cjson", "libcurl.a": "curl", "libmicrohttpd.a": "libmicrohttpd", "libssl.a": "openssl",
           "libcrypto.a": "openssl"}


def arguments():
    parser = argparse.ArgumentParser()
    for name in ("program", "version", "arch", "map", "libraries", "prefix", "sysroot", "sources"):
        parser.add_argument("--" + name, required=True)
    return parser.parse_args()


def digest(path, algorithm="sha256"):
    return hashlib.new(algorithm, pathlib.Path(path).read_bytes()).hexdigest()


def linked_files(map_path, build):
    """The archives of which members were taken, and the objects, less what was built here."""
    found = set()
    for line in pathlib.Path(map_path).read_text().splitlines():
        match = re.match(r"(/\S+\.a)\(\S+\)", line) or re.match(r"LOAD (/\S+\.o)$", line)
        if match and not os.path.realpath(match[1]).startswith(build):
            found.add(os.path.realpath(match[1]))
    return sorted(found)


def package_of(path, args):
    """The Debian source package that PATH comes from."""
    if path.startswith(os.path.realpath(args.prefix) + "/"):
        return REBUILT[os.path.basename(path)]
    if args.sysroot and path.startswith(os.path.realpath(args.sysroot) + "/"):
        inside = path[len(os.path.realpath(args.sysroot)):]
        for line in (pathlib.Path(args.sysroot) / "packages").read_text().splitlines():
            fields = line.split()
            if inside in fields[3:]:
                return fields[1]
        sys.exit(f"sbom: no package has {inside}")
    owner = subprocess.run(["dpkg", "-S", path], check=True, capture_output=True, text=True).stdout.split(": ")[0]
    return subprocess.run(["dpkg-query", "-W", "-f", "${source:Package}", owner], check=True, capture_output=True,
                          text=True).stdout


def identifier(kind, name):
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def licence_of(source):
    return LICENCES[re.sub(r"^gcc-.*", "gcc", source)]


def library_package(name, version, how, sources):
    licence = licence_of(name)
    package = {
        "SPDXID": identifier("Package", name), "name": name, "versionInfo": version,
        "supplier": "Organization: Debian", "downloadLocation": f"https://snapshot.debian.org/package/{name}/{version}/",
        "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION",
        "comment": "Debian's own archive" if how == "archive" else "rebuilt from Debian's source by tools/build-static.sh",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": f"pkg:deb/debian/{name}@{urllib.parse.quote(version)}?arch=source"}],
    }
    if how == "rebuilt":
        dsc = f"{name}_{version.split(':')[-1]}.dsc"
        package["packageFileName"] = dsc
        package["checksums"] = [{"algorithm": "SHA256", "checksumValue": digest(pathlib.Path(sources) / dsc)}]
    return package


def program_package(args):
    return {
        "SPDXID": "SPDXRef-Package-credfresh", "name": "credfresh", "versionInfo": args.version,
        "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "MIT", "copyrightText": "NOASSERTION", "packageFileName": "credfresh",
        "primaryPackagePurpose": "APPLICATION", "comment": f"statically linked for Linux on {args.arch}",
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest(args.program)}]}


def file_entry(path, source):
    return {"SPDXID": identifier("File", f"{source}-{os.path.basename(path)}"), "fileName": "./" + os.path.basename(path),
            "fileTypes": ["BINARY"], "licenseConcluded": licence_of(source), "copyrightText": "NOASSERTION",
            "checksums": [{"algorithm": "SHA1", "checksumValue": digest(path, "sha1")},
                          {"algorithm": "SHA256", "checksumValue": digest(path)}]}


def relation(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def main():
    args = arguments()
    build = os.path.realpath(os.path.dirname(args.program)) + "/"
    libraries = [line.split() for line in pathlib.Path(args.libraries).read_text().splitlines()]
    origin = {path: package_of(path, args) for path in linked_files(args.map, build)}
    # Not in the order of their paths, which are other ones on another machine.
    origin = dict(sorted(origin.items(), key=lambda item: (item[1], os.path.basename(item[0]))))
    named = {name for name, _, _ in libraries}
    if named != set(origin.values()):
        sys.exit(f"sbom: linked from {sorted(set(origin.values()))}, but the program names {sorted(named)}")
    packages = [program_package(args)] + [library_package(*library, args.sources) for library in libraries]
    files = [file_entry(path, source) for path, source in origin.items()]
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-Package-credfresh")]
    relations += [relation("SPDXRef-Package-credfresh", "STATIC_LINK", identifier("Package", name))
                  for name in sorted(named)]
    relations += [relation(entry["SPDXID"], "GENERATED_FROM", identifier("Package", source))
                  for entry, source in zip(files, origin.values())]
    created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    json.dump({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"credfresh-{args.version}-{args.arch}",
        "documentNamespace": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest(args.program))}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: credfresh tools/static/sbom.py"]},
        "packages": packages, "files": files, "relationships": relations}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
