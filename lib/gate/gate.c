/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The replay gate: eager against captured against replayed, bit for bit.
 *
 * Run 0 is executed eagerly and by the capture; runs 1 to k eagerly and by a replay; each from the same restored state
 * and with the same inputs. Last the layer is captured once more, with the inputs of run k, and the kernel lists are
 * compared: a library that chooses its kernels by what it is given has then been seen to do so.
 */
#include "config.h"

#include "gate-private.h"

#include <string.h>

typedef struct
{
  char *name;   /* owned */
  guint8 *data; /* owned */
  gsize size;
} Output;

struct _MemraGateOutputs
{
  GArray *items; /* element-type Output */
};

typedef struct
{
  const char *title;            /* "layer 3 gate" or "sequence gate" */
  MemraLayerSequence *sequence; /* borrowed; NULL: the gate captures the layer itself */
  MemraStream *stream;          /* borrowed */
  guint layer;
  const MemraCaptureOptions *options;
  const MemraGateCallbacks *callbacks;
  gpointer user_data;
  guint n_replays;
  MemraGateFlags flags;
  MemraGateReport *report; /* borrowed */
  GPtrArray *eager;        /* element-type MemraGateOutputs: of run 0 to n_replays */
} Gate;

static void
output_clear (gpointer item)
{
  Output *output = item;

  g_free (output->name);
  g_free (output->data);
}

static MemraGateOutputs *
outputs_new (void)
{
  MemraGateOutputs *outputs = g_new0 (MemraGateOutputs, 1);

  outputs->items = g_array_new (FALSE, FALSE, sizeof (Output));
  g_array_set_clear_func (outputs->items, output_clear);
  return outputs;
}

