/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the device room keeps about a capture while it is open. */
#include "config.h"

#include "device-private.h"

static void
mark_clear (gpointer mark)
{
  g_free (((MemraMark *) mark)->name);
}

static void
owned_clear (gpointer item)
{
  MemraOwned *owned = item;

  owned->destroy (owned->data);
}

static guint64
capture_id (MemraContext *context, CUstream stream)
{
  int status = MCU_CAPTURE_STATUS_NONE;
  guint64 id = 0;

  /* Only the id is asked for: the ABI with edge data answers no more to that, and this one is there from 11.3 on. */
  if (context->driver->cu.cuStreamGetCaptureInfo_v2 (stream, &status, &id, NULL, NULL, NULL) != MCU_SUCCESS
      || status != MCU_CAPTURE_STATUS_ACTIVE)
    return 0;
  return id;
}

MemraRecording *
_memra_recording_new_detached (MemraContext *context)
{
  MemraRecording *recording = g_new0 (MemraRecording, 1);

  g_atomic_ref_count_init (&recording->ref_count);
  recording->context = context;
  recording->retained = g_hash_table_new (NULL, NULL);
  recording->owned = g_array_new (FALSE, FALSE, sizeof (MemraOwned));
  g_array_set_clear_func (recording->owned, owned_clear);
  recording->marks = g_array_new (FALSE, FALSE, sizeof (MemraMark));
  g_array_set_clear_func (recording->marks, mark_clear);
  return recording;
}

MemraRecording *
_memra_recording_new (MemraStream *stream)
{
  MemraContext *context = stream->context;
  MemraRecording *recording = _memra_recording_new_detached (context);

  recording->origin = stream->cuda;
  recording->id = capture_id (context, stream->cuda);
  pthread_mutex_lock (&context->lock);
  g_ptr_array_add (context->recordings, recording);
  g_atomic_int_inc (&context->n_recordings);
  pthread_mutex_unlock (&context->lock);
  return recording;
}

void
_memra_recording_close (MemraRecording *recording)
{
  MemraContext *context = recording->context;

  pthread_mutex_lock (&context->lock);
  if (g_ptr_array_remove_fast (context->recordings, recording))
    g_atomic_int_add (&context->n_recordings, -1);
  pthread_mutex_unlock (&context->lock);
}

MemraRecording *
_memra_recording_ref (MemraRecording *recording)
{
  g_atomic_ref_count_inc (&recording->ref_count);
  return recording;
}

void
_memra_recording_unref (MemraRecording *recording)
{
  GHashTableIter iter;
  gpointer object, unref;

  if (recording == NULL || !g_atomic_ref_count_dec (&recording->ref_count))
    return;
  g_hash_table_iter_init (&iter, recording->retained);
  while (g_hash_table_iter_next (&iter, &object, &unref))
    ((GDestroyNotify) unref) (object);
  g_hash_table_unref (recording->retained);
  g_array_unref (recording->owned);
  g_array_unref (recording->marks);
  g_free (recording->last_node);
  g_clear_error (&recording->refusal);
  g_clear_error (&recording->breach);
  g_free (recording);
}

MemraRecording *
_memra_stream_find_recording (MemraStream *stream)
{
  MemraContext *context = stream->context;
  MemraRecording *found = NULL;
  guint64 id = 0;

  if (g_atomic_int_get (&context->n_recordings) == 0)
    return NULL;

  pthread_mutex_lock (&context->lock);
  for (guint i = 0; i < context->recordings->len && found == NULL; i++)
    {
      MemraRecording *recording = g_ptr_array_index (context->recordings, i);

      /* The per-thread stream's handle means another stream on every thread, so there only the id tells. */
      if (recording->origin == stream->cuda && stream->cuda != MCU_STREAM_PER_THREAD)
        found = recording;
    }
  pthread_mutex_unlock (&context->lock);
  if (found != NULL)
    return found;

  /* Not an origin; a fork reports its origin's id. */
  id = capture_id (context, stream->cuda);
  return id != 0 ? _memra_context_find_recording (context, id) : NULL;
}

MemraRecording *
_memra_context_find_recording (MemraContext *context, guint64 id)
{
  MemraRecording *found = NULL;

  pthread_mutex_lock (&context->lock);
  for (guint i = 0; i < context->recordings->len && found == NULL; i++)
    {
      MemraRecording *recording = g_ptr_array_index (context->recordings, i);

      if (recording->id == id)
        found = recording;
    }
  pthread_mutex_unlock (&context->lock);
  return found;
}

void
_memra_recording_own (MemraRecording *recording, gpointer data, GDestroyNotify destroy)
{
  const MemraOwned owned = { data, destroy };

  pthread_mutex_lock (&recording->context->lock);
  g_array_append_val (recording->owned, owned);
  pthread_mutex_unlock (&recording->context->lock);
}

void
_memra_recording_retain (MemraRecording *recording, gpointer object, void (*ref) (gpointer), GDestroyNotify unref,
                         MemraKernel *kernel)
{
  pthread_mutex_lock (&recording->context->lock);
  if (recording->last_kernel == NULL || (gpointer) recording->last_kernel != object)
    if (!g_hash_table_contains (recording->retained, object))
      {
        ref (object);
        g_hash_table_insert (recording->retained, object, (gpointer) unref);
      }
  if (kernel != NULL)
    recording->last_kernel = kernel;
  pthread_mutex_unlock (&recording->context->lock);
}

void
_memra_recording_refuse (MemraRecording *recording, const GError *refusal)
{
  pthread_mutex_lock (&recording->context->lock);
  if (recording->refusal == NULL)
    recording->refusal = g_error_copy (refusal);
  pthread_mutex_unlock (&recording->context->lock);
}
