// SPDX-License-Identifier: LGPL-2.1-or-later
// Leaving a body otherwise than by returning from it: a C++ exception, a cancelled thread, pthread_exit(). The capture
// is ended all the same, the thread is as it was, and what is thrown arrives untouched.
#include "config.h"

#include "capture-fixture.h"

#include <pthread.h>
#include <stdexcept>
#include <string>

namespace
{

const char *const mode_names[] = { "global", "thread-local", "relaxed" };

// Counts begins and ends where the driver can be asked.
class Calls
{
public:
  Calls () : control (memra_test_host_control ())
  {
    if (control != nullptr)
      {
        begins = control->count_calls ("cuStreamBeginCapture");
        ends = control->count_calls ("cuStreamEndCapture");
        objects = control->count_objects ("*");
      }
  }

  // One begin, one end, and nothing left alive.
  void assert_balanced () const
  {
    if (control == nullptr)
      return;
    g_assert_cmpuint (control->count_calls ("cuStreamBeginCapture") - begins, ==, 1);
    g_assert_cmpuint (control->count_calls ("cuStreamEndCapture") - ends, ==, 1);
    g_assert_cmpuint (control->count_objects ("*"), ==, objects);
  }

private:
  const MemraHostControl *control;
  unsigned long long begins = 0, ends = 0, objects = 0;
};

// An exception that knows its own address and how often it was copied.
struct Thrown
{
  Thrown () = default;
  Thrown (const Thrown &other) : copies (other.copies + 1)
  {
  }
  Thrown &operator= (const Thrown &) = delete;

  int copies = 0;
  const Thrown *seen_at = nullptr;
};

struct Body
{
  Fixture *fixture;
  const Thrown *thrown_at;
  int destroyed; // objects on the body's stack
  bool broken;   // the capture is broken before the throw
  bool messy;    // context and mode are left as they should not be
};

struct OnStack
{
  explicit OnStack (Body *b) : body (b)
  {
  }
  ~OnStack ()
  {
    body->destroyed++;
  }
  OnStack (const OnStack &) = delete;
  OnStack &operator= (const OnStack &) = delete;

