/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* image.c: the kernels of the cases, as PTX for a GPU; tests/conformance/host-kernels.c holds the same for the host. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/mman.h>
#include <unistd.h>

#include "runtime.h"

const char conf_ptx[] = ".version 7.0\n"
                        ".target sm_52\n"
                        ".address_size 64\n"
                        ".visible .entry conf_empty ()\n"
                        "{\n"
                        "  ret;\n"
                        "}\n"
                        ".visible .entry conf_add (.param .u64 p0, .param .u64 p1, .param .u64 p2)\n"
                        "{\n"
                        "  .reg .pred %p<2>;\n"
                        "  .reg .b32 %r<7>;\n"
                        "  .reg .b64 %rd<8>;\n"
                        "  ld.param.u64 %rd1, [p0];\n"
                        "  ld.param.u64 %rd2, [p1];\n"
                        "  ld.param.u64 %rd3, [p2];\n"
                        "  mov.u32 %r1, %ctaid.x;\n"
                        "  mov.u32 %r2, %ntid.x;\n"
                        "  mov.u32 %r3, %tid.x;\n"
                        "  mad.lo.s32 %r4, %r1, %r2, %r3;\n"
                        "  cvt.u64.u32 %rd4, %r4;\n"
                        "  setp.ge.u64 %p1, %rd4, %rd3;\n"
                        "  @%p1 bra DONE;\n"
                        "  shl.b64 %rd5, %rd4, 2;\n"
                        "  add.u64 %rd6, %rd1, %rd5;\n"
                        "  add.u64 %rd7, %rd2, %rd5;\n"
                        "  ld.global.u32 %r5, [%rd7];\n"
                        "  ld.global.u32 %r6, [%rd6];\n"
                        "  add.u32 %r6, %r6, %r5;\n"
                        "  st.global.u32 [%rd6], %r6;\n"
                        "DONE:\n"
                        "  ret;\n"
                        "}\n"
                        ".visible .entry conf_store (.param .u64 p0, .param .u32 p1)\n"
                        "{\n"
                        "  .reg .b32 %r<2>;\n"
                        "  .reg .b64 %rd<2>;\n"
                        "  ld.param.u64 %rd1, [p0];\n"
                        "  ld.param.u32 %r1, [p1];\n"
                        "  st.global.u32 [%rd1], %r1;\n"
                        "  ret;\n"
                        "}\n"
                        ".visible .entry conf_mix (.param .u8 p0, .param .u32 p1, .param .u64 p2, .param .u16 p3,\n"
                        "                          .param .u64 p4)\n"
                        "{\n"
                        "  .reg .b32 %r<3>;\n"
                        "  .reg .b64 %rd<2>;\n"
                        "  ld.param.u8 %r1, [p0];\n"
                        "  ld.param.u32 %r2, [p1];\n"
                        "  ld.param.u64 %rd1, [p4];\n"
                        "  add.u32 %r2, %r2, %r1;\n"
                        "  st.global.u32 [%rd1], %r2;\n"
                        "  ret;\n"
                        "}\n"
                        ".visible .entry conf_big (.param .align 8 .b8 p0[64])\n"
                        "{\n"
                        "  .reg .b32 %r<2>;\n"
                        "  .reg .b64 %rd<2>;\n"
                        "  ld.param.u64 %rd1, [p0];\n"
                        "  ld.param.u32 %r1, [p0+60];\n"
                        "  st.global.u32 [%rd1], %r1;\n"
                        "  ret;\n"
                        "}\n"
                        ".visible .entry conf_huge (.param .align 8 .b8 p0[4000], .param .u32 p1)\n"
                        "{\n"
                        "  .reg .b32 %r<3>;\n"
                        "  .reg .b64 %rd<2>;\n"
                        "  ld.param.u64 %rd1, [p0];\n"
                        "  ld.param.u32 %r1, [p0+3996];\n"
                        "  ld.param.u32 %r2, [p1];\n"
                        "  add.u32 %r1, %r1, %r2;\n"
                        "  st.global.u32 [%rd1], %r1;\n"
                        "  ret;\n"
                        "}\n";

static void *
read_file (const char *path)
{
  FILE *file = fopen (path, "rb");
  if (file == NULL)
    return NULL;
  fseek (file, 0, SEEK_END);
  long size = ftell (file);
  rewind (file);
  char *bytes = size > 0 ? malloc ((size_t)size + 1) : NULL;
  if (bytes != NULL)
    {
      size_t got = fread (bytes, 1, (size_t)size, file);
      bytes[got] = '\0';
    }
  fclose (file);
  return bytes;
}

/* Loads the PTX, or the file where the driver does not take PTX; w.image and w.image_path say which it was. */
int
conf_load_image (const char *host_module)
{
  int ptx_result = cu.cuModuleLoadData (&w.module, conf_ptx);
  if (ptx_result == 0)
    {
      w.image = conf_ptx;
      int fd = memfd_create ("conformance.ptx", 0);
      if (fd < 0 || write (fd, conf_ptx, sizeof conf_ptx - 1) != (ssize_t)sizeof conf_ptx - 1)
        return MCU_ERROR_FILE_NOT_FOUND;
      snprintf (w.image_path, sizeof w.image_path, "/proc/self/fd/%d", fd);
      return 0;
    }
  if (host_module == NULL)
    return ptx_result;
  w.image = read_file (host_module);
  if (w.image == NULL)
    return MCU_ERROR_FILE_NOT_FOUND;
  snprintf (w.image_path, sizeof w.image_path, "%s", host_module);
  return cu.cuModuleLoad (&w.module, host_module);
}
