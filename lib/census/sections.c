/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sections of a sequence: each layer is one, and keeps its own as parts of it. */
#include "config.h"

#include "census-private.h"

/* A child graph is a clone, whose nodes were created in the same order and so are walked in the same order. */
static void
adopt (MemraCensus *census, guint32 child, guint32 size, const MemraCensus *member)
{
  const char *layer = _memra_census_node (census, child)->section;

  if (layer == NULL || member->nodes->len != size)
    return;
  for (guint32 i = 0; i < size; i++)
    {
      const char *own = _memra_census_node (member, i)->section;
      g_autofree char *both = own != NULL ? g_strdup_printf ("%s: %s", layer, own) : NULL;

      if (both != NULL)
        _memra_census_node (census, child + 1 + i)->section = _memra_census_intern (census, both);
    }
}

void
_memra_census_adopt_sections (MemraCensus *census, const GPtrArray *members)
{
  guint32 child = 0;

  for (guint i = 0; i < members->len && child < census->nodes->len; i++)
    {
      guint32 end = child + 1;

      while (end < census->nodes->len && _memra_census_node (census, end)->depth > 0)
        end++;
      adopt (census, child, end - child - 1, members->pdata[i]);
      child = end;
    }
}
