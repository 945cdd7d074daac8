#!/bin/bash
# kube-build.sh DIR: builds a Kubernetes API server, kubectl and kubelet (1.20.2) into DIR/bin from Debian's own source
# package. Needs root, about twenty minutes and 1.4 GiB of memory. Only what is missing is built.
set -euo pipefail
dir=$(realpath -m "$1")
top=$(realpath "$(dirname "$0")/../..")
missing=
for command in kube-apiserver kubectl kubelet; do
    [ -x "$dir/bin/$command" ] || missing="$missing $command"
done
[ -n "$missing" ] || exit 0
mkdir -p "$dir/bin" "$dir/src"
cd "$dir/src"
export DEBIAN_FRONTEND=noninteractive HOME=${HOME:-/root}
apt-get update -qq
apt-get install -y -qq --no-install-recommends golang-1.19-go golang-github-modern-go-reflect2-dev dpkg-dev rsync gcc \
    libc6-dev >/dev/null
export PATH=/usr/lib/go-1.19/bin:$PATH GO111MODULE=off CGO_ENABLED=0 GOFLAGS= GOPATH=$dir/go GOCACHE=$dir/gocache
k=$GOPATH/src/k8s.io/kubernetes
if [ ! -d "$k" ]; then
    sh "$top/tools/static/deb-src.sh" "$dir/deb-src"
    APT_CONFIG=$dir/deb-src/apt.conf apt-get source --download-only -qq kubernetes
    mkdir -p "$(dirname "$k")"
    dpkg-source -x kubernetes_*.dsc "$k" >/dev/null
    # The vendored reflect2 is too old for Go 1.19: use Debian's.
    v=$k/vendor/github.com/modern-go/reflect2
    rm -rf "$v"
    mkdir "$v"
    cp /usr/share/gocode/src/github.com/modern-go/reflect2/*.go /usr/share/gocode/src/github.com/modern-go/reflect2/*.s "$v/"
    rm -f "$v"/*_test.go
fi
cd "$k"
if [ ! -s pkg/generated/openapi/zz_generated.openapi.go ]; then # Debian's source leaves it to the build
    go build -o "$dir/bin/openapi-gen" k8s.io/kubernetes/vendor/k8s.io/kube-openapi/cmd/openapi-gen
    dirs=$(grep -rl --include='*.go' -E '^// \+k8s:openapi-gen=' pkg cmd staging/src/k8s.io vendor 2>/dev/null |
        grep -vE '/testdata/|_test.go|/code-generator/|/sample-|vendor/k8s.io/(api|apimachinery)/' | xargs -n1 dirname |
        sort -u | sed -E 's#^staging/src/#k8s.io/kubernetes/vendor/#; t; s#^#k8s.io/kubernetes/#' | paste -sd,)
    "$dir/bin/openapi-gen" -O zz_generated.openapi --go-header-file hack/boilerplate/boilerplate.generatego.txt \
        -p k8s.io/kubernetes/pkg/generated/openapi -r /dev/null -i "$dirs"
fi
v=k8s.io/kubernetes/vendor/k8s.io/component-base/version
for command in $missing; do
    go build -p 2 -ldflags "-s -w -X $v.gitVersion=v1.20.2 -X $v.gitMajor=1 -X $v.gitMinor=20 -X $v.gitTreeState=clean" \
        -o "$dir/bin/$command.new" "k8s.io/kubernetes/cmd/$command"
    mv "$dir/bin/$command.new" "$dir/bin/$command" # only a whole one has the name
done
rm -rf "$GOCACHE" # of no more use than its size
