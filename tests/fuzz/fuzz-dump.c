/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The driver's debug dump of a graph, from any bytes: its format is not documented, and may change with any driver. */
#include "config.h"

#include "fuzz.h"

#include "census/reading-private.h"

static void
check_node (const MemraDump *dump, CUgraphNode node)
{
  const char *kernel = _memra_dump_get_kernel (dump, node);
  guint n_bodies = 0;
  const guint *bodies = _memra_dump_get_bodies (dump, node, &n_bodies);

  g_assert_true (kernel == NULL || kernel[0] != '\0');
  for (guint i = 0; bodies != NULL && i < n_bodies; i++)
    {
      guint n;

      _memra_dump_get_cluster (dump, bodies[i], &n);
    }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  MemraDump *dump = _memra_dump_parse (size > 0 ? (const char *) data : "", size);
  CUgraphNode one = GSIZE_TO_POINTER (1);

  if (_memra_dump_is_of (dump, &one, 1))
    {
      guint n;
      const CUgraphNode *nodes = _memra_dump_get_cluster (dump, 0, &n);

      for (guint i = 0; i < n; i++)
        check_node (dump, nodes[i]);
    }
  for (gsize handle = 0; handle < 32; handle++)
    check_node (dump, GSIZE_TO_POINTER (handle));
  _memra_dump_free (dump);
  return 0;
}