  Body *body;
};

void
issue (MemraStream *stream, Body *body)
{
  g_autoptr (GError) error = nullptr;

  g_assert_true (fixture_body (stream, body->fixture, &error));
  g_assert_no_error (error);
  if (body->broken)
    g_assert_cmpint (body->fixture->cu->cuStreamQuery (memra_stream_get_cuda_stream (stream)), ==, 900);
  if (body->messy)
    {
      memra_test_assert_cu (body->fixture->cu->cuCtxSetCurrent (nullptr));
      fixture_set_thread_mode (body->fixture->cu, MCU_CAPTURE_MODE_THREAD_LOCAL);
    }
}

gboolean
throwing_body (MemraStream *stream, gpointer data, GError **)
{
  auto *body = static_cast<Body *> (data);
  OnStack on_stack (body);

  issue (stream, body);
  try
    {
      throw Thrown ();
    }
  catch (Thrown &thrown)
    {
      thrown.seen_at = &thrown;
      body->thrown_at = &thrown;
      throw; // the same object
    }
}

void
check_throw (Fixture *fixture, bool broken, bool messy)
{
  Body body = { fixture, nullptr, 0, broken, messy };
  Calls calls;
  GError *error = nullptr;
  bool caught = false;

  try
    {
      memra_capture_layer (fixture->stream, 91, fixture->options, throwing_body, &body, &error);
      g_assert_not_reached ();
    }
  catch (Thrown &thrown)
    {
      caught = true;
      g_assert_true (&thrown == body.thrown_at);
      g_assert_true (thrown.seen_at == &thrown);
      g_assert_cmpint (thrown.copies, ==, 0);
      g_assert_cmpint (fixture_status (fixture, fixture->stream), ==, MCU_CAPTURE_STATUS_NONE); // already
      fixture_assert_thread (fixture);
    }
  g_assert_true (caught);
  g_assert_null (error);
  g_assert_cmpint (body.destroyed, ==, 1);
  calls.assert_balanced ();
}

void
test_throw (gconstpointer data)
{
  g_auto (Fixture) fixture = {};
  int how = GPOINTER_TO_INT (data);

  fixture_init (&fixture);
  memra_capture_options_set_mode (fixture.options, static_cast<MemraCaptureMode> (how % 3));
  memra_capture_options_set_strict (fixture.options, how / 3 == 1);
  check_throw (&fixture, how / 3 == 2, how / 3 == 3);
  g_assert_cmpuint (fixture.calls, ==, 1);
  fixture_assert_good_as_new (&fixture, 0);
}

// An ordinary exception of the library, by value, through record and update as well.
gboolean
runtime_error_body (MemraStream *stream, gpointer fixture, GError **)
{
  fixture_body (stream, fixture, nullptr);
  throw std::runtime_error ("the weights are gone");
}

template <typename Call>
void
assert_throws (Call call)
{
  std::string what;

  try
    {
      call ();
    }
  catch (const std::runtime_error &error)
    {
      what = error.what ();
    }
  g_assert_cmpstr (what.c_str (), ==, "the weights are gone");
}

void
test_throw_all_forms ()
{
  g_auto (Fixture) fixture = {};
  g_autoptr (MemraLayerCapture) capture = nullptr;

  fixture_init (&fixture);
  capture = fixture_capture (&fixture, 92);
  assert_throws ([&] { memra_capture_layer (fixture.stream, 92, nullptr, runtime_error_body, &fixture, nullptr); });
  fixture_assert_thread (&fixture);
  assert_throws (
      [&] { memra_capture_layer_record (fixture.stream, 92, nullptr, runtime_error_body, &fixture, nullptr); });
  fixture_assert_thread (&fixture);
  assert_throws ([&] {
    memra_layer_capture_update (capture, nullptr, MEMRA_UPDATE_OR_REINSTANTIATE, runtime_error_body, &fixture, nullptr,
                                nullptr);
  });
  fixture_assert_thread (&fixture);
  g_assert_true (memra_layer_capture_replay (capture, nullptr)); // unharmed by the update that never was
  fixture_assert_ran (&fixture, 2);
  fixture_assert_good_as_new (&fixture, 2);
}

// Again and again, so that nothing of it piles up (and a leak checker has something to find).
void
test_throw_often ()
{
  g_auto (Fixture) fixture = {};

  fixture_init (&fixture);
  for (int i = 0; i < 50; i++)
    {
      memra_capture_options_set_mode (fixture.options, static_cast<MemraCaptureMode> (i % 3));
      check_throw (&fixture, false, false);
    }
  fixture_assert_good_as_new (&fixture, 0);
}

// What the body had acquired is let go.
void
test_throw_releases ()
{
  g_auto (Fixture) fixture = {};
  const MemraHostControl *control = memra_test_host_control ();
  unsigned long long allocations;

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  allocations = control->count_objects ("allocation");
  check_throw (&fixture, false, false);
  g_clear_pointer (&fixture.dst, memra_buffer_unref);
  g_assert_cmpuint (control->count_objects ("allocation"), ==, allocations - 1);
}

// A scope is left by an exception: its autoptr ends the capture.
void
throw_through_scope (Fixture *fixture)
{
  g_autoptr (MemraCaptureScope) scope = memra_capture_scope_begin (fixture->stream, 93, fixture->options, nullptr);

  g_assert_nonnull (scope);
  fixture_body (memra_capture_scope_get_stream (scope), fixture, nullptr);
  throw std::runtime_error ("the weights are gone");
}

void
test_throw_scope (gconstpointer mode)
{
  g_auto (Fixture) fixture = {};

  fixture_init (&fixture);
  memra_capture_options_set_mode (fixture.options, static_cast<MemraCaptureMode> (GPOINTER_TO_INT (mode)));
  Calls calls;
  assert_throws ([&] { throw_through_scope (&fixture); });
  calls.assert_balanced ();
  fixture_assert_good_as_new (&fixture, 0);
}

// ---- Threads that never come back ----

enum class Exit
{
  cancel,
  cancel_broken,
  leave,
  leave_messy
};

struct Leaver
{
  Body body;
  Exit how;
  bool returned; // from memra_capture_layer()
  bool cleaned;  // the thread's own cleanup handler ran, with thread state as it should be
};

gboolean
leaving_body (MemraStream *stream, gpointer data, GError **)
{
  auto *leaver = static_cast<Leaver *> (data);
  OnStack on_stack (&leaver->body);

  leaver->body.broken = leaver->how == Exit::cancel_broken;
  leaver->body.messy = leaver->how == Exit::leave_messy;
  issue (stream, &leaver->body);
  if (leaver->how == Exit::leave || leaver->how == Exit::leave_messy)
    pthread_exit (GINT_TO_POINTER (4711));
  pthread_cancel (pthread_self ());
  pthread_testcancel ();
  g_assert_not_reached ();
  return TRUE;
}

void
note_cleanup (void *data)
{
  auto *leaver = static_cast<Leaver *> (data);
  const MemraDriverTable *cu = leaver->body.fixture->cu;
  auto current = reinterpret_cast<CUcontext> (leaver);

  memra_test_assert_cu (cu->cuCtxGetCurrent (&current));
  g_assert_null (current);
  g_assert_cmpint (fixture_get_thread_mode (cu), ==, MCU_CAPTURE_MODE_GLOBAL);
  g_assert_cmpint (fixture_status (leaver->body.fixture, leaver->body.fixture->stream), ==, MCU_CAPTURE_STATUS_NONE);
  leaver->cleaned = true;
}

void *
leave_thread (void *data)
{
  auto *leaver = static_cast<Leaver *> (data);

  pthread_cleanup_push (note_cleanup, leaver);
  memra_capture_layer (leaver->body.fixture->stream, 94, leaver->body.fixture->options, leaving_body, leaver, nullptr);
  leaver->returned = true;
  pthread_cleanup_pop (0);
  return nullptr;
}

void
check_leaver (Fixture *fixture, Exit how)
{
  Leaver leaver = { { fixture, nullptr, 0, false, false }, how, false, false };
  Calls calls;
  pthread_t thread;
  void *value = nullptr;

  g_assert_cmpint (pthread_create (&thread, nullptr, leave_thread, &leaver), ==, 0);
  g_assert_cmpint (pthread_join (thread, &value), ==, 0);
  if (how == Exit::cancel || how == Exit::cancel_broken)
    g_assert_true (value == PTHREAD_CANCELED);
  else
    g_assert_cmpint (GPOINTER_TO_INT (value), ==, 4711);
  g_assert_false (leaver.returned);
  g_assert_true (leaver.cleaned);
  g_assert_cmpint (leaver.body.destroyed, ==, 1);
  calls.assert_balanced ();
}

void
test_leave (gconstpointer data)
{
  g_auto (Fixture) fixture = {};
  int how = GPOINTER_TO_INT (data);

  fixture_init (&fixture);
  memra_capture_options_set_mode (fixture.options, static_cast<MemraCaptureMode> (how % 3));
  check_leaver (&fixture, static_cast<Exit> (how / 3));
  g_assert_cmpuint (fixture.calls, ==, 1);
  fixture_assert_good_as_new (&fixture, 0);
}

// Deferred cancellation that is pending when the capture starts: the body is the first to notice, or nobody is.
void *
capture_with_pending_cancel (void *data)
{
  auto *fixture = static_cast<Fixture *> (data);
  MemraLayerCapture *capture;

  pthread_setcancelstate (PTHREAD_CANCEL_DISABLE, nullptr);
  pthread_cancel (pthread_self ());
  capture = memra_capture_layer (fixture->stream, 95, fixture->options, fixture_body, fixture, nullptr);
  g_assert_nonnull (capture);
  memra_layer_capture_unref (capture);
  return GINT_TO_POINTER (1);
}

void
test_cancel_disabled ()
{
  g_auto (Fixture) fixture = {};
  pthread_t thread;
  void *value = nullptr;

  fixture_init (&fixture);
  g_assert_cmpint (pthread_create (&thread, nullptr, capture_with_pending_cancel, &fixture), ==, 0);
  g_assert_cmpint (pthread_join (thread, &value), ==, 0);
  g_assert_cmpint (GPOINTER_TO_INT (value), ==, 1);
  fixture_assert_good_as_new (&fixture, 1);
}

void
add_tests ()
{
  static const char *const throws[] = { "plain", "strict", "broken", "messy" };
  static const char *const leaves[] = { "cancel", "cancel-broken", "exit", "exit-messy" };

  for (int i = 0; i < 12; i++)
    {
      g_autofree char *path = g_strdup_printf ("/unwind/throw/%s/%s", throws[i / 3], mode_names[i % 3]);

      memra_test_add_data (path, GINT_TO_POINTER (i), test_throw);
    }
  memra_test_add ("/unwind/throw/all-forms", test_throw_all_forms);
  memra_test_add ("/unwind/throw/often", test_throw_often);
  memra_test_add ("/unwind/throw/releases", test_throw_releases);
  for (int i = 0; i < 3; i++)
    {
      g_autofree char *path = g_strdup_printf ("/unwind/throw/scope/%s", mode_names[i]);

      memra_test_add_data (path, GINT_TO_POINTER (i), test_throw_scope);
    }
  for (int i = 0; i < 12; i++)
    {
      g_autofree char *path = g_strdup_printf ("/unwind/thread/%s/%s", leaves[i / 3], mode_names[i % 3]);

      memra_test_add_data (path, GINT_TO_POINTER (i), test_leave);
    }
  memra_test_add ("/unwind/thread/cancel-disabled", test_cancel_disabled);
}

}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
