/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sweep-code.c: modules, libraries, functions and graphs inside a capture. */
#include "sweep.h"

#define ONE_CALL(name, expression)                                                                                     \
  SWEEP_CALL (name)                                                                                                    \
  {                                                                                                                    \
    (void)s;                                                                                                           \
    return (expression);                                                                                               \
  }

ONE_CALL (call_load_data, cu.cuModuleLoadData (&s->module, w.image))
ONE_CALL (call_load_file, cu.cuModuleLoad (&s->module, w.image_path))
ONE_CALL (call_get_function, cu.cuModuleGetFunction ((CUfunction[]){ NULL }, w.module, "conf_mix"))
ONE_CALL (call_get_function_fresh, cu.cuModuleGetFunction ((CUfunction[]){ NULL }, s->module, "conf_mix"))
ONE_CALL (call_get_function_missing, cu.cuModuleGetFunction ((CUfunction[]){ NULL }, w.module, "no_such_kernel"))
ONE_CALL (call_function_count, CX (cuModuleGetFunctionCount, (unsigned[]){ 0 }, w.module))
ONE_CALL (call_loading_mode, CX (cuModuleGetLoadingMode, (int[]){ 0 }))
ONE_CALL (call_library_load, CX (cuLibraryLoadData, &s->library, w.image, NULL, NULL, 0, NULL, NULL, 0))
ONE_CALL (call_library_kernel, CX (cuLibraryGetKernel, (CUkernel[]){ NULL }, s->library, "conf_mix"))
ONE_CALL (call_library_module, CX (cuLibraryGetModule, (CUmodule[]){ NULL }, s->library))
ONE_CALL (call_library_count, CX (cuLibraryGetKernelCount, (unsigned[]){ 0 }, s->library))
ONE_CALL (call_kernel_function, CX (cuKernelGetFunction, (CUfunction[]){ NULL }, s->kernel))
ONE_CALL (call_kernel_name, CU (cuKernelGetName, (const char *[]){ NULL }, s->kernel))
ONE_CALL (call_kernel_param, CU (cuKernelGetParamInfo, s->kernel, 0, (size_t[]){ 0 }, (size_t[]){ 0 }))
ONE_CALL (call_func_load, CX (cuFuncLoad, w.add))
ONE_CALL (call_func_is_loaded, CX (cuFuncIsLoaded, (int[]){ 0 }, w.add))
ONE_CALL (call_func_attribute, CX (cuFuncGetAttribute, (int[]){ 0 }, 0, w.add))
ONE_CALL (call_func_set_attribute, CX (cuFuncSetAttribute, w.add, 8, 1024))
ONE_CALL (call_func_name, CU (cuFuncGetName, (const char *[]){ NULL }, w.add))
ONE_CALL (call_func_param, CU (cuFuncGetParamInfo, w.add, 0, (size_t[]){ 0 }, (size_t[]){ 0 }))
ONE_CALL (call_func_module, CU (cuFuncGetModule, (CUmodule[]){ NULL }, w.add))
ONE_CALL (call_occupancy, CX (cuOccupancyMaxActiveBlocksPerMultiprocessor, (int[]){ 0 }, w.add, 64, 0))

SWEEP_CALL (call_unload)
{
  int result = cu.cuModuleUnload (s->module);
  if (result == 0)
    s->module = NULL;
  return result;
}

SWEEP_CALL (call_library_unload)
{
  int result = CX (cuLibraryUnload, s->library);
  if (result == 0)
    s->library = NULL;
  return result;
}

/* The first launch of a kernel that was never used: loaded lazily, inside the capture. */
SWEEP_CALL (call_first_launch)
{
  CUfunction function = NULL;
  int result = cu.cuModuleGetFunction (&function, s->module, "conf_empty");
  return result != 0 ? result : conf_launch (function, s->side, NULL);
}

