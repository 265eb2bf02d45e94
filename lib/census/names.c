/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of node types, directions and nodes, and patterns for names. */
#include "config.h"

#include "census-private.h"

#include <string.h>

static const char *const type_names[MEMRA_N_KNOWN_TYPES] = {
  [MCU_NODE_KERNEL] = "kernel",
  [MCU_NODE_MEMCPY] = "memcpy",
  [MCU_NODE_MEMSET] = "memset",
  [MCU_NODE_HOST] = "host",
  [MCU_NODE_GRAPH] = "child-graph",
  [MCU_NODE_EMPTY] = "empty",
  [MCU_NODE_WAIT_EVENT] = "wait-event",
  [MCU_NODE_EVENT_RECORD] = "event-record",
  [MCU_NODE_EXT_SEMAS_SIGNAL] = "ext-semas-signal",
  [MCU_NODE_EXT_SEMAS_WAIT] = "ext-semas-wait",
  [MCU_NODE_MEM_ALLOC] = "mem-alloc",
  [MCU_NODE_MEM_FREE] = "mem-free",
  [MCU_NODE_BATCH_MEM_OP] = "batch-mem-op",
  [MCU_NODE_CONDITIONAL] = "conditional",
};

static const char *const direction_names[] = {
  [MEMRA_COPY_UNKNOWN] = "unknown",
  [MEMRA_COPY_HOST_TO_DEVICE] = "host-to-device",
  [MEMRA_COPY_DEVICE_TO_HOST] = "device-to-host",
  [MEMRA_COPY_DEVICE_TO_DEVICE] = "device-to-device",
  [MEMRA_COPY_HOST_TO_HOST] = "host-to-host",
  [MEMRA_COPY_FILL] = "fill",
};

char *
_memra_type_dup_name (guint32 type)
{
  return type < G_N_ELEMENTS (type_names) ? g_strdup (type_names[type]) : g_strdup_printf ("unknown-%u", type);
}

const char *
_memra_census_type_name (MemraCensus *census, guint32 type)
{
  g_autofree char *name = NULL;

  if (type < G_N_ELEMENTS (type_names))
    return type_names[type];
  name = _memra_type_dup_name (type);
  return _memra_census_intern (census, name);
}

gboolean
_memra_census_type_from_name (const char *name, guint32 *type)
{
  guint64 number;

  for (guint32 i = 0; i < G_N_ELEMENTS (type_names); i++)
    if (strcmp (name, type_names[i]) == 0)
      {
        *type = i;
        return TRUE;
      }
  if (!g_str_has_prefix (name, "unknown-")
      || !g_ascii_string_to_unsigned (name + strlen ("unknown-"), 10, G_N_ELEMENTS (type_names), G_MAXUINT32, &number,
                                      NULL))
    return FALSE;
  *type = (guint32) number;
  return TRUE;
}

const char *
_memra_copy_direction_to_string (MemraCopyDirection direction)
{
  return direction_names[direction];
}

char *
_memra_census_name_node (const MemraCensus *census, guint32 number)
{
  const MemraNode *node = _memra_census_node (census, number);
  g_autofree char *type = NULL;

  if (node->type == MCU_NODE_KERNEL && node->record != MEMRA_NO_RECORD && node->record < census->n_kernels)
    return g_strdup_printf ("Kernel %u %s", node->record, census->kernels[node->record].function->name);
  if ((node->type == MCU_NODE_MEMCPY || node->type == MCU_NODE_MEMSET) && node->record < census->copies->len)
    {
      const MemraCopy *copy = &g_array_index (census->copies, MemraCopy, node->record);

      return copy->direction == MEMRA_COPY_FILL
                 ? g_strdup_printf ("Copy %u (fill of %" G_GUINT64_FORMAT " bytes)", node->record, copy->bytes)
                 : g_strdup_printf ("Copy %u (%s, %" G_GUINT64_FORMAT " bytes)", node->record,
                                    _memra_copy_direction_to_string (copy->direction), copy->bytes);
    }
  type = _memra_type_dup_name (node->type);
  return g_strdup_printf ("Node %u (%s)", number, type);
}

gboolean
_memra_pattern_matches (const char *pattern, const char *name)
{
  const char *star = NULL, *retry = NULL; /* behind the last star, and how far it has reached */

  while (*name != '\0')
    if (*pattern == '*')
      {
        star = ++pattern;
        retry = name;
      }
    else if (*pattern == '?')
      {
        pattern++;
        name = g_utf8_next_char (name);
      }
    else if (*pattern == *name)
      {
        pattern++;
        name++;
      }
    else if (star != NULL)
      {
        pattern = star;
        name = retry = g_utf8_next_char (retry);
      }
    else
      return FALSE;
  while (*pattern == '*')
    pattern++;
  return *pattern == '\0';
}
