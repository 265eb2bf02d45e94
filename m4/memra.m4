dnl SPDX-License-Identifier: LGPL-2.1-or-later

dnl MEMRA_MISSING (WHAT, DEBIAN-PACKAGE): remembers something that is required and missing.
AC_DEFUN([MEMRA_MISSING],
[memra_missing="$memra_missing
  $1"
 AS_CASE([" $memra_missing_packages "], [*" $2 "*], [], [memra_missing_packages="$memra_missing_packages $2"])])

dnl MEMRA_REPORT_MISSING: ends configure if anything was missing, and names all of it.
AC_DEFUN([MEMRA_REPORT_MISSING],
[AS_IF([test -n "$memra_missing"],
  [AC_MSG_ERROR([these are missing:$memra_missing

On Debian and Ubuntu: apt-get install$memra_missing_packages
])])])

dnl MEMRA_APPEND_FLAGS (LANGUAGE, VARIABLE, FLAGS): appends each flag that the compiler takes.
AC_DEFUN([MEMRA_APPEND_FLAGS],
[AC_LANG_PUSH([$1])
for memra_flag in $3; do
  AS_VAR_PUSHDEF([memra_cached], [memra_cv_[]_AC_LANG_ABBREV[]_flag_$memra_flag])
  AC_CACHE_CHECK([whether the $1 compiler takes $memra_flag], [memra_cached],
    [memra_save_flags=$[]_AC_LANG_PREFIX[]FLAGS
     dnl gcc takes any -Wno-x silently: ask for the positive form. clang only warns of what it does not know.
     _AC_LANG_PREFIX[]FLAGS="$memra_save_flags -Werror `AS_ECHO(["$memra_flag"]) | $SED 's/^-Wno-/-W/'`"
     AC_COMPILE_IFELSE([AC_LANG_SOURCE([[int memra_conftest;]])],
       [AS_VAR_SET([memra_cached], [yes])], [AS_VAR_SET([memra_cached], [no])])
     _AC_LANG_PREFIX[]FLAGS=$memra_save_flags])
  AS_VAR_IF([memra_cached], [yes], [AS_VAR_APPEND([$2], [" $memra_flag"])])
  AS_VAR_POPDEF([memra_cached])
done
AC_LANG_POP([$1])])

dnl MEMRA_GTK_DOC (MINIMUM): the switches that GTK_DOC_CHECK has, for rules of our own. With that macro autoreconf wants
dnl gtkdocize and "make dist" wants gtk-doc of everybody, and its rules want a Makefile of their own.
AC_DEFUN([MEMRA_GTK_DOC],
[AC_ARG_ENABLE([gtk-doc],
  [AS_HELP_STRING([--enable-gtk-doc], [make the reference manual, with gtk-doc $1 or later @<:@no@:>@])],
  [], [enable_gtk_doc=no])
AC_ARG_WITH([html-dir],
  [AS_HELP_STRING([--with-html-dir=DIR], [where the reference manual goes @<:@DATADIR/gtk-doc/html@:>@])],
  [HTML_DIR=$with_html_dir], [HTML_DIR='${datadir}/gtk-doc/html'])
AC_SUBST([HTML_DIR])
memra_gtk_doc_summary="no: left out (--enable-gtk-doc, with gtk-doc $1 or later)"
AS_IF([test "$enable_gtk_doc" = yes],
  [AC_MSG_CHECKING([for gtk-doc $1 or later])
   PKG_CHECK_EXISTS([gtk-doc >= $1], [AC_MSG_RESULT([yes])],
     [AC_MSG_RESULT([no])
      AC_MSG_ERROR([--enable-gtk-doc: gtk-doc $1 or later is not there (Debian package: gtk-doc-tools).])])
   memra_gtk_doc_summary=yes])
AM_CONDITIONAL([ENABLE_GTK_DOC], [test "$enable_gtk_doc" = yes])])