const SweepRow sweep_code_rows[] = {
  { "cuModuleLoadData", call_load_data, 0 },
  { "cuModuleLoad", call_load_file, 0 },
  { "cuModuleUnload", call_unload, WANT_MODULE },
  { "cuModuleGetFunction", call_get_function, 0 },
  { "cuModuleGetFunction.fresh-module", call_get_function_fresh, WANT_MODULE },
  { "cuModuleGetFunction.missing", call_get_function_missing, 0 },
  { "cuModuleGetFunctionCount", call_function_count, 0 },
  { "cuModuleGetLoadingMode", call_loading_mode, 0 },
  { "cuLaunchKernel.side-fresh-module", call_first_launch, WANT_MODULE },
  { "cuLibraryLoadData", call_library_load, 0 },
  { "cuLibraryUnload", call_library_unload, WANT_LIBRARY },
  { "cuLibraryGetKernel", call_library_kernel, WANT_LIBRARY },
  { "cuLibraryGetModule", call_library_module, WANT_LIBRARY },
  { "cuLibraryGetKernelCount", call_library_count, WANT_LIBRARY },
  { "cuKernelGetFunction", call_kernel_function, WANT_LIBRARY },
  { "cuKernelGetName", call_kernel_name, WANT_LIBRARY },
  { "cuKernelGetParamInfo.end", call_kernel_param, WANT_LIBRARY },
  { "cuFuncLoad", call_func_load, 0 },
  { "cuFuncIsLoaded", call_func_is_loaded, 0 },
  { "cuFuncGetAttribute", call_func_attribute, 0 },
  { "cuFuncSetAttribute", call_func_set_attribute, 0 },
  { "cuFuncGetName", call_func_name, 0 },
  { "cuFuncGetParamInfo", call_func_param, 0 },
  { "cuFuncGetModule", call_func_module, 0 },
  { "cuOccupancyMaxActiveBlocksPerMultiprocessor", call_occupancy, 0 },
  { NULL, NULL, 0 },
};

/* --- graphs --- */

ONE_CALL (call_graph_create, cu.cuGraphCreate (&s->clone, 0))
ONE_CALL (call_graph_clone, CX (cuGraphClone, &s->clone, s->graph))
ONE_CALL (call_graph_nodes, cu.cuGraphGetNodes (s->graph, NULL, (size_t[]){ 0 }))
ONE_CALL (call_instantiate, cu.cuGraphInstantiateWithFlags (&s->made_exec, s->graph, 0))
ONE_CALL (call_upload_side, cu.cuGraphUpload (s->exec, s->side))
ONE_CALL (call_upload_capturing, cu.cuGraphUpload (s->exec, s->capture))
ONE_CALL (call_launch_side, cu.cuGraphLaunch (s->exec, s->side))
ONE_CALL (call_launch_capturing, cu.cuGraphLaunch (s->exec, s->capture))
ONE_CALL (call_dot, CU (cuGraphDebugDotPrint, s->graph, "/dev/null", 0))
ONE_CALL (call_add_empty, CX (cuGraphAddEmptyNode, (CUgraphNode[]){ NULL }, s->graph, NULL, 0))
ONE_CALL (call_destroy_node, CX (cuGraphDestroyNode, conf_node (s->graph, 0)))
ONE_CALL (call_set_enabled, CX (cuGraphNodeSetEnabled, s->exec, conf_node (s->graph, 0), 0))
ONE_CALL (call_exec_flags, CX (cuGraphExecGetFlags, s->exec, (uint64_t[]){ 0 }))

SWEEP_CALL (call_instantiate_params)
{
  McuInstantiateParams params = { 0, NULL, NULL, 0 };
  return CU (cuGraphInstantiateWithParams, &s->made_exec, s->graph, &params);
}

SWEEP_CALL (call_update)
{
  McuUpdateResultInfo info = { 0, NULL, NULL };
  return CU (cuGraphExecUpdate_v2, s->exec, s->graph, &info);
}

SWEEP_CALL (call_exec_set_kernel)
{
  McuKernelNodeParams params;
  memset (&params, 0, sizeof params);
  CUgraphNode node = conf_node (s->graph, 0);
  int result = CU (cuGraphKernelNodeGetParams_v2, node, &params);
  return result != 0 ? result : CU (cuGraphExecKernelNodeSetParams_v2, s->exec, node, &params);
}

