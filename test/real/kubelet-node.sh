#!/bin/sh
# kubelet-node.sh DIR KUBE ADDRESS: a node of one kubelet and Debian's containerd, as process 1 of namespaces of its own:
#   unshare --mount --pid --ipc --uts --fork --kill-child sh kubelet-node.sh ...
# It takes the network as it finds it: the API server on loopback, and ADDRESS on an interface. DIR has kubeconfig, and
# images/ with archives for containerd; it gets the logs, and var/, which is the node's /var. KUBE has the kubelet.
# HUP restarts the kubelet; TERM ends the node with all of its containers.
set -eu
dir=$1
kube=$2
address=$3
root=$dir/root

# The machine's own programs, read-only, in a root of its own: with chroot instead of pivot_root what is executed in a
# container would find the machine's root.
mkdir -p "$root" "$dir/var"
mount -t tmpfs -o mode=0755 node "$root"
cd "$root"
mkdir usr etc dev proc sys run tmp var node kube old
for name in bin sbin lib lib32 lib64; do
    [ ! -L "/$name" ] || cp -a "/$name" "$name"
done
for name in usr etc; do
    mount --rbind "/$name" "$name"
    mount -o remount,bind,ro "$name"
done
mount --rbind /dev dev
mount --bind "$dir/var" var
mount --bind "$dir" node
mount --bind "$kube" kube
mount -t proc proc proc
mount -t sysfs sys sys
mount --rbind /sys/fs/cgroup sys/fs/cgroup
mount -t tmpfs run run
# The kubelet asks for these and would set them for the whole machine.
for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
    kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
    file=run/$(basename "${setting%=*}")
    echo "${setting#*=}" >"$file"
    mount --bind "$file" "proc/sys/${setting%=*}"
done
pivot_root . old
umount -l /old
cd /
hostname node1

mkdir -p /var/lib/kubelet /var/lib/containerd /var/log /run/containerd
# The kubelet's mounts have to be seen in containers.
mount --bind /var/lib/kubelet /var/lib/kubelet
mount --make-rshared /var/lib/kubelet

# restrict_oom_score_adj: where root may not lower it. native: works on every file system. The network's folder is made where
# it is missing, which /etc, read-only here, does not allow.
cat >/run/containerd.toml <<'END'
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "localhost/pause:test"
restrict_oom_score_adj = true
disable_apparmor = true
[plugins."io.containerd.grpc.v1.cri".cni]
conf_dir = "/run/cni/net.d"
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "native"
END
cat >/run/kubelet.yaml <<'END'
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
readOnlyPort: 0
oomScoreAdj: 0
failSwapOn: false
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
makeIPTablesUtilChains: false
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 1Mi}
# How often it looks at a pod at least, and at its volumes then.
syncFrequency: 10s
END

containerd --config /run/containerd.toml >/node/containerd.log 2>&1 &
containerd=$!
tries=0
until ctr version >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || { echo "containerd does not answer" >&2; exit 1; }
    sleep 0.1
done
for image in /node/images/*.tar; do
    ctr -n k8s.io images import --snapshotter native "$image" >/dev/null
done

# Kubernetes 1.27 removed the flag: that is the only kind there is.
remote=
! /kube/kubelet --help 2>&1 | grep -q -- '--container-runtime string' || remote=--container-runtime=remote

start_kubelet() {
    # shellcheck disable=SC2086
    /kube/kubelet $remote --config=/run/kubelet.yaml --kubeconfig=/node/kubeconfig --cert-dir=/var/lib/kubelet/pki \
        --container-runtime-endpoint=unix:///run/containerd/containerd.sock \
        --hostname-override=node1 --node-ip="$address" >>/node/kubelet.log 2>&1 &
    kubelet=$!
}

# Cgroups outlast their namespace, those of containers that were not deleted, too.
end() {
    trap - HUP TERM
    kill "$kubelet" || true
    wait "$kubelet" || true
    for task in $(ctr -n k8s.io tasks ls -q); do
        ctr -n k8s.io tasks delete -f "$task" >/dev/null || true
    done
    kill "$containerd"
    find /sys/fs/cgroup -depth -type d -path '*/k8s.io*' -exec rmdir {} + 2>/dev/null || true
    exit 0
}

again=0
trap end TERM
trap 'again=1' HUP
start_kubelet
while :; do
    status=0
    wait "$kubelet" || status=$?
    if [ $again = 1 ]; then
        again=0
        kill "$kubelet"
        wait "$kubelet" || true
    elif kill -0 "$kubelet" 2>/dev/null; then
        continue
    else
        echo "the kubelet ended with $status" >&2
        exit 1
    fi
    start_kubelet
done
