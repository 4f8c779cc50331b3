#!/bin/sh
# Collects the files of the image: Node, the programs that Git sources need, and their shared libraries.
set -eu
out=$1

# Prints the path of a program or library and of every library that it loads.
closure() {
  echo "$1"
  ldd "$1" 2>/dev/null | sed -nE 's/^.*=> (\/[^ ]+) .*$/\1/p; s/^\t(\/[^ ]+) .*$/\1/p'
}

# Copies a file to the same path below the output folder; follows symbolic links.
add() {
  [ -e "$out$1" ] && return
  mkdir -p "$out$(dirname "$1")"
  cp -L --preserve=mode "$1" "$out$1"
}

programs='git ssh ssh-keygen gpg tini sh env'
node=$(readlink -f "$(command -v node)")
for name in $programs; do
  for file in $(closure "/usr/bin/$name"); do add "$file"; done
done
for file in $(closure "$node"); do [ "$file" = "$node" ] || add "$file"; done
mkdir -p "$out/usr/local/bin"
cp "$node" "$out/usr/local/bin/node"
ln -s /opt/gatewright/dist/main.js "$out/usr/local/bin/gatewright"

# Git calls itself under several names, and a separate program for https.
core=$(git --exec-path)
mkdir -p "$out$core"
ln -s /usr/bin/git "$out$core/git"
for name in git-upload-pack; do ln -s git "$out/usr/bin/$name"; done
for file in $(closure "$core/git-remote-http"); do add "$file"; done
ln -s git-remote-http "$out$core/git-remote-https"
mkdir -p "$out/usr/share/git-core/templates"

# Git and scripts expect /bin/sh, for example for an ssh command with options.
ln -s usr/bin "$out/bin"

add /etc/ssl/certs/ca-certificates.crt
printf 'root:x:0:0:root:/:/bin/sh\ngatewright:x:65532:65532:gatewright:/tmp:/bin/sh\n' >"$out/etc/passwd"
printf 'root:x:0:\ngatewright:x:65532:\n' >"$out/etc/group"
printf 'hosts: files dns\n' >"$out/etc/nsswitch.conf"
cp /etc/os-release "$out/etc/os-release"

# Records the Debian packages of the copied files where vulnerability scanners look for them.
mkdir -p "$out/var/lib/dpkg/status.d"
find "$out" -type f | sed "s|^$out||" | while read -r file; do
  dpkg -S "$file" 2>/dev/null || dpkg -S "${file#/usr}" 2>/dev/null || dpkg -S "/usr$file" 2>/dev/null || true
done | sed -nE 's/^([a-z0-9.+-]+)(:[a-z0-9]+)?: .*/\1/p' | sort -u | while read -r package; do
  dpkg -s "$package" >"$out/var/lib/dpkg/status.d/$package"
  mkdir -p "$out/usr/share/doc/$package"
  cp "/usr/share/doc/$package/copyright" "$out/usr/share/doc/$package/" 2>/dev/null || true
done

# Group 0 has the owner's permissions, for platforms that assign a random user to each container.
mkdir -p "$out/tmp" "$out/var/lib/gatewright"
chmod 1777 "$out/tmp"
chown 65532:0 "$out/var/lib/gatewright"
chmod 0770 "$out/var/lib/gatewright"
