#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# test-faults.sh: every public function through which a driver call can be reached is swept by a program of injected
# faults. Which ones these are is read out of the sources (driver-callers.awk), what is swept out of the programs. TAP.
set -u
LC_ALL=C
export LC_ALL

source=${G_TEST_SRCDIR:-$(dirname "$0")/..}
awk=${AM_TAP_AWK:-awk}
. "$source/tests/tap.sh"

# Swept as a part of another function's sweep: what, of what, and where the one calls the other.
cat > "$dir/within" << 'END'
memra_driver_get_default memra_driver_open        lib/driver/driver.c
memra_dsv4_add_inplace   memra_dsv4_layer_forward kernels/dsv4-layer.c
memra_dsv4_advance       memra_dsv4_layer_forward kernels/dsv4-layer.c
memra_dsv4_attention     memra_dsv4_layer_forward kernels/dsv4-layer.c
memra_dsv4_expert_matvec memra_dsv4_layer_forward kernels/dsv4-layer.c
memra_dsv4_expert_sum    memra_dsv4_layer_forward kernels/dsv4-layer.c
memra_dsv4_kv_append     memra_dsv4_layer_forward kernels/dsv4-layer.c
memra_dsv4_matvec        memra_dsv4_layer_forward kernels/dsv4-layer.c
memra_dsv4_rmsnorm       memra_dsv4_layer_forward kernels/dsv4-layer.c
memra_dsv4_rope          memra_dsv4_layer_forward kernels/dsv4-layer.c
memra_dsv4_route         memra_dsv4_layer_forward kernels/dsv4-layer.c
memra_dsv4_silu_gate     memra_dsv4_layer_forward kernels/dsv4-layer.c
END

echo "1..5"

# The recorder's files are no part of the library.
find "$source/include" "$source/lib/driver" "$source/lib/device" "$source/lib/census" "$source/lib/observe" \
  "$source/lib/capture" "$source/lib/gate" "$source/kernels" -name '*.[ch]' ! -name 'record-*' ! -name 'interpose-*' \
  | sort > "$dir/sources"
# shellcheck disable=SC2046
"$awk" -f "$source/tests/driver-callers.awk" $(cat "$dir/sources" "$dir/sources") | sort -u > "$dir/reaching"
sed -n 's/^  *\(memra_[a-z0-9_]*\);$/\1/p' "$source/lib/memra-capture.map" | sort > "$dir/public"
comm -12 "$dir/public" "$dir/reaching" > "$dir/wanted"
for program in "$source"/tests/test-faults-*.c; do
  grep -oh '"memra_[a-z0-9_ ]*"' "$program" | tr -d '"' | tr ' ' '\n' | sed "s|\$| $program|"
done | grep '^memra_' | sort -u > "$dir/swept-in"
cut -d' ' -f1 "$dir/swept-in" | sort -u > "$dir/swept"
cut -d' ' -f1 "$dir/within" | sort > "$dir/within-names"
sort "$dir/swept" "$dir/within-names" > "$dir/accounted"

# It finds what it should, and does not find everything.
callers_are_found () {
  for function in memra_capture_layer memra_stream_recover memra_buffer_unref memra_gate_run; do
    grep -qx "$function" "$dir/wanted" || { echo "$function calls the driver, and was not found"; return 1; }
  done
  for function in memra_stream_get_context memra_policy_check memra_census_from_json; do
    grep -qx "$function" "$dir/public" || { echo "there is no $function"; return 1; }
    ! grep -qx "$function" "$dir/wanted" || { echo "$function does not call the driver, and was found"; return 1; }
  done
}

called_where_they_are_swept () {
  while read -r function program; do
    type=$(sed -n "s/^G_DEFINE_AUTO.* (\([A-Za-z0-9]*\), $function)$/\1/p" "$source"/include/memra-capture/*.h)
    grep -qE "$function \(|g_auto(ptr)? \(${type:-none}\)" "$program" \
      || { echo "$program sweeps $function and never calls it"; return 1; }
  done < "$dir/swept-in"
}

called_where_they_are_part () {
  while read -r function whole file; do
    grep -q "$function (" "$source/$file" && grep -qx "$whole" "$dir/swept" \
      || { echo "$function is said to be part of $whole, $file"; return 1; }
  done < "$dir/within"
}

check "functions that reach the driver are told from those that do not" callers_are_found
check "every function that reaches the driver is swept" diff -u "$dir/wanted" "$dir/accounted"
check "what a program sweeps it calls" called_where_they_are_swept
check "what is swept within another function is called there" called_where_they_are_part
check "nothing is accounted for twice" sh -c 'test -z "$(uniq -d "$1")"' sh "$dir/accounted"

[ "$failed" -eq 0 ]
