#!/bin/busybox sh
# Entry point of credfresh-setup:
#   own UID:GID DIRECTORY...     creates directories and sets their owner
#   copy FILE TO                 copies by rename: readers see the old file, none, or the new one
#   keep FILE TO [FILE TO]...    copies, and runs until it gets a signal: for a DaemonSet
set -eu
busybox=/bin/busybox

own() {
    owner=$1
    shift
    $busybox mkdir -p "$@"
    $busybox chown "$owner" "$@"
}

copy() {
    $busybox mkdir -p "${2%/*}"
    $busybox cp "$1" "$2.new"
    $busybox mv "$2.new" "$2"
}

keep() {
    while [ $# -gt 0 ]; do
        copy "$1" "$2"
        shift 2
    done
    trap 'exit 0' TERM INT
    while :; do
        $busybox sleep 3600 &
        wait $!
    done
}

case ${1:-} in
own | copy | keep) "$@" ;;
*)
    echo "setup: own UID:GID DIRECTORY... | copy FILE TO | keep FILE TO [FILE TO]..." >&2
    exit 2
    ;;
esac