dnl MEMRA_CUDA (MINIMUM): looks for nvcc and for cuda.h, each for itself; neither is required.
dnl Sets NVCC (empty: none), NVCC_GENCODE, CUDA_CPPFLAGS, memra_have_cuda_h, memra_nvcc_summary, memra_cuda_h_summary.
AC_DEFUN([MEMRA_CUDA],
[AC_ARG_WITH([cuda],
  [AS_HELP_STRING([--with-cuda=DIR],
    [CUDA toolkit @<:@$CUDA_HOME, /usr/local/cuda, or the distribution's@:>@; --without-cuda: do without])],
  [], [with_cuda=yes])
AC_ARG_VAR([NVCC], [CUDA compiler, $1 or later])
AC_ARG_VAR([NVCCFLAGS], [flags for the CUDA compiler])
AC_ARG_VAR([NVCC_GENCODE], [architectures for the CUDA compiler, as -gencode options @<:@the first of every generation@:>@])

dnl A toolkit without a targets/ folder keeps its headers in include/; the distribution's are in /usr/include.
AS_CASE([$with_cuda],
  [no], [memra_cuda_dirs=],
  [yes], [memra_cuda_dirs="$CUDA_HOME /usr/local/cuda /usr/lib/cuda /usr/lib/nvidia-cuda-toolkit /usr"],
  [memra_cuda_dirs=$with_cuda])

memra_nvcc_version=
memra_nvcc_summary="no: left out, captures of the bundled layers run on the host driver only (--with-cuda=DIR, nvcc >= $1)"
AS_IF([test "$with_cuda" = no], [NVCC=])
AC_MSG_CHECKING([for nvcc $1 or later])
AS_IF([test -z "$NVCC"],
  [for memra_dir in $memra_cuda_dirs; do
     AS_IF([test -z "$NVCC" && test -x "$memra_dir/bin/nvcc"], [NVCC=$memra_dir/bin/nvcc])
   done
   AS_IF([test -z "$NVCC" && test "$with_cuda" = yes], [NVCC=`command -v nvcc`])])
AS_IF([test -n "$NVCC"],
  [memra_nvcc_version=`$NVCC --version 2>&AS_MESSAGE_LOG_FD | $SED -n 's/.*release \([[0-9]][[0-9.]]*\).*/\1/p'`
   AS_VERSION_COMPARE(["${memra_nvcc_version:-0}"], [$1],
     [AC_MSG_RESULT([$NVCC is ${memra_nvcc_version:-of an unknown version}: too old])
      memra_nvcc_summary="no: left out, $NVCC is ${memra_nvcc_version:-of an unknown version}, older than $1"
      NVCC=],
     [AC_MSG_RESULT([$NVCC ($memra_nvcc_version)])],
     [AC_MSG_RESULT([$NVCC ($memra_nvcc_version)])])],
  [AC_MSG_RESULT([no])])

dnl It needs a host compiler that it likes. Nothing of ours depends on that compiler, so a newer one is tried as well.
AS_IF([test -n "$NVCC"],
  [AC_MSG_CHECKING([whether nvcc works])
   AS_ECHO(['extern "C" __global__ void memra_conftest (float *x) { x[[0]] += 1.0f; }']) > conftest.cu
   memra_works=no
   for memra_flag in "" -allow-unsupported-compiler; do
     AS_IF([test "$memra_works" = no && $NVCC $NVCCFLAGS $memra_flag -fatbin -o conftest.fatbin conftest.cu >&AS_MESSAGE_LOG_FD 2>&1],
       [memra_works=yes
        NVCCFLAGS="$NVCCFLAGS${memra_flag:+ $memra_flag}"])
   done
   rm -f conftest.cu conftest.fatbin
   AC_MSG_RESULT([$memra_works])
   AS_IF([test "$memra_works" = no],
     [memra_nvcc_summary="no: left out, $NVCC does not compile (see config.log)"
      NVCC=])])

dnl Machine code for the first of every generation from 5.0 on runs on all of it; PTX of the oldest and the newest for
dnl what lies between and beyond.
AS_IF([test -n "$NVCC"],
  [AC_MSG_CHECKING([for the GPU generations that nvcc knows])
   memra_arches=`$NVCC --list-gpu-arch 2>&AS_MESSAGE_LOG_FD | $SED -n 's/^compute_\([[0-9]]*\)$/\1/p' | sort -n | $AWK '$[1] >= 50 && ! seen@<:@int ($[1] / 10)@:>@++' | tr '\n' ' ' | $SED 's/ $//'`
   memra_newest=`$NVCC --list-gpu-arch 2>&AS_MESSAGE_LOG_FD | $SED -n 's/^compute_\([[0-9]]*\)$/\1/p' | sort -n | tail -n 1`
   AC_MSG_RESULT([$memra_arches])
   AS_IF([test -z "$NVCC_GENCODE"],
     [memra_oldest=
      for memra_arch in $memra_arches; do
        AS_IF([test -z "$memra_oldest"], [memra_oldest=$memra_arch])
        AS_VAR_APPEND([NVCC_GENCODE], [" -gencode arch=compute_$memra_arch,code=sm_$memra_arch"])
      done
      AS_VAR_APPEND([NVCC_GENCODE], [" -gencode arch=compute_$memra_oldest,code=compute_$memra_oldest"])
      AS_IF([test "$memra_newest" != "$memra_oldest"],
        [AS_VAR_APPEND([NVCC_GENCODE], [" -gencode arch=compute_$memra_newest,code=compute_$memra_newest"])])])
   memra_nvcc_summary="yes: $NVCC $memra_nvcc_version for sm_`AS_ECHO(["$memra_arches"]) | $SED 's/ /, sm_/g'`"])

memra_have_cuda_h=no
memra_cuda_h_summary="no: left out, there is no cuda.h to hold our declarations of the driver's ABI against"
CUDA_CPPFLAGS=
AC_MSG_CHECKING([for cuda.h])
for memra_dir in $memra_cuda_dirs; do
  for memra_include in "$memra_dir/include" "$memra_dir/targets/$host_cpu-linux/include" "$memra_dir/targets/sbsa-linux/include" "$memra_dir"; do
    AS_IF([test "$memra_have_cuda_h" = no && test -f "$memra_include/cuda.h"],
      [memra_have_cuda_h=yes
       memra_cuda_version=`$SED -n 's/^@%:@define CUDA_VERSION \([[0-9]]*\).*/\1/p' "$memra_include/cuda.h"`
       memra_cuda_h_summary="yes: $memra_include/cuda.h ($memra_cuda_version)"
       AS_IF([test "$memra_include" != /usr/include], [CUDA_CPPFLAGS="-isystem $memra_include"])
       AC_MSG_RESULT([$memra_include/cuda.h ($memra_cuda_version)])])
  done
done
AS_IF([test "$memra_have_cuda_h" = no], [AC_MSG_RESULT([no])])
AS_CASE([$with_cuda], [yes | no], [],
  [AS_IF([test -z "$NVCC" && test "$memra_have_cuda_h" = no],
     [AC_MSG_ERROR([--with-cuda=$with_cuda: neither a usable bin/nvcc nor include/cuda.h is there.])])])
AC_SUBST([CUDA_CPPFLAGS])])
