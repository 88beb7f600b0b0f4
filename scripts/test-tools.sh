#!/bin/sh
# System packages that only the tests need: PostgreSQL, Redis, nginx, PowerDNS and dig, git,
# Chromium to look at pages with, the shells that complete words, Rust and a JDK, wrk for
# benchmarks, QEMU for programs of another processor, and a registry of container images with two
# tools that read them.
# Quick when all are there. No daemon is started: the tests start servers of their own, on free ports.
set -eu
settings=/etc/postgresql-common/createcluster.conf

has_postgres() {
    command -v initdb >/dev/null 2>&1 && return 0
    for program in /usr/lib/postgresql/*/bin/initdb; do
        [ -x "$program" ] && return 0
    done
    return 1
}

has_git() {
    command -v git >/dev/null 2>&1
}

has_browser() {
    for program in chromium chromium-browser google-chrome; do
        command -v "$program" >/dev/null 2>&1 && return 0
    done
    return 1
}

has_redis() {
    command -v redis-server >/dev/null 2>&1 && command -v openssl >/dev/null 2>&1
}

has_names() {
    command -v pdns_server >/dev/null 2>&1 && command -v dig >/dev/null 2>&1
}

has_nginx() {
    command -v nginx >/dev/null 2>&1 || [ -x /usr/sbin/nginx ]
}

has_load() {
    command -v wrk >/dev/null 2>&1
}

has_shells() {
    command -v zsh >/dev/null 2>&1 && command -v fish >/dev/null 2>&1
}

# Of presets: Cargo can be rustup's. Go, Bun and Deno come from package registries.
has_languages() {
    command -v cargo >/dev/null 2>&1 && command -v javac >/dev/null 2>&1 &&
        command -v jlink >/dev/null 2>&1
}

has_emulator() {
    command -v qemu-aarch64-static >/dev/null 2>&1
}

has_images() {
    command -v docker-registry >/dev/null 2>&1 && command -v skopeo >/dev/null 2>&1 &&
        command -v umoci >/dev/null 2>&1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

install() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null
}

# Debian makes a cluster and starts it when the server comes in, unless it was told not to.
install_postgres() {
    as_root apt-get update -qq && install postgresql-common &&
        as_root sed -ri 's/^#?(create_main_cluster) .*$/\1 = false/' "$settings" &&
        install postgresql
}

install_git() {
    as_root apt-get update -qq && install git
}

install_browser() {
    as_root apt-get update -qq && install chromium
}

install_redis() {
    as_root apt-get update -qq && install redis-server openssl
}

# Not started when it comes in: at run level 1 no service is.
install_names() {
    as_root apt-get update -qq &&
        as_root env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
            pdns-server pdns-backend-sqlite3 pdns-backend-bind bind9-dnsutils >/dev/null
}

install_nginx() {
    as_root apt-get update -qq &&
        as_root env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
            --no-install-recommends nginx-light >/dev/null
}

install_shells() {
    as_root apt-get update -qq && install zsh fish
}

install_languages() {
    as_root apt-get update -qq && install rustc cargo default-jdk-headless
}

install_load() {
    as_root apt-get update -qq && install wrk
}

install_emulator() {
    as_root apt-get update -qq && install qemu-user-static
}

# At run level 1 no service is started when it is installed.
install_images() {
    as_root apt-get update -qq &&
        as_root env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
            docker-registry skopeo umoci >/dev/null
}

install_missing() {
    { has_git || install_git; } && { has_postgres || install_postgres; } &&
        { has_browser || install_browser; } && { has_redis || install_redis; } &&
        { has_names || install_names; } && { has_nginx || install_nginx; } &&
        { has_shells || install_shells; } && { has_load || install_load; } &&
        { has_languages || install_languages; } && { has_emulator || install_emulator; } &&
        { has_images || install_images; }
}

has_git && has_postgres && has_browser && has_redis && has_names && has_nginx &&
    has_shells && has_load && has_languages && has_emulator && has_images && exit 0
command -v apt-get >/dev/null 2>&1 || {
    echo "the tests need git, PostgreSQL (initdb on PATH), redis-server, nginx, pdns_server, dig, Chromium, zsh, fish, wrk, cargo, a JDK, qemu-user-static, docker-registry, skopeo and umoci" >&2
    exit 1
}
try=1
until install_missing; do
    [ "$try" -lt 4 ] || exit 1
    echo "the installation failed; trying again ($try)" >&2
    sleep $((try * 5))
    try=$((try + 1))
done
