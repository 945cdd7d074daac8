#!/bin/sh
# layout.sh PROGRAM DIRECTORY: fills DIRECTORY with the files of the image: PROGRAM, this machine's CA certificates, and the
# user credfresh. As root, because that user owns two of the directories.
set -eu
# /run/credfresh (state, control socket) and /run/credentials (published credentials) exist as mount points for volumes.
# An engine that fills a new volume from the image sets their owner on it.
mkdir -p "$2/etc/ssl/certs" "$2/etc/credfresh" "$2/run/credfresh" "$2/run/credentials"
cp "$1" "$2/credfresh"
cp /etc/ssl/certs/ca-certificates.crt "$2/etc/ssl/certs/"
echo 'credfresh:x:65532:65532::/:/nonexistent' >"$2/etc/passwd"
echo 'credfresh:x:65532:' >"$2/etc/group"
chown 65532:65532 "$2/run/credfresh" "$2/run/credentials"
