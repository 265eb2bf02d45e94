/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * control.c: the control table of memra-host-driver.h, injected faults and the counters.
 */
#include "core-private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct
{
  char *base;         /* owned; "*": every entry point */
  unsigned remaining; /* calls until it fires; 0: has fired and goes on */
  McuResult result;
  bool every;
  HostContext *context; /* nullable; borrowed, perhaps dead: what breaks when it fires */
  uint64_t context_id;
} Fault;

HostSettings host_settings = { .driver_version = 13000, .n_devices = 1, .reuse = true, .memory = HOST_DEVICE_MEMORY };
bool host_held;
unsigned long long host_calls[HOST_N_ENTRIES];
unsigned long long host_unsupported_calls;

static GSList *faults;   /* Fault, owned */
static GPtrArray *bases; /* const char *, borrowed from host_entries: each base name once */
static unsigned long long faults_fired;
static bool environment_read;

/* In a child of fork() nobody else is there, and the lock may be held by a thread that is not either. */
static void
take (void)
{
  if (!host_forked)
    pthread_mutex_lock (&host_lock);
  host_control_read_environment ();
}

static void
drop (void)
{
  if (!host_forked)
    pthread_mutex_unlock (&host_lock);
}

static GPtrArray *
get_bases (void)
{
  if (bases == NULL)
    {
      g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

      bases = g_ptr_array_new ();
      for (int i = 0; i < HOST_N_ENTRIES; i++)
        if (g_hash_table_add (seen, (gpointer) host_entries[i].base))
          g_ptr_array_add (bases, (gpointer) host_entries[i].base);
    }
  return bases;
}

static bool
is_known (const char *base)
{
  if (strcmp (base, "*") == 0)
    return true;
  for (int i = 0; i < HOST_N_ENTRIES; i++)
    if (strcmp (host_entries[i].base, base) == 0)
      return true;
  return false;
}

static void
fault_free (void *data)
{
  Fault *fault = data;

  g_free (fault->base);
  g_free (fault);
}

/* NULL if there is no such entry point. Owned by the list. */
static Fault *
fault_add (const char *base, unsigned nth, int result, bool every)
{
  Fault *fault;

  if (base == NULL || nth == 0 || !is_known (base))
    return NULL;
  fault = g_new0 (Fault, 1);
  fault->base = g_strdup (base);
  fault->remaining = nth;
  fault->result = result;
  fault->every = every;
  faults = g_slist_append (faults, fault);
  return fault;
}

/* An address may have been given to another context since. */
static void
break_if_alive (HostContext *context, uint64_t id, McuResult result)
{
  if (context != NULL && host_object_is_live (context, HOST_KIND_CONTEXT) && context->id == id)
    context->broken = result;
}

bool
host_fault_due (HostEntry entry, McuResult *result)
{
  bool due = false;

  for (GSList *link = faults, *next; link != NULL; link = next)
    {
      Fault *fault = link->data;

      next = link->next;
      if (strcmp (fault->base, "*") != 0 && strcmp (fault->base, host_entries[entry].base) != 0)
        continue;
      if (fault->remaining > 0)
        fault->remaining--;
      if (fault->remaining > 0)
        continue;
      if (!due)
        {
          *result = fault->result;
          faults_fired++;
          break_if_alive (fault->context, fault->context_id, fault->result);
        }
      due = true;
      if (!fault->every)
        {
          faults = g_slist_delete_link (faults, link);
          fault_free (fault);
        }
    }
  return due;
}

/* As the environment asks for it. */
static bool
fault_add_plain (const char *base, unsigned nth, int result, bool every)
{
  return fault_add (base, nth, result, every) != NULL;
}

void
host_control_read_environment (void)
{
  if (environment_read)
    return;
  environment_read = true;
  host_environment_read (&host_settings, fault_add_plain);
}

static int
set_driver_version (int version)
{
  if (version < HOST_VERSION_OLDEST || version > HOST_VERSION_NEWEST)
    return MCU_ERROR_INVALID_VALUE;
  take ();
  host_settings.driver_version = version;
  drop ();
  return MCU_SUCCESS;
}

static void
find_beyond (void *object, void *data)
{
  HostContext *context = object;
  int *count = data;

  if (context->device->ordinal >= *count)
    *count = -1;
}

static int
set_device_count (int count)
{
  int check = count;

  if (count < 0 || count > HOST_MAX_DEVICES)
    return MCU_ERROR_INVALID_VALUE;
  take ();
  host_object_foreach (HOST_KIND_CONTEXT, find_beyond, &check);
  if (check >= 0)
    host_settings.n_devices = count;
  drop ();
  return check >= 0 ? MCU_SUCCESS : MCU_ERROR_INVALID_VALUE;
}

static int
add_fault (const char *entry, unsigned nth, int result, bool every)
{
  bool added;

  take ();
  added = fault_add (entry, nth, result, every) != NULL;
  drop ();
  return added ? MCU_SUCCESS : MCU_ERROR_INVALID_VALUE;
}

