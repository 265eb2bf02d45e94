/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Captures the work of an engine that has its own context, stream and memory: engine.h. */
#include <memra-capture/memra-capture.h>

#include "engine.h"

typedef struct
{
  Engine *engine;
  unsigned long long address;
} Tensor;

static void
tensor_free (gpointer data)
{
  Tensor *tensor = data;

  g_print ("the engine gets its memory back\n");
  tensor->engine->cuMemFree_v2 (tensor->address);
  g_free (tensor);
}

/* The engine's own code, which cannot be turned into a callback. */
static int
engine_step (Engine *engine, unsigned long long address)
{
  return engine->cuMemsetD32Async (address, 7, 256, engine->stream);
}

static MemraLayerCapture *
capture_step (Engine *engine, MemraStream *stream, unsigned long long address, GError **error)
{
  g_autoptr (MemraCaptureScope) scope = memra_capture_scope_begin (stream, 7, NULL, error);
  int result;

  if (scope == NULL)
    return NULL;
  result = engine_step (engine, address);
  if (result != 0)
    {
      g_set_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_BODY, "The engine's step answered %d", result);
      return NULL; /* and leaving the scope aborts the capture */
    }
  return memra_capture_scope_end (g_steal_pointer (&scope), error);
}

static gboolean
run (Engine *engine, GError **error)
{
  g_autoptr (MemraDriver) driver = memra_driver_open (memra_host_driver_path (), error);
  g_autoptr (MemraContext) context = driver != NULL ? memra_context_wrap (driver, engine->context, error) : NULL;
  g_autoptr (MemraStream) stream = context != NULL ? memra_stream_wrap (context, engine->stream, error) : NULL;
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (MemraLayerCapture) loose = NULL;
  g_autoptr (GError) refusal = NULL;
  Tensor *tensor;
  unsigned long long address;

  if (stream == NULL)
    return FALSE;
  memra_context_set_event_tracking (context, FALSE); /* ours, and we allocate no buffers here */

  /* Memory that is handed over lives as long as the capture. */
  tensor = g_new0 (Tensor, 1);
  tensor->engine = engine;
  engine->cuMemAlloc_v2 (&tensor->address, 1024);
  kept = capture_step (engine, stream, tensor->address, error);
  if (kept == NULL)
    return FALSE;
  memra_layer_capture_retain (kept, tensor, tensor_free);
  if (!memra_layer_capture_replay (kept, error) || !memra_layer_capture_close (kept, error))
    return FALSE;

  /* Memory that is not: the check before a replay sees that it is gone. */
  engine->cuMemAlloc_v2 (&address, 1024);
  loose = capture_step (engine, stream, address, error);
  if (loose == NULL)
    return FALSE;
  engine->cuMemFree_v2 (address);
  if (memra_layer_capture_replay (loose, &refusal))
    return FALSE;
  g_print ("refused: %s\n", refusal->message);
  return TRUE;
}

int
main (void)
{
  g_autoptr (GError) error = NULL;
  Engine engine;
  gboolean ok;

  if (engine_open (&engine, memra_host_driver_path ()) != 0)
    return 1;
  ok = run (&engine, &error);
  if (error != NULL)
    g_printerr ("%s\n", error->message);
  engine_close (&engine);
  return ok ? 0 : 1;
}
