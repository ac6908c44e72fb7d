#!/bin/bash
# Unpacks Debian packages into a root filesystem, without their scripts: unpack.sh ROOT PACKAGE...
set -eu
root=$(realpath -m "$1"); shift
debs=$(mktemp -d); trap 'rm -rf "$debs"' EXIT
for folder in bin sbin lib lib64; do mkdir -p "$root/usr/$folder"; [ -e "$root/$folder" ] || ln -s "usr/$folder" "$root/$folder"; done
# The sandbox user of apt may not write here.
(cd "$debs" && apt-get download -qq -o APT::Sandbox::User=root "$@")
for deb in "$debs"/*.deb; do dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$root"; done
