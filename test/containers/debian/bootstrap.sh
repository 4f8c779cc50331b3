#!/bin/sh
# Builds an image of a Debian suite without a registry:  bootstrap.sh SUITE IMAGE
set -eu
suite=$1 image=$2
folder=$(mktemp -d /var/tmp/gatewright-debian-XXXXXX)
trap 'rm -rf "$folder"' EXIT
debootstrap --variant=minbase --include=ca-certificates "$suite" "$folder/root" >&2
# Behind a proxy that intercepts TLS, the image trusts the same certificate authorities as this machine.
authorities=/etc/ssl/certs/ca-certificates.crt
if [ -f $authorities ]; then cp $authorities "$folder/root$authorities"; fi
# A cached mirror may be past the Valid-Until date of its index.
echo 'Acquire::Check-Valid-Until "false";' >"$folder/root/etc/apt/apt.conf.d/kept-mirror"
rm -rf "$folder/root/var/cache/apt/archives" "$folder/root/var/lib/apt/lists"/*
tar -C "$folder/root" --exclude='./dev/*' -c . | docker import - "$image" >/dev/null
