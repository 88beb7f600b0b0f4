#!/bin/sh
# The control plane that `make test-cluster` deploys to: etcd from its package, and
# kube-apiserver with kube-controller-manager, built once from Debian's source package (all that
# they stand on is inside of it). Five to ten minutes on two cores, 1.2 GB while it lasts, 210 MB
# kept below the folder that is given. Nothing is done where all is there.
set -eu
folder=$(mkdir -p "$1" && cd "$1" && pwd)
sources=${DEBIAN_SOURCES:-/etc/apt/sources.list.d/debian.sources}
tree="$folder/gopath/src/k8s.io/kubernetes"
openapi=k8s.io/kubernetes/vendor/k8s.io/kube-openapi/cmd/openapi-gen

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

again() {
    try=1
    until "$@"; do
        [ "$try" -lt 4 ] || return 1
        echo "it failed; trying again ($try)" >&2
        sleep $((try * 5))
        try=$((try + 1))
    done
}

install() {
    as_root apt-get update -qq &&
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null
}

# Lists of sources of its own: those of the machine stay as they are.
from_sources() {
    apt-get -o "Dir::Etc::sourcelist=$folder/sources.sources" -o Dir::Etc::sourceparts=/dev/null \
        -o "Dir::State::Lists=$folder/lists" -o "Dir::Cache=$folder/cache" \
        -o APT::Sandbox::User=root "$@"
}

get_source() {
    mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial" "$folder/src/deb"
    sed 's/^Types:.*$/Types: deb-src/' "$sources" >"$folder/sources.sources"
    from_sources update -qq &&
        (cd "$folder/src" && from_sources source --download-only -qq kubernetes)
}

unpack() {
    rm -rf "$folder/gopath" && mkdir -p "$tree"
    tar xzf "$folder"/src/kubernetes_*.orig.tar.gz -C "$tree" --strip-components=1
    tar xJf "$folder"/src/kubernetes_*.debian.tar.xz -C "$folder/src/deb"
    cd "$tree"
    grep -v '^#' "$folder/src/deb/debian/patches/series" | while read -r name; do
        patch -p1 -s <"$folder/src/deb/debian/patches/$name"
    done
    # The one inside crashes when it was compiled with a Go of today.
    rm -rf vendor/github.com/modern-go/reflect2
    cp -r /usr/share/gocode/src/github.com/modern-go/reflect2 vendor/github.com/modern-go/
}

# Definitions that the tarball leaves out, because they can be made.
generate() {
    go build -o "$folder/openapi-gen" "$openapi"
    inputs=$(grep -rlE '\+k8s:openapi-gen=true' --include=doc.go pkg staging/src/k8s.io vendor/k8s.io |
        xargs -n1 dirname | sort -u |
        sed -e 's#^staging/src/#k8s.io/kubernetes/vendor/#' -e 's#^pkg/#k8s.io/kubernetes/pkg/#' \
            -e 's#^vendor/#k8s.io/kubernetes/vendor/#' | sort -u |
        grep -vE 'testing|/test/|code-generator|sample-|component-base/version|kube-openapi' |
        tr '\n' ',')
    for name in version runtime util/intstr api/resource apis/meta/v1; do
        inputs="${inputs}k8s.io/kubernetes/vendor/k8s.io/apimachinery/pkg/$name,"
    done
    "$folder/openapi-gen" --logtostderr -i "${inputs%,}" -O zz_generated.openapi \
        -p k8s.io/kubernetes/pkg/generated/openapi -h hack/boilerplate/boilerplate.generatego.txt \
        -r "$folder/violations.txt" --output-base "$GOPATH/src"
}

build() {
    at=k8s.io/kubernetes/vendor/k8s.io/component-base/version
    said="-X $at.gitVersion=v1.20.2 -X $at.gitMajor=1 -X $at.gitMinor=20"
    for name in kube-apiserver kube-controller-manager; do
        go build -p 2 -ldflags "-s -w $said" -o "$folder/bin/$name" "k8s.io/kubernetes/cmd/$name"
    done
}

command -v kubectl >/dev/null 2>&1 || again install kubernetes-client
command -v etcd >/dev/null 2>&1 || again install etcd-server
command -v openssl >/dev/null 2>&1 || again install openssl
[ -x "$folder/bin/kube-apiserver" ] && [ -x "$folder/bin/kube-controller-manager" ] && exit 0
echo "building a cluster's control plane below $folder: this takes minutes, and once" >&2
again install golang-1.19-go golang-github-modern-go-reflect2-dev patch xz-utils
again get_source
export GOPATH="$folder/gopath" GO111MODULE=off GOFLAGS= GOCACHE="$folder/gocache" CGO_ENABLED=0
export PATH="/usr/lib/go-1.19/bin:$PATH"
unpack
generate
build
rm -rf "$folder/gopath" "$folder/gocache" "$folder/src" "$folder/lists" "$folder/cache" \
    "$folder/openapi-gen" "$folder/violations.txt" "$folder/sources.sources"