static int
inject_fault (const char *entry, unsigned nth, int result)
{
  return add_fault (entry, nth, result, false);
}

static int
inject_fault_from (const char *entry, unsigned nth, int result)
{
  return add_fault (entry, nth, result, true);
}

static int
inject_break (const char *entry, unsigned nth, struct CUctx_st *context, int result)
{
  Fault *fault = NULL;

  take ();
  if (host_object_is_live (context, HOST_KIND_CONTEXT))
    fault = fault_add (entry, nth, result, false);
  if (fault != NULL)
    {
      fault->context = context;
      fault->context_id = context->id;
    }
  drop ();
  return fault != NULL ? MCU_SUCCESS : MCU_ERROR_INVALID_VALUE;
}

static void
clear_faults (void)
{
  take ();
  g_slist_free_full (faults, fault_free);
  faults = NULL;
  drop ();
}

static unsigned long long
count_faults (void)
{
  unsigned long long count;

  take ();
  count = faults_fired;
  drop ();
  return count;
}

static unsigned long long
count_calls (const char *entry)
{
  unsigned long long count = 0;

  if (entry == NULL)
    return 0;
  take ();
  for (int i = 0; i < HOST_N_ENTRIES; i++)
    if (strcmp (entry, "*") == 0 || strcmp (entry, host_entries[i].base) == 0)
      count += host_calls[i];
  drop ();
  return count;
}

static const char *
get_entry (unsigned index)
{
  const char *base = NULL;

  take ();
  if (index < get_bases ()->len)
    base = g_ptr_array_index (bases, index);
  drop ();
  return base;
}

static unsigned long long
count_objects (const char *kind)
{
  static const struct
  {
    const char *name;
    HostKind kind;
  } kinds[] = { { "context", HOST_KIND_CONTEXT },
                { "stream", HOST_KIND_STREAM },
                { "event", HOST_KIND_EVENT },
                { "allocation", HOST_KIND_ALLOCATION },
                { "module", HOST_KIND_MODULE },
                { "host-allocation", HOST_KIND_HOST_ALLOCATION },
                { "graph", HOST_KIND_GRAPH },
                { "exec", HOST_KIND_EXEC },
                { "user-object", HOST_KIND_USER_OBJECT },
                { "capture", HOST_KIND_CAPTURE },
                { "allocation", HOST_KIND_PHYSICAL } };
  unsigned long long count = 0;

  if (kind == NULL)
    return 0;
  take ();
  for (size_t i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (strcmp (kind, "*") == 0 || strcmp (kind, kinds[i].name) == 0)
      count += host_object_count (kinds[i].kind);
  drop ();
  return count;
}

static unsigned long long
count_unsupported (void)
{
  unsigned long long count;

  take ();
  count = host_unsupported_calls;
  drop ();
  return count;
}

static void
set_poison (int on)
{
  take ();
  host_settings.poison = on != 0;
  drop ();
}

static void
set_reuse_addresses (int on)
{
  take ();
  host_settings.reuse = on != 0;
  drop ();
}

static void
set_shuffle (unsigned seed)
{
  take ();
  host_settings.shuffle = seed;
  drop ();
}

static void
set_memory (unsigned long long bytes)
{
  take ();
  host_settings.memory = bytes;
  drop ();
}

static void
break_context (struct CUctx_st *context, int result)
{
  take ();
  if (host_object_is_live (context, HOST_KIND_CONTEXT))
    context->broken = result;
  drop ();
}

static void
hold_work (void)
{
  take ();
  host_held = true;
  drop ();
}

static void
release_work (void)
{
  take ();
  host_held = false;
  host_workers_wake ();
  drop ();
}

HOST_API const MemraHostControl *memra_host_control (void);

HOST_API const MemraHostControl *
memra_host_control (void)
{
  static const MemraHostControl control = {
    .abi = MEMRA_HOST_CONTROL_ABI,
    .set_driver_version = set_driver_version,
    .set_device_count = set_device_count,
    .inject_fault = inject_fault,
    .inject_fault_from = inject_fault_from,
    .clear_faults = clear_faults,
    .count_faults = count_faults,
    .count_calls = count_calls,
    .get_entry = get_entry,
    .count_objects = count_objects,
    .count_unsupported = count_unsupported,
    .set_poison = set_poison,
    .set_reuse_addresses = set_reuse_addresses,
    .set_shuffle = set_shuffle,
    .break_context = break_context,
    .hold_work = hold_work,
    .release_work = release_work,
    .inject_break = inject_break,
    .set_memory = set_memory,
  };

  return &control;
}

void
host_control_shutdown (void)
{
  g_slist_free_full (faults, fault_free);
  faults = NULL;
  g_clear_pointer (&bases, g_ptr_array_unref);
}
