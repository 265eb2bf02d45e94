// SPDX-License-Identifier: LGPL-2.1-or-later
// A C++ engine: lambdas as bodies, handles that free themselves, and an exception that crosses a capture.
#include <memra-capture/memra-capture.h>

#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace memra
{

struct Deleter
{
  void operator() (MemraDriver *driver) const { memra_driver_unref (driver); }
  void operator() (MemraContext *context) const { memra_context_unref (context); }
  void operator() (MemraStream *stream) const { memra_stream_unref (stream); }
  void operator() (MemraBuffer *buffer) const { memra_buffer_unref (buffer); }
  void operator() (MemraLayerCapture *capture) const { memra_layer_capture_unref (capture); }
};

template <typename T> using Handle = std::unique_ptr<T, Deleter>;

// A GError as an exception; what is NULL or FALSE has failed.
template <typename T>
T
check (T value, GError *error)
{
  if (value)
    return value;
  std::string message = error->message;

  g_error_free (error);
  throw std::runtime_error (message);
}

// Any callable that takes a MemraStream and a GError ** is a body.
template <typename Body>
Handle<MemraLayerCapture>
capture (MemraStream *stream, guint layer, Body &&body)
{
  GError *error = nullptr;
  auto call = [] (MemraStream *issue, gpointer data, GError **reason) -> gboolean {
    return (*static_cast<std::remove_reference_t<Body> *> (data)) (issue, reason);
  };

  return Handle<MemraLayerCapture> (check (memra_capture_layer (stream, layer, nullptr, call, &body, &error), error));
}

} // namespace memra

static void
run ()
{
  GError *error = nullptr;
  memra::Handle<MemraDriver> driver (memra::check (memra_driver_open (memra_host_driver_path (), &error), error));
  memra::Handle<MemraContext> context (memra::check (memra_context_new (driver.get (), 0, &error), error));
  memra_context_set_event_tracking (context.get (), FALSE);
  memra::Handle<MemraStream> stream (
      memra::check (memra_stream_new (context.get (), MEMRA_STREAM_NON_BLOCKING, &error), error));
  memra::Handle<MemraBuffer> buffer (memra::check (memra_buffer_new (stream.get (), 4096, &error), error));

  auto captured = memra::capture (stream.get (), 0, [&] (MemraStream *issue, GError **reason) {
    return memra_buffer_zero (buffer.get (), issue, reason);
  });
  std::cout << "captured " << memra_census_get_n_nodes (memra_layer_capture_get_census (captured.get ())) << " node\n";

  try
    {
      memra::capture (stream.get (), 1, [&] (MemraStream *issue, GError **reason) -> gboolean {
        memra_buffer_zero (buffer.get (), issue, reason);
        throw std::runtime_error ("no such expert");
      });
    }
  catch (const std::runtime_error &thrown)
    {
      MemraCaptureStatus status;

      memra::check (memra_stream_get_capture_status (stream.get (), &status, &error), error);
      std::cout << "thrown through a capture: " << thrown.what () << "; the stream is "
                << (status == MEMRA_CAPTURE_STATUS_NONE ? "out of capture" : "still captured") << "\n";
    }
}

int
main ()
{
  try
    {
      run ();
      return 0;
    }
  catch (const std::exception &thrown)
    {
      std::cerr << thrown.what () << "\n";
      return 1;
    }
}
