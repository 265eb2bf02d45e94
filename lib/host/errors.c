/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * errors.c: names and descriptions of results.
 */
#include "core-private.h"

#define FIRST_OF_13_1 917

/* In ascending order of code. */
static const struct
{
  int code;
  const char *name;
  const char *text;
} results[] = {
  { 0, "CUDA_SUCCESS", "no error" },
  { 1, "CUDA_ERROR_INVALID_VALUE", "invalid argument" },
  { 2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
  { 3, "CUDA_ERROR_NOT_INITIALIZED", "the driver is not initialised" },
  { 4, "CUDA_ERROR_DEINITIALIZED", "the driver is shutting down" },
  { 5, "CUDA_ERROR_PROFILER_DISABLED", "the profiler is not available" },
  { 6, "CUDA_ERROR_PROFILER_NOT_INITIALIZED", "the profiler is not initialised" },
  { 7, "CUDA_ERROR_PROFILER_ALREADY_STARTED", "the profiler is already running" },
  { 8, "CUDA_ERROR_PROFILER_ALREADY_STOPPED", "the profiler is already stopped" },
  { 34, "CUDA_ERROR_STUB_LIBRARY", "the library is a link-time stub, not a driver" },
  { 36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", "the call needs a newer driver" },
  { 46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "the device is busy or not available" },
  { 100, "CUDA_ERROR_NO_DEVICE", "no device found" },
  { 101, "CUDA_ERROR_INVALID_DEVICE", "no such device" },
  { 102, "CUDA_ERROR_DEVICE_NOT_LICENSED", "the device has no licence" },
  { 200, "CUDA_ERROR_INVALID_IMAGE", "the image is not a module" },
  { 201, "CUDA_ERROR_INVALID_CONTEXT", "no valid context is current" },
  { 202, "CUDA_ERROR_CONTEXT_ALREADY_CURRENT", "the context is already current" },
  { 205, "CUDA_ERROR_MAP_FAILED", "mapping failed" },
  { 206, "CUDA_ERROR_UNMAP_FAILED", "unmapping failed" },
  { 207, "CUDA_ERROR_ARRAY_IS_MAPPED", "the array is mapped" },
  { 208, "CUDA_ERROR_ALREADY_MAPPED", "the resource is already mapped" },
  { 209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "the image has no code for this device" },
  { 210, "CUDA_ERROR_ALREADY_ACQUIRED", "the resource is already acquired" },
  { 211, "CUDA_ERROR_NOT_MAPPED", "the resource is not mapped" },
  { 212, "CUDA_ERROR_NOT_MAPPED_AS_ARRAY", "the resource is not mapped as an array" },
  { 213, "CUDA_ERROR_NOT_MAPPED_AS_POINTER", "the resource is not mapped as a pointer" },
  { 214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable memory error" },
  { 215, "CUDA_ERROR_UNSUPPORTED_LIMIT", "the limit is not supported" },
  { 216, "CUDA_ERROR_CONTEXT_ALREADY_IN_USE", "the context is in use by another thread" },
  { 217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not possible between these devices" },
  { 218, "CUDA_ERROR_INVALID_PTX", "the assembly text cannot be compiled" },
  { 219, "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", "invalid graphics context" },
  { 220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", "uncorrectable link error" },
  { 221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "no run-time compiler found" },
  { 222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the assembly text is of an unsupported version" },
  { 223, "CUDA_ERROR_JIT_COMPILATION_DISABLED", "run-time compilation is disabled" },
  { 224, "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY", "the execution affinity is not supported" },
  { 225, "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC", "the code synchronises on the device, which is not supported" },
  { 226, "CUDA_ERROR_CONTAINED", "the failure was contained" },
  { 300, "CUDA_ERROR_INVALID_SOURCE", "invalid source" },
  { 301, "CUDA_ERROR_FILE_NOT_FOUND", "file not found" },
  { 302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", "a symbol of a shared object was not found" },
  { 303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "a shared object failed to initialise" },
  { 304, "CUDA_ERROR_OPERATING_SYSTEM", "an operating system call failed" },
  { 400, "CUDA_ERROR_INVALID_HANDLE", "invalid handle" },
  { 401, "CUDA_ERROR_ILLEGAL_STATE", "the object is not in a state that allows this" },
  { 402, "CUDA_ERROR_LOSSY_QUERY", "the query would lose information" },
  { 500, "CUDA_ERROR_NOT_FOUND", "not found" },
  { 600, "CUDA_ERROR_NOT_READY", "not finished yet" },
  { 700, "CUDA_ERROR_ILLEGAL_ADDRESS", "a kernel used an invalid address" },
  { 701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "the launch asks for too many resources" },
  { 702, "CUDA_ERROR_LAUNCH_TIMEOUT", "a kernel ran too long" },
  { 703, "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING", "incompatible texturing mode" },
  { 704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled" },
  { 705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access is not enabled" },
  { 708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "the primary context is already active" },
  { 709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "the context is destroyed" },
  { 710, "CUDA_ERROR_ASSERT", "an assertion failed on the device" },
  { 711, "CUDA_ERROR_TOO_MANY_PEERS", "too many peers" },
  { 712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "the host memory is already registered" },
  { 713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "the host memory is not registered" },
  { 714, "CUDA_ERROR_HARDWARE_STACK_ERROR", "hardware stack error" },
  { 715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "illegal instruction" },
  { 716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address" },
  { 717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "the instruction does not work in this address space" },
  { 718, "CUDA_ERROR_INVALID_PC", "invalid program counter" },
  { 719, "CUDA_ERROR_LAUNCH_FAILED", "a kernel failed" },
  { 720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "the cooperative launch is too large" },
  { 721, "CUDA_ERROR_TENSOR_MEMORY_LEAK", "tensor memory was leaked" },
  { 800, "CUDA_ERROR_NOT_PERMITTED", "the operation is not permitted" },
  { 801, "CUDA_ERROR_NOT_SUPPORTED", "the operation is not supported" },
  { 802, "CUDA_ERROR_SYSTEM_NOT_READY", "the system is not ready" },
  { 803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "driver versions do not match" },
  { 804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "forward compatibility is not possible on this device" },
  { 805, "CUDA_ERROR_MPS_CONNECTION_FAILED", "no connection to the MPS server" },
  { 806, "CUDA_ERROR_MPS_RPC_FAILURE", "the MPS server failed" },
  { 807, "CUDA_ERROR_MPS_SERVER_NOT_READY", "the MPS server is not ready" },
  { 808, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", "too many MPS clients" },
  { 809, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", "too many MPS connections" },
  { 810, "CUDA_ERROR_MPS_CLIENT_TERMINATED", "the MPS server ended this client" },
  { 811, "CUDA_ERROR_CDP_NOT_SUPPORTED", "device-side launch is not supported" },
  { 812, "CUDA_ERROR_CDP_VERSION_MISMATCH", "device-side launch of another version" },
  { 900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "the operation is not permitted while a stream captures" },
  { 901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "the capture was invalidated by an earlier error" },
  { 902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "the operation would merge two captures" },
  { 903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "the capture did not begin in this stream" },
  { 904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "the capture has a branch that was not joined" },
  { 905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "a dependency would cross the border of the capture" },
  { 906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "the legacy stream would be an implicit dependency of a capture" },
  { 907, "CUDA_ERROR_CAPTURED_EVENT", "the event was last recorded in a capture" },
  { 908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "the capture was begun by another thread" },
  { 909, "CUDA_ERROR_TIMEOUT", "timeout" },
  { 910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the executable graph cannot be updated this way" },
  { 911, "CUDA_ERROR_EXTERNAL_DEVICE", "an external device failed" },
  { 912, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "invalid cluster size" },
  { 913, "CUDA_ERROR_FUNCTION_NOT_LOADED", "the function is not loaded" },
  { 914, "CUDA_ERROR_INVALID_RESOURCE_TYPE", "invalid resource type" },
  { 915, "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION", "invalid resource configuration" },
  { 916, "CUDA_ERROR_KEY_ROTATION", "key rotation" },
  { FIRST_OF_13_1, "CUDA_ERROR_STREAM_DETACHED", "the stream is detached" },
  { 999, "CUDA_ERROR_UNKNOWN", "unknown error" },
};

static int
find (int code)
{
  for (size_t i = 0; i < G_N_ELEMENTS (results); i++)
    if (results[i].code == code && (code != FIRST_OF_13_1 || host_settings.driver_version >= 13010))
      return (int) i;
  return -1;
}

const char *
host_result_name (int result)
{
  int index = find (result);

  return index >= 0 ? results[index].name : NULL;
}

HOST_API McuResult
cuGetErrorName (int error, const char **name)
{
  McuResult result = host_enter (HOST_ENTRY_cuGetErrorName);

  if (result == MCU_SUCCESS)
    {
      int index = find (error);

      if (name != NULL)
        *name = index >= 0 ? results[index].name : NULL;
      if (name == NULL || index < 0)
        result = MCU_ERROR_INVALID_VALUE;
    }
  return host_leave (HOST_ENTRY_cuGetErrorName, result);
}

HOST_API McuResult
cuGetErrorString (int error, const char **text)
{
  McuResult result = host_enter (HOST_ENTRY_cuGetErrorString);

  if (result == MCU_SUCCESS)
    {
      int index = find (error);

      if (text != NULL)
        *text = index >= 0 ? results[index].text : NULL;
      if (text == NULL || index < 0)
        result = MCU_ERROR_INVALID_VALUE;
    }
  return host_leave (HOST_ENTRY_cuGetErrorString, result);
}
