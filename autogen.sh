#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Makes configure from a git checkout. It configures nothing: run ./configure (or one in another folder) afterwards.
set -e
cd "$(dirname "$0")"

missing=
for pair in autoconf:autoconf automake:automake libtoolize:libtool pkg-config:pkg-config; do
  command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair#*:}"
done
if [ -n "$missing" ]; then
  echo "autogen.sh: missing:$missing" >&2
  echo "On Debian and Ubuntu: apt-get install$missing" >&2
  exit 1
fi

exec autoreconf --force --install "$@"
