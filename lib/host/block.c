/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * block.c: the memory behind allocations. Freed blocks are kept for a while: so that the next allocation of the size
 * gets the address again, as on a GPU, and so that reading freed memory is a wrong result and not a crash.
 */
#include "core-private.h"

#include <stdlib.h>
#include <string.h>

#define KEEP_BYTES  ((size_t) 256 << 20)
#define KEEP_BLOCKS 8192

typedef struct
{
  HostDevice *device;
  bool host;
  char *base;
  size_t size;
  uint64_t stream;  /* id of the stream it was freed in, 0: none */
  HostFence *fence; /* nullable; owned */
  GList by_age;     /* in `kept` */
  GList by_size;    /* in its queue of `sizes` */
} Block;

static GQueue kept = G_QUEUE_INIT; /* Block, owned; oldest first */
static GHashTable *sizes;          /* size -> GQueue of Block, newest last; owned */
static size_t kept_bytes;

static void
block_unlink (Block *block)
{
  GQueue *queue = g_hash_table_lookup (sizes, GSIZE_TO_POINTER (block->size));

  g_queue_unlink (&kept, &block->by_age);
  g_queue_unlink (queue, &block->by_size);
  if (g_queue_is_empty (queue))
    g_hash_table_remove (sizes, GSIZE_TO_POINTER (block->size));
  kept_bytes -= block->size;
}

static char *
block_release (Block *block)
{
  char *base = block->base;

  host_fence_unref (block->fence);
  g_free (block);
  return base;
}

static bool
is_free_for (const Block *block, HostStream *stream)
{
  return block->fence == NULL || block->fence->done || (stream != NULL && stream->id == block->stream);
}

char *
host_block_take (HostDevice *device, bool host, size_t size, HostStream *stream)
{
  void *base = NULL;

  if (host_settings.reuse && sizes != NULL)
    {
      GQueue *queue = g_hash_table_lookup (sizes, GSIZE_TO_POINTER (size));

      for (GList *link = queue != NULL ? queue->tail : NULL; link != NULL; link = link->prev)
        {
          Block *block = link->data;

          if (block->device == device && block->host == host && is_free_for (block, stream))
            {
              block_unlink (block);
              return block_release (block);
            }
        }
    }
  return posix_memalign (&base, HOST_ALIGNMENT, size) == 0 ? base : NULL;
}

static void
trim (void)
{
  for (GList *link = kept.head, *next; link != NULL && (kept_bytes > KEEP_BYTES || kept.length > KEEP_BLOCKS);
       link = next)
    {
      Block *block = link->data;

      next = link->next;
      if (block->fence == NULL || block->fence->done)
        {
          block_unlink (block);
          free (block_release (block));
        }
    }
}

void
host_block_give (HostDevice *device, bool host, char *base, size_t size, HostStream *stream, HostFence *fence)
{
  Block *block = g_new0 (Block, 1);
  GQueue *queue;

  if (fence == NULL && host_settings.poison)
    memset (base, HOST_POISON, size);
  block->device = device;
  block->host = host;
  block->base = base;
  block->size = size;
  block->stream = stream != NULL ? stream->id : 0;
  block->fence = fence != NULL ? host_fence_ref (fence) : NULL;
  block->by_age.data = block;
  block->by_size.data = block;
  if (sizes == NULL)
    sizes = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_queue_free);
  queue = g_hash_table_lookup (sizes, GSIZE_TO_POINTER (size));
  if (queue == NULL)
    {
      queue = g_queue_new ();
      g_hash_table_insert (sizes, GSIZE_TO_POINTER (size), queue);
    }
  g_queue_push_tail_link (&kept, &block->by_age);
  g_queue_push_tail_link (queue, &block->by_size);
  kept_bytes += size;
  trim ();
}

void
host_block_shutdown (void)
{
  while (!g_queue_is_empty (&kept))
    {
      Block *block = g_queue_peek_head (&kept);

      block_unlink (block);
      free (block_release (block));
    }
  g_clear_pointer (&sizes, g_hash_table_unref);
}
