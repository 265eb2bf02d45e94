/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who broke a capture. From driver 12.9 on the driver's error log tells of each failing call, on its thread and inside it,
 * when its effects are visible: the call during which a capture leaves the active state is the one that broke it, whatever
 * else fails meanwhile. Below that the wrappers of the usual culprits look in the same way when their call has failed.
 */
#include "config.h"

#include "record-private.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t registration = PTHREAD_MUTEX_INITIALIZER; /* never taken in the callback */
static unsigned listeners;
static CUlogsCallbackHandle handle;

/* What the driver says about a failing call comes as one entry before the one that names the call. */
typedef struct
{
  char coming[512]; /* said of the call that is about to be named */
  char last[512];   /* said of the call that failed last */
  bool in_callback; /* we call the driver in there, which may log */
} Said;

static __thread Said said __attribute__ ((tls_model ("initial-exec")));

void
record_log_forget (void)
{
  pthread_mutex_init (&registration, NULL);
  listeners = 0;
  handle = NULL;
}

/* ---- The callback ---- */

/* "Returning 900 (CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) from cuStreamSynchronize" */
static bool
parse_returning (char *message, McuResult *result, const char **function)
{
  char *returning = strstr (message, "Returning ");
  char *from = returning != NULL ? strstr (returning, " from ") : NULL;
  size_t length;

  if (from == NULL)
    return false;
  *result = atoi (returning + strlen ("Returning "));
  from += strlen (" from ");
  length = strspn (from, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  from[length] = '\0';
  *function = from;
  return length > 0;
}

static void
take_entry (const char *message, size_t length)
{
  char text[sizeof said.coming];
  const char *function;
  McuResult result;

  if (length >= sizeof text)
    length = sizeof text - 1;
  memcpy (text, message, length);
  text[length] = '\0';
  length = strlen (text);
  while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' '))
    text[--length] = '\0';
  if (!parse_returning (text, &result, &function))
    {
      strcpy (said.coming, text);
      return;
    }
  strcpy (said.last, said.coming);
  said.coming[0] = '\0';
  record_failure (result, function, record_last_reason ());
}

static void
on_log (void *data, int level, char *message, size_t length)
{
  RecordGuard guard;

  if (said.in_callback || message == NULL)
    return;
  record_enter (&guard);
  said.in_callback = true;
  take_entry (message, length);
  said.in_callback = false;
  record_leave (&guard);
}

void
record_listen (void)
{
  const InterposeDriver *driver = interpose_driver ();
  RecordGuard guard;

  record_enter (&guard);
  record_stack_prepare ();
  if (driver != NULL && driver->has_log)
    {
      pthread_mutex_lock (&registration);
      if (listeners++ == 0 && driver->cuLogsRegisterCallback (on_log, NULL, &handle) != MCU_SUCCESS)
        handle = NULL;
      pthread_mutex_unlock (&registration);
    }
  said.last[0] = said.coming[0] = '\0';
  record_leave (&guard);
}

void
record_unlisten (void)
{
  const InterposeDriver *driver = interpose_driver ();
  RecordGuard guard;

  record_enter (&guard);
  if (driver != NULL && driver->has_log)
    {
      pthread_mutex_lock (&registration);
      if (listeners > 0 && --listeners == 0 && handle != NULL)
        {
          driver->cuLogsUnregisterCallback (handle);
          handle = NULL;
        }
      pthread_mutex_unlock (&registration);
    }
  record_leave (&guard);
}

const char *
record_last_reason (void)
{
  return said.last[0] != '\0' ? said.last : NULL;
}

/* ---- The culprit ---- */

typedef struct
{
  McuResult result;
  const char *function;
  const char *reason;
  int thread;
  void *frames[RECORD_MAX_FRAMES];
  int n_frames; /* -1: not taken yet */
} Failure;

static void
write_broken (const RecordCaptureFacts *facts, void *data)
{
  Failure *failure = data;
  RecordText text;

  if (failure->n_frames < 0)
    failure->n_frames = record_stack_take (failure->frames);
  record_text_begin (&text, "broken");
  record_text_number (&text, "capture", facts->number);
  record_text_string (&text, "function", failure->function);
  record_text_result (&text, failure->result);
  record_text_string (&text, "reason", failure->reason);
  record_text_bool (&text, "other_thread", facts->thread != record_thread ());
  record_text_number (&text, "operations", facts->operations);
  if (facts->operations > 0)
    record_text_node (&text, "after", facts->after_type, facts->after_name);
  record_text_stack (&text, failure->frames, failure->n_frames);
  record_write (&text);
}

void
record_failure (McuResult result, const char *function, const char *reason)
{
  Failure failure = { .result = result, .function = function, .reason = reason, .n_frames = -1 };

  /* What fails because a capture is broken has not broken it. */
  if (result == MCU_ERROR_STREAM_CAPTURE_INVALIDATED)
    return;
  record_find_broken (write_broken, &failure);
}

void
record_failure_seen (McuResult result, const char *function)
{
  const InterposeDriver *driver = interpose_driver ();
  RecordGuard guard;

  if (driver == NULL || (driver->has_log && handle != NULL) || result == MCU_ERROR_NOT_READY)
    return;
  record_enter (&guard);
  record_failure (result, function, NULL);
  record_leave (&guard);
}
