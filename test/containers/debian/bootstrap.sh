#!/bin/sh
# Makes an image of a suite of Debian where no registry can be reached:  bootstrap.sh SUITE IMAGE
set -eu
suite=$1 image=$2
folder=$(mktemp -d /var/tmp/gatewright-debian-XXXXXX)
trap 'rm -rf "$folder"' EXIT
debootstrap --variant=minbase --include=ca-certificates "$suite" "$folder/root" >&2
# Behind a proxy that opens TLS, what runs in the image trusts whom this machine trusts.
authorities=/etc/ssl/certs/ca-certificates.crt
if [ -f $authorities ]; then cp $authorities "$folder/root$authorities"; fi
# A mirror that is kept may be older than its own dates say.
echo 'Acquire::Check-Valid-Until "false";' >"$folder/root/etc/apt/apt.conf.d/kept-mirror"
rm -rf "$folder/root/var/cache/apt/archives" "$folder/root/var/lib/apt/lists"/*
tar -C "$folder/root" --exclude='./dev/*' -c . | docker import - "$image" >/dev/null