static void
outputs_free (gpointer outputs)
{
  g_array_unref (((MemraGateOutputs *) outputs)->items);
  g_free (outputs);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (MemraGateOutputs, outputs_free)

/**
 * memra_gate_outputs_add:
 * @outputs: where the outputs go
 * @name: what the buffer is called in the report
 * @data: (array length=size) (element-type guint8): its contents, which are copied
 * @size: bytes
 *
 * Hands over one buffer that the layer wrote, from a read_outputs callback.
 *
 * Since: 0.1
 */
void
memra_gate_outputs_add (MemraGateOutputs *outputs, const char *name, gconstpointer data, gsize size)
{
  Output output;

  g_return_if_fail (outputs != NULL);
  g_return_if_fail (name != NULL);
  g_return_if_fail (data != NULL || size == 0);

  output.name = g_strdup (name);
  output.data = g_malloc (size);
  output.size = size;
  if (size > 0)
    memcpy (output.data, data, size);
  g_array_append_val (outputs->items, output);
}

/* What a callback answered, with its place before its own words. `reason` is consumed. */
static gboolean
answer (Gate *gate, gboolean ok, const char *callback, GError *reason, GError **error)
{
  if (ok)
    {
      if (reason != NULL)
        g_critical ("%s: the callback %s succeeded and set an error: %s", gate->title, callback, reason->message);
      g_clear_error (&reason);
      return TRUE;
    }
  if (reason == NULL)
    reason = g_error_new (MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_BODY, "it failed without saying why");
  g_prefix_error (&reason, "%s: %s: ", gate->title, callback);
  g_propagate_error (error, reason);
  return FALSE;
}

static gboolean
snapshot (Gate *gate, GError **error)
{
  GError *reason = NULL;
  gboolean ok;

  if (gate->callbacks->snapshot == NULL)
    return TRUE;
  ok = gate->callbacks->snapshot (gate->stream, gate->user_data, &reason);
  return answer (gate, ok, "snapshot", reason, error);
}

static gboolean
restore (Gate *gate, GError **error)
{
  GError *reason = NULL;
  gboolean ok = gate->callbacks->restore (gate->stream, gate->user_data, &reason);

  return answer (gate, ok, "restore", reason, error);
}

static gboolean
prepare (Gate *gate, guint run, GError **error)
{
  GError *reason = NULL;
  gboolean ok = restore (gate, error);

  if (ok && gate->callbacks->set_inputs != NULL)
    {
      ok = gate->callbacks->set_inputs (gate->stream, run, gate->user_data, &reason);
      ok = answer (gate, ok, "set_inputs", reason, error);
    }
  return ok && memra_stream_synchronize (gate->stream, error);
}

static gboolean
run_body (Gate *gate, GError **error)
{
  GError *reason = NULL;
  gboolean ok = gate->callbacks->body (gate->stream, gate->user_data, &reason);

  return answer (gate, ok, "body, run eagerly", reason, error);
}

static MemraGateOutputs *
read_outputs (Gate *gate, GError **error)
{
  g_autoptr (MemraGateOutputs) outputs = outputs_new ();
  GError *reason = NULL;
  gboolean ok;

  if (!memra_stream_synchronize (gate->stream, error))
    return NULL;
  ok = gate->callbacks->read_outputs (gate->stream, outputs, gate->user_data, &reason);
  return answer (gate, ok, "read_outputs", reason, error) ? g_steal_pointer (&outputs) : NULL;
}

static gboolean
run_eagerly (Gate *gate, GError **error)
{
  for (guint run = 0; run <= gate->n_replays; run++)
    {
      MemraGateOutputs *outputs;

      if (!prepare (gate, run, error) || !run_body (gate, error))
        return FALSE;
      outputs = read_outputs (gate, error);
      if (outputs == NULL)
        return FALSE;
      g_ptr_array_add (gate->eager, outputs);
      gate->report->n_eager_runs++;
    }
  return TRUE;
}

static GString *
failure (Gate *gate)
{
  gate->report->failure = g_string_new (NULL);
  return gate->report->failure;
}

/* The four bytes around the first difference say more than one when the values are float32. */
static void
describe_difference (GString *text, const Output *eager, const Output *other, gsize at)
{
  gsize word = at / 4 * 4;
  guint32 a, b;
  float x, y;

  if (word + 4 > eager->size)
    {
      g_string_append_printf (text, "byte %" G_GSIZE_FORMAT " is 0x%02x eagerly and 0x%02x here", at, eager->data[at],
                              other->data[at]);
      return;
    }
  memcpy (&a, eager->data + word, 4);
  memcpy (&b, other->data + word, 4);
  memcpy (&x, &a, 4);
  memcpy (&y, &b, 4);
  g_string_append_printf (text, "byte %" G_GSIZE_FORMAT ": 0x%08x (%.9g) eagerly and 0x%08x (%.9g) here", word, a, x, b,
                          y);
}

static void
compare (Gate *gate, const char *what, const MemraGateOutputs *eager, const MemraGateOutputs *other)
{
  guint64 n_bytes = 0;

  if (gate->report->failure != NULL)
    return;
  if (eager->items->len != other->items->len)
    {
      g_string_printf (failure (gate), "%s: %u outputs eagerly and %u here", what, eager->items->len,
                       other->items->len);
      return;
    }
  for (guint i = 0; i < eager->items->len; i++)
    {
      const Output *a = &g_array_index (eager->items, Output, i);
      const Output *b = &g_array_index (other->items, Output, i);
      gsize at = 0, n_different = 0;

      if (strcmp (a->name, b->name) != 0 || a->size != b->size)
        {
          g_string_printf (failure (gate),
                           "%s: output %u is ‘%s’ of %" G_GSIZE_FORMAT " bytes eagerly and ‘%s’ of %" G_GSIZE_FORMAT
                           " bytes here",
                           what, i, a->name, a->size, b->name, b->size);
          return;
        }
      n_bytes += a->size;
      gate->report->n_compared_bytes += a->size;
      if (a->size == 0 || memcmp (a->data, b->data, a->size) == 0)
        continue;
      for (gsize k = a->size; k-- > 0;)
        if (a->data[k] != b->data[k])
          {
            at = k;
            n_different++;
          }
      g_string_printf (failure (gate),
                       "%s: output ‘%s’ differs in %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT " bytes, first at ", what,
                       a->name, n_different, a->size);
      describe_difference (gate->report->failure, a, b, at);
      return;
    }
  if (n_bytes == 0)
    g_string_printf (failure (gate), "%s: no output was compared: read_outputs adds none", what);
}

static void
corrupt (MemraGateOutputs *outputs)
{
  for (guint i = 0; i < outputs->items->len; i++)
    {
      Output *output = &g_array_index (outputs->items, Output, i);

      if (output->size == 0)
        continue;
      output->data[output->size / 2] ^= 1;
      return;
    }
}

static gboolean
launch (Gate *gate, MemraLayerCapture *capture, GError **error)
{
  return gate->sequence != NULL ? memra_layer_sequence_replay (gate->sequence, error)
                                : memra_layer_capture_replay (capture, error);
}

/* Runs `first` to n_replays. */
static gboolean
replay (Gate *gate, MemraLayerCapture *capture, guint first, GError **error)
{
  for (guint run = first; run <= gate->n_replays; run++)
    {
      g_autoptr (MemraGateOutputs) outputs = NULL;
      g_autofree char *what = g_strdup_printf ("replay %u", run);

      if (!prepare (gate, run, error) || !launch (gate, capture, error))
        return FALSE;
      outputs = read_outputs (gate, error);
      if (outputs == NULL)
        return FALSE;
      gate->report->n_replays++;
      if (gate->flags & MEMRA_GATE_CORRUPT && run == gate->n_replays)
        corrupt (outputs);
      compare (gate, what, g_ptr_array_index (gate->eager, run), outputs);
    }
  return TRUE;
}

static void
compare_kernels (Gate *gate, GPtrArray *first, GPtrArray *last)
{
  guint i;

  if (gate->report->failure != NULL)
    return;
  for (i = 0; i < first->len && i < last->len; i++)
    if (strcmp (g_ptr_array_index (first, i), g_ptr_array_index (last, i)) != 0)
      break;
  if (i == first->len && i == last->len)
    return;
  g_string_printf (failure (gate),
                   "captured again with the inputs of run %u, kernel %u of the %s is %s and not %s: what was captured "
                   "depends on the inputs",
                   gate->n_replays, i, gate->sequence != NULL ? "sequence" : "layer",
                   i < last->len ? (const char *) g_ptr_array_index (last, i) : "missing",
                   i < first->len ? (const char *) g_ptr_array_index (first, i) : "missing");
}

/* The layer captured and run once: run 0. */
static MemraLayerCapture *
run_once (Gate *gate, GError **error)
{
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (MemraGateOutputs) outputs = NULL;

  if (!prepare (gate, 0, error))
    return NULL;
  capture
      = memra_capture_layer (gate->stream, gate->layer, gate->options, gate->callbacks->body, gate->user_data, error);
  if (capture == NULL)
    return NULL;
  gate->report->n_captures += memra_layer_capture_get_executions (capture);
  if (gate->report->n_captures == 0)
    g_string_assign (failure (gate), "the capture was recorded only, so it ran nothing that could be compared");
  outputs = read_outputs (gate, error);
  if (outputs == NULL)
    return NULL;
  if (gate->flags & MEMRA_GATE_CORRUPT && gate->n_replays == 0)
    corrupt (outputs);
  compare (gate, "the capture's one execution", g_ptr_array_index (gate->eager, 0), outputs);
  return g_steal_pointer (&capture);
}

/* With the inputs of the last run still there, whether the same kernels would be captured again. */
static gboolean
capture_again (Gate *gate, GPtrArray *kernels, GError **error)
{
  g_autoptr (MemraLayerCapture) again = NULL;

  if (!prepare (gate, gate->n_replays, error))
    return FALSE;
  again = memra_capture_layer_record (gate->stream, gate->layer, gate->options, gate->callbacks->body, gate->user_data,
                                      error);
  if (again == NULL)
    return FALSE;
  compare_kernels (gate, kernels, memra_layer_capture_get_kernels (again));
  return restore (gate, error) && memra_stream_synchronize (gate->stream, error);
}

static gboolean
run_captured (Gate *gate, GError **error)
{
  g_autoptr (MemraLayerCapture) capture = NULL;

  if (gate->sequence != NULL)
    return replay (gate, NULL, 0, error)
           && capture_again (gate, memra_census_get_kernels (memra_layer_sequence_get_census (gate->sequence)), error);
  capture = run_once (gate, error);
  return capture != NULL && replay (gate, capture, 1, error)
         && capture_again (gate, memra_layer_capture_get_kernels (capture), error)
         && memra_layer_capture_close (capture, error); /* dropping it could only log what went wrong */
}

/* A gate that did not do what it says it did must not be green. */
static void
conclude (Gate *gate)
{
  MemraGateReport *report = gate->report;
  const guint n_captures = gate->sequence != NULL ? 0 : 1;

  if (report->failure == NULL
      && (report->n_eager_runs != gate->n_replays + 1 || report->n_captures != n_captures
          || report->n_replays + n_captures != report->n_eager_runs))
    g_string_printf (failure (gate), "the runs do not add up: %u eager, %u captured, %u replayed", report->n_eager_runs,
                     report->n_captures, report->n_replays);

  if (report->failure != NULL)
    report->message = g_strdup_printf ("%s: red: %s", gate->title, report->failure->str);
  else if (gate->sequence != NULL)
    report->message = g_strdup_printf (
        "%s: green: %u replays of %u layers equal %u eager runs bit for bit (%" G_GUINT64_FORMAT " bytes compared)",
        gate->title, report->n_replays, memra_layer_sequence_get_n_layers (gate->sequence), report->n_eager_runs,
        report->n_compared_bytes);
  else
    report->message = g_strdup_printf (
        "%s: green: 1 capture and %u replays equal %u eager runs bit for bit (%" G_GUINT64_FORMAT " bytes compared)",
        gate->title, report->n_replays, report->n_eager_runs, report->n_compared_bytes);
}

static MemraGateReport *
run_gate (Gate *gate, GError **error)
{
  g_autoptr (MemraGateReport) report = g_new0 (MemraGateReport, 1);
  g_autoptr (GPtrArray) eager = g_ptr_array_new_with_free_func (outputs_free);

  gate->report = report;
  gate->eager = eager;
  if (!snapshot (gate, error) || !run_eagerly (gate, error) || !run_captured (gate, error))
    return NULL;
  conclude (gate);
  return g_steal_pointer (&report);
}

/**
 * memra_gate_run:
 * @stream: the stream to run and capture in
 * @layer: a number for messages
 * @options: (nullable): options as for memra_capture_layer(); not record only
 * @callbacks: what the gate needs of the layer
 * @user_data: data for @callbacks
 * @n_replays: how many replays to compare, each with inputs of its own
 * @flags: flags
 * @error: return location for an error
 *
 * Proves that a layer does the same captured as eagerly. It runs the layer eagerly @n_replays + 1 times, captures it
 * (which runs it once), replays it @n_replays times, and compares every output bit for bit; and it captures the layer
 * once more and compares the kernel lists. State is restored before every run and at the end. A difference is no error:
 * the report is red and says where.
 *
 * Errors: those of the callbacks, with "layer 3 gate: restore: " before them, or %MEMRA_CAPTURE_ERROR_BODY for one that
 * fails without an error; those of memra_capture_layer(), memra_layer_capture_replay() and memra_layer_capture_close().
 * The state is then what the last callback left. Any thread.
 *
 * Returns: (transfer full): the report, or %NULL with @error set if the gate could not be run
 *
 * Since: 0.1
 */
MemraGateReport *
memra_gate_run (MemraStream *stream, guint layer, const MemraCaptureOptions *options,
                const MemraGateCallbacks *callbacks, gpointer user_data, guint n_replays, MemraGateFlags flags,
                GError **error)
{
  g_autofree char *title = NULL;
  Gate gate = { .stream = stream,
                .layer = layer,
                .options = options,
                .callbacks = callbacks,
                .user_data = user_data,
                .n_replays = n_replays,
                .flags = flags };

  g_return_val_if_fail (stream != NULL, NULL);
  g_return_val_if_fail (callbacks != NULL && callbacks->restore != NULL && callbacks->body != NULL, NULL);
  g_return_val_if_fail (callbacks->read_outputs != NULL, NULL);
  g_return_val_if_fail (n_replays < G_MAXUINT, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  title = g_strdup_printf ("layer %u gate", layer);
  gate.title = title;
  return run_gate (&gate, error);
}

/**
 * memra_gate_run_sequence:
 * @sequence: a sequence
 * @callbacks: what the gate needs of all its layers together: the body issues the work of one after the other
 * @user_data: data for @callbacks
 * @n_replays: the number of the last run; runs are counted from 0, each with inputs of its own
 * @flags: flags
 * @error: return location for an error
 *
 * As memra_gate_run(), for layers that are captured already: runs 0 to @n_replays are made eagerly and as checked
 * replays of @sequence, in its stream, and every output is compared bit for bit. Nothing of the layers is captured anew
 * but once at the end, for the list of kernels. memra_gate_report_get_n_captures() is 0 then, and
 * memra_gate_report_get_n_replays() is @n_replays + 1.
 *
 * Errors: those of memra_gate_run(), with "sequence gate: restore: " before those of the callbacks, and those of
 * memra_layer_sequence_replay(). Any thread.
 *
 * Returns: (transfer full): the report, or %NULL with @error set if the gate could not be run
 *
 * Since: 0.1
 */
MemraGateReport *
memra_gate_run_sequence (MemraLayerSequence *sequence, const MemraGateCallbacks *callbacks, gpointer user_data,
                         guint n_replays, MemraGateFlags flags, GError **error)
{
  Gate gate = {
    .sequence = sequence, .callbacks = callbacks, .user_data = user_data, .n_replays = n_replays, .flags = flags
  };

  g_return_val_if_fail (sequence != NULL, NULL);
  g_return_val_if_fail (callbacks != NULL && callbacks->restore != NULL && callbacks->body != NULL, NULL);
  g_return_val_if_fail (callbacks->read_outputs != NULL, NULL);
  g_return_val_if_fail (n_replays < G_MAXUINT, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  gate.stream = memra_layer_sequence_get_stream (sequence);
  gate.title = "sequence gate";
  return run_gate (&gate, error);
}