SWEEP_CALL (call_graph_destroy)
{
  int result = cu.cuGraphDestroy (s->graph);
  if (result == 0)
    s->graph = NULL;
  return result;
}

SWEEP_CALL (call_exec_destroy)
{
  int result = cu.cuGraphExecDestroy (s->exec);
  if (result == 0)
    s->exec = NULL;
  return result;
}

SWEEP_CALL (call_user_object)
{
  CUuserObject object = NULL;
  (void)s;
  int result = cu.cuUserObjectCreate (&object, NULL, conf_count_bump, 1, MCU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
  return result != 0 ? result : cu.cuUserObjectRelease (object, 1);
}

/* The graph under construction, read and extended from outside. */
SWEEP_CALL (call_read_capture_graph)
{
  CUgraph graph = NULL;
  int status = 0;
  size_t count = 0;
  uint64_t id = 0;
  int result = cu.cuStreamGetCaptureInfo_v2 (s->capture, &status, &id, &graph, NULL, NULL);
  if (result != 0 || graph == NULL)
    return result;
  result = cu.cuGraphGetNodes (graph, NULL, &count);
  return result;
}

SWEEP_CALL (call_extend_capture_graph)
{
  CUgraph graph = NULL;
  CUgraphNode node = NULL;
  int status = 0;
  uint64_t id = 0;
  int result = cu.cuStreamGetCaptureInfo_v2 (s->capture, &status, &id, &graph, NULL, NULL);
  return result != 0 ? result : CX (cuGraphAddEmptyNode, &node, graph, NULL, 0);
}

SWEEP_CALL (call_destroy_capture_node)
{
  CUgraph graph = NULL;
  int status = 0;
  uint64_t id = 0;
  int result = cu.cuStreamGetCaptureInfo_v2 (s->capture, &status, &id, &graph, NULL, NULL);
  return result != 0 ? result : CX (cuGraphDestroyNode, conf_node (graph, 0));
}

const SweepRow sweep_graph_rows[] = {
  { "cuGraphCreate", call_graph_create, 0 },
  { "cuGraphDestroy", call_graph_destroy, WANT_GRAPH },
  { "cuGraphClone", call_graph_clone, WANT_GRAPH },
  { "cuGraphGetNodes", call_graph_nodes, WANT_GRAPH },
  { "cuGraphGetNodes.captured-graph", call_read_capture_graph, 0 },
  { "cuGraphAddEmptyNode", call_add_empty, WANT_GRAPH },
  { "cuGraphAddEmptyNode.captured-graph", call_extend_capture_graph, 0 },
  { "cuGraphDestroyNode", call_destroy_node, WANT_GRAPH },
  { "cuGraphDestroyNode.captured-graph", call_destroy_capture_node, 0 },
  { "cuGraphInstantiateWithFlags", call_instantiate, WANT_GRAPH },
  { "cuGraphInstantiateWithParams", call_instantiate_params, WANT_GRAPH },
  { "cuGraphUpload.side", call_upload_side, WANT_EXEC },
  { "cuGraphUpload.capturing", call_upload_capturing, WANT_EXEC },
  { "cuGraphLaunch.side", call_launch_side, WANT_EXEC },
  { "cuGraphLaunch.capturing", call_launch_capturing, WANT_EXEC },
  { "cuGraphExecUpdate", call_update, WANT_EXEC },
  { "cuGraphExecKernelNodeSetParams", call_exec_set_kernel, WANT_EXEC },
  { "cuGraphNodeSetEnabled", call_set_enabled, WANT_EXEC },
  { "cuGraphExecGetFlags", call_exec_flags, WANT_EXEC },
  { "cuGraphExecDestroy", call_exec_destroy, WANT_EXEC },
  { "cuGraphDebugDotPrint", call_dot, WANT_GRAPH },
  { "cuUserObjectCreateRelease", call_user_object, 0 },
  { NULL, NULL, 0 },
};
