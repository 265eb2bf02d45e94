/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * graph-private.h: what the files of the graph half share: graphs, executable graphs, captures, user objects.
 *
 * Everything is guarded by host_lock, with one exception: a HostProgram and the HostWork in it are constant while
 * somebody else holds a reference, so a stream's worker runs them unlocked.
 */
#pragma once

#include "host-private.h"

/* Body of an entry point: takes the lock, calls, drops the lock. */
#define HOST_CALL(entry, call)                                                                                         \
  do                                                                                                                   \
    {                                                                                                                  \
      McuResult result_ = host_enter (HOST_ENTRY_##entry);                                                             \
      if (result_ == MCU_SUCCESS)                                                                                      \
        result_ = (call);                                                                                              \
      return host_leave (HOST_ENTRY_##entry, result_);                                                                 \
    }                                                                                                                  \
  while (0)

/* ---------------------------------------------------------------------------------------------------------------
 * Parameter structs that abi.h does not have (only the host driver fills them)
 */

typedef struct /* CUDA_MEMCPY_NODE_PARAMS */
{
  int flags;
  int reserved;
  CUcontext ctx;
  McuMemcpy3D copy;
} HostMemcpyNodeParams;

typedef struct /* CUDA_MEMSET_NODE_PARAMS_v2 */
{
  McuMemsetNodeParams fill;
  CUcontext ctx;
} HostMemsetNodeParams;

typedef struct /* CUDA_CHILD_GRAPH_NODE_PARAMS */
{
  CUgraph graph;
  int ownership; /* 0: clone, 1: move (12.9) */
} HostChildNodeParams;

typedef union /* the union inside CUgraphNodeParams */
{
  long long padding[29];
  McuKernelNodeParams kernel;
  HostMemcpyNodeParams memcpy;
  HostMemsetNodeParams memset;
  McuHostNodeParams host;
  HostChildNodeParams child;
  CUevent event;
  McuMemAllocNodeParams alloc;
  CUdeviceptr free;
  HostBatchMemOpNodeParams mem_ops;
  McuConditionalNodeParams conditional;
} HostNodeParamsUnion;

typedef struct /* CUgraphNodeParams */
{
  int type;
  int reserved0[3];
  HostNodeParamsUnion u;
  long long reserved2;
} HostNodeParams;

G_STATIC_ASSERT (sizeof (HostNodeParams) == sizeof (McuNodeParams));

/* ---------------------------------------------------------------------------------------------------------------
 * What a node does
 */

/* Memory of an allocation node: reserved for as long as a node or an exec knows it. */
typedef struct
{
  unsigned refs;
  HostAllocation *allocation;      /* owned */
  McuMemAllocNodeParams params;    /* as returned to the client */
  McuMemAccessDesc *descs;         /* nullable; owned; params.access_descs */
  uint64_t graph;                  /* HostGraph.uid of the graph that allocates */
  bool freed_inside;               /* a free node of that graph frees it */
  bool freed_outside;              /* a free node of another graph does */
  bool backed;                     /* had a life since the last cuDeviceGraphMemTrim */
  uint64_t freed_by, allocated_by; /* == a fresh host_graph_mark(): a launch being prepared does so */
} HostMemory;

/* A conditional's handle. */
typedef struct
{
  uint64_t id;
  unsigned value; /* at launch */
  bool used;      /* a node has it */
} HostConditionalHandle;

typedef struct
{
  uint64_t handle; /* HostConditionalHandle.id */
  unsigned value;  /* of the handle at launch: kernels of the host driver cannot set it */
  int type;        /* MCU_COND_* */
  unsigned size;
  HostGraph **bodies; /* owned, size of them */
} HostConditional;

/* Words to be written and waited for. */
typedef struct
{
  unsigned count;
  HostMemOp *ops; /* owned */
} HostMemOps;

/* What one node does. Constant once made: setting a node's parameters gives it a new one. */
typedef struct
{
  unsigned refs;
  int type;             /* MCU_NODE_* */
  HostContext *context; /* nullable; borrowed, never followed: where the node belongs */
  union
  {
    HostLaunch *launch;       /* kernel; owned */
    McuMemcpy3D *copy;        /* memcpy; owned */
    McuMemsetNodeParams fill; /* memset */
    McuHostNodeParams host;   /* host */
    HostGraph *child;         /* child graph; owned */
    HostEvent *event;         /* wait-event, event-record; holds a reference */
    HostMemory *memory;       /* mem-alloc; holds a reference */
    struct
    {
      CUdeviceptr address;
      HostMemory *memory;         /* holds a reference */
    } free;                       /* mem-free */
    HostMemOps *mem_ops;          /* batch-mem-op; owned */
    HostConditional *conditional; /* owned */
  } u;
} HostWork;

/* work.c */
HostWork *host_work_new (int type, HostContext *context);
HostWork *host_work_ref (HostWork *work);
void host_work_unref (HostWork *work);

/* For another node or an exec: kernels and child graphs are copied, for the client can reach into them; anything else
 * is shared. NULL for a conditional, which cannot be copied. */
HostWork *host_work_copy (HostWork *work);

/* From parameters as an API function gets them; `context` is for the node (NULL: the current one). */
McuResult host_work_new_kernel (HostWork **work, const McuKernelNodeParams *params, bool v2);
McuResult host_work_new_memcpy (HostWork **work, const McuMemcpy3D *params, HostContext *context);
McuResult host_work_new_memset (HostWork **work, const McuMemsetNodeParams *params, HostContext *context);
McuResult host_work_new_host (HostWork **work, const McuHostNodeParams *params);
McuResult host_work_new_mem_ops (HostWork **work, const HostBatchMemOpNodeParams *params); /* mem-ops.c */
McuResult host_work_new_event (HostWork **work, int type, HostEvent *event);

/* ---------------------------------------------------------------------------------------------------------------
 * Graphs
 */

typedef struct
{
  HostNode *node; /* borrowed */
  McuEdgeData data;
} HostEdge;

/* One node's edges in one direction, in the order in which they were added. */
typedef struct
{
  HostEdge *items; /* owned */
  unsigned n, capacity;
} HostEdges;

struct CUgraphNode_st
{
  HostObject object;
  HostGraph *graph;                    /* borrowed */
  HostNode *previous, *next;           /* in order of creation */
  HostNode *previous_root, *next_root; /* while it depends on nothing: the latest root first */
  HostWork *work;                      /* holds a reference */
  uint64_t uid;                        /* never reused in the process */
  uint64_t original;                   /* uid of the node that this one is a clone of; 0 */
  unsigned id;                         /* within the graph, from 0, never reused there */
  HostEdges dependencies, dependents;

  /* Scratch of one operation under the lock. */
  uint64_t mark;     /* == a fresh host_graph_mark(): visited */
  unsigned position; /* in a sorted order, or a count */
  HostNode *copy;    /* in a clone */
};

struct CUgraph_st
{
  HostObject object;
  uint64_t uid; /* never reused in the process */
  HostNode *first, *last;
  HostNode *first_root;
  unsigned n_nodes;
  unsigned next_id;
  size_t n_edges;
  unsigned n_memory_nodes;  /* allocation and free nodes, children included */
  unsigned n_memory_execs;  /* live execs of a graph that has such nodes */
  HostCapture *capture;     /* nullable; borrowed: captured into at present */
  HostNode *owner;          /* nullable; borrowed: the node in which this graph is embedded */
  uint64_t origin;          /* uid of the graph of which this is a clone; 0 */
  GHashTable *clones;       /* nullable; owned: uid of an original node to the node here, made when asked for */
  GPtrArray *handles;       /* nullable; owned: HostConditionalHandle, owned */
  GHashTable *user_objects; /* nullable; owned: HostUserObject to the number of references held */
};

/* graph.c */
HostGraph *host_graph_new (void);

/* A deep copy with its own user object references; 801 when the graph has memory or conditional nodes. */
McuResult host_graph_clone (HostGraph **clone, HostGraph *graph);

/* Frees all that the graph has; it is as new. */
void host_graph_clear (HostGraph *graph);

/* The same, and retires the handle; the struct goes with its last reference. */
void host_graph_destroy (HostGraph *graph);

/* The graph of a handle, or NULL. */
HostGraph *host_graph_get (CUgraph handle);

/* The node of a handle, or NULL; of any type with type < 0. */
HostNode *host_node_get (CUgraphNode handle, int type);

/* A fresh number for a graph, node or exec, never reused in the process. */
uint64_t host_graph_next_uid (void);

/* A number that no node is marked with. */
uint64_t host_graph_mark (void);

/* Adds a node that depends on those in `edges`, which must be different nodes of the graph. Takes `work`. */
HostNode *host_node_new (HostGraph *graph, HostWork *work, const HostEdge *edges, size_t n);

/* Takes the node and its edges out of the graph. */
void host_node_remove (HostNode *node);

/* Whether the client may change nodes and edges now: 0, or the answer. `removal`: takes nodes or edges away. */
McuResult host_graph_check_edit (HostGraph *graph, bool removal);

/* Keep the list of roots: call when the node's first dependency is about to come, and after its last one has gone. */
void host_node_become_root (HostNode *node);
void host_node_cease_root (HostNode *node);

/* edges.c */
void host_edges_add (HostEdges *edges, HostNode *node, const McuEdgeData *data);
void host_edges_clear (HostEdges *edges);
void host_edge_connect (HostNode *from, HostNode *to, const McuEdgeData *data);
void host_edge_disconnect_all (HostNode *node);
bool host_edge_is_default (const McuEdgeData *data);

/* Checks a client's dependency array (nodes of the graph, no duplicates) and makes `edges` of it: a GArray of HostEdge,
 * owned by the caller, NULL on failure. */
McuResult host_edges_from_client (GArray **edges, HostGraph *graph, const CUgraphNode *nodes, const McuEdgeData *data,
                                  size_t n);

/* nodes.c: adds a node on behalf of the client. Takes `work`. */
McuResult host_node_add (CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies, const McuEdgeData *data,
                         size_t n, HostWork *work);

/* Checks what every cuGraphAdd*Node checks first, before its own parameters. */
McuResult host_node_check_add (CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies, size_t n);
McuResult host_node_add_child (CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies,
                               const McuEdgeData *data, size_t n, CUgraph child, int ownership);

/* node-params.c */
void host_kernel_params_fill (const HostWork *work, McuKernelNodeParams *params, bool v2);

/* Gives the node other work of the same type. Takes `work`. */
void host_node_set_work (HostNode *node, HostWork *work);

/* node-generic.c: work from a CUgraphNodeParams for the types that need nothing but it; 801 for others. */
McuResult host_work_from_params (HostWork **work, HostNodeParams *params);

/* graph-memory.c */
McuResult host_memory_node_add (HostGraph *graph, const HostEdge *edges, size_t n, HostContext *context, HostPool *pool,
                                McuMemAllocNodeParams *params, HostNode **node);
McuResult host_memory_node_free (HostGraph *graph, const HostEdge *edges, size_t n, HostContext *context,
                                 CUdeviceptr address, HostNode **node);
void host_graph_memory_unref (HostMemory *memory);

/* What a launch does before its operation is enqueued: 1 when memory of an earlier launch is not freed. */
typedef struct HostProgram HostProgram;
typedef struct HostRun HostRun;
typedef struct HostSpecial HostSpecial;
McuResult host_memory_prepare (HostProgram *program, HostRun *run, bool auto_free);
void host_memory_run_alloc (HostMemory *memory, const HostSpecial *special);
void host_memory_run_free (HostMemory *memory, const HostSpecial *special);

/* mem-ops.c */
void host_mem_ops_run (const HostMemOps *ops); /* unlocked */
void host_mem_ops_free (HostMemOps *ops);
void host_mem_ops_params_fill (const HostWork *work, HostBatchMemOpNodeParams *params);

/* conditional.c */
HostConditionalHandle *host_conditional_handle_find (HostGraph *graph, uint64_t id);
void host_conditional_free (HostConditional *conditional);
McuResult host_node_add_conditional (CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies,
                                     const McuEdgeData *data, size_t n, McuConditionalNodeParams *params);

/* user-object.c */
void host_user_object_retain (HostUserObject *object, unsigned count);
void host_user_object_release (HostUserObject *object, unsigned count);
GHashTable *host_user_objects_copy (GHashTable *objects); /* nullable in, nullable out; one reference each */
void host_user_objects_free (GHashTable *objects);        /* nullable; releases every reference */

/* Runs the destructors that are pending and ends their thread; drops the lock meanwhile. */
void host_user_objects_shutdown (void);

/* ---------------------------------------------------------------------------------------------------------------
 * Executable graphs
 */

typedef enum
{
  HOST_STEP_NODE,
  HOST_STEP_ENTER, /* a child graph begins: what its roots depend on */
  HOST_STEP_LEAVE  /* a child graph ends: depends on its sinks and its ENTER */
} HostStepKind;

typedef struct
{
  unsigned step;
  McuEdgeData data;
} HostStepEdge;

/* One node of the flattened graph. */
typedef struct
{
  HostWork *work; /* nullable (ENTER, LEAVE); holds a reference */
  HostNode *node; /* borrowed; the node it came from; only while the program is being made and compared */
  uint64_t uid;   /* of the node in the graph that was instantiated: how the client names it */
  HostStepKind kind;
  unsigned first, n;    /* its dependencies: HostProgram.edges[first ... first + n - 1] */
  unsigned depth;       /* of child graphs */
  unsigned peers;       /* ENTER and LEAVE: the number of nodes directly in the child graph */
  unsigned partner;     /* ENTER: its LEAVE; LEAVE: its ENTER */
  int special;          /* index in a run's specials, or -1 */
  bool enabled;         /* the client has not disabled it */
  HostProgram **bodies; /* nullable; owned: a conditional's, work->u.conditional->size of them */
} HostStep;

/* A graph made flat and sorted: topological, ties by creation. */
struct HostProgram
{
  unsigned refs;
  unsigned n_nodes; /* directly in the graph */
  unsigned n_special;
  GArray *steps;            /* HostStep */
  GArray *edges;            /* HostStepEdge */
  GHashTable *user_objects; /* nullable; owned: HostUserObject to 1, those of embedded graphs too */
};

/* What a step of the types event, mem-alloc and mem-free needs from its launch. */
struct HostSpecial
{
  HostFence *fence; /* nullable; owned: to wait for, or to complete */
  bool inside;      /* mem-alloc, mem-free: of memory that lives within the launch */
};

/* One launch. */
struct HostRun
{
  HostExec *exec;        /* holds a reference */
  HostProgram *program;  /* holds a reference */
  unsigned *order;       /* nullable: as sorted; owned */
  HostSpecial *specials; /* nullable; owned; program->n_special */
};

struct CUgraphExec_st
{
  HostObject object;
  uint64_t uid;
  HostProgram *program; /* holds a reference */
  GHashTable *index;    /* nullable; owned: node uid to step index + 1; made when asked for */
  HostFence *last;      /* nullable; owned: completion of the last launch or upload */
  unsigned n_launches;
  uint64_t flags;          /* as instantiated */
  HostGraph *memory_graph; /* nullable; holds a reference: the graph with memory nodes it came from */
};

/* program.c. On a cycle: 1 and the offending node. */
McuResult host_program_new (HostProgram **program, HostGraph *graph, HostNode **offender);
HostProgram *host_program_ref (HostProgram *program);
void host_program_unref (HostProgram *program);

/* A program that only the caller knows: `program` itself when its one reference is the caller's, else a copy of it,
 * for which the caller's reference to the old one is given up. */
HostProgram *host_program_own (HostProgram *program);

/* A random legal order from the seed: n indices, owned by the caller. */
unsigned *host_program_shuffle (HostProgram *program, unsigned seed);

#define HOST_STEP(program, i)      (&g_array_index ((program)->steps, HostStep, (i)))
#define HOST_STEP_EDGE(program, i) (&g_array_index ((program)->edges, HostStepEdge, (i)))

/* exec.c */
HostExec *host_exec_get (CUgraphExec handle);
McuResult host_exec_upload (HostExec *exec, HostStream *stream);

/* The step of a node of the graph that was instantiated, in a program that may be written to: NULL when the node is no
 * longer there, of another graph, or of another type (type < 0: any). */
HostStep *host_exec_step_for_write (HostExec *exec, CUgraphNode node, int type);
HostStep *host_exec_step (HostExec *exec, CUgraphNode node, int type);

/* exec-params.c: gives the step of `node` other work. Takes `work`. */
McuResult host_exec_set_work (CUgraphExec handle, CUgraphNode node, HostWork *work);

/* update.c: whether a step of the exec may do `work` instead: MCU_UPDATE_*. */
int host_update_check_work (const HostExec *exec, const HostWork *old_work, const HostWork *new_work);

/* Pairs every step of `program` with one of `old` and checks that it may take its place: the map (index in `program`
 * to index in `old`, owned by the caller), or NULL and what is wrong in `info`. */
unsigned *host_update_pair (const HostExec *exec, HostProgram *old, HostProgram *program, McuUpdateResultInfo *info);

/* ---------------------------------------------------------------------------------------------------------------
 * Captures
 */

struct HostCapture
{
  HostObject object; /* live from begin to end */
  uint64_t id;
  int mode;        /* MCU_CAPTURE_MODE_* */
  int status;      /* ACTIVE or INVALIDATED while live, NONE afterwards */
  uint64_t thread; /* HostThread.id of the one that began */
  bool to_graph;   /* the client owns the graph */
  bool forked;     /* a second stream joined at some time */
  HostMember *origin;
  HostGraph *graph;   /* owned until end, unless to_graph */
  GPtrArray *members; /* HostMember, owned; the origin first */
  GArray *loose;      /* HostNode *: what forks whose stream was destroyed left unjoined */
};

struct HostMember
{
  HostCapture *capture; /* borrowed */
  HostStream *stream;   /* borrowed; its `capture` points here */
  GArray *next;         /* HostEdge: what the next operation depends on */
  bool worked;          /* has recorded a node */
  CUgraphNode *nodes;   /* owned; what cuStreamGetCaptureInfo answered last */
  McuEdgeData *data;    /* owned; the same */
};

struct HostCapturedEvent
{
  HostCapture *capture; /* holds a reference */
  HostEdge *edges;      /* owned; valid while the capture lives */
  unsigned n;
};

extern GPtrArray *host_captures; /* nullable; HostCapture, borrowed: the live ones */

/* capture.c */
void host_capture_invalidate (HostCapture *capture);
HostMember *host_capture_join (HostCapture *capture, HostStream *stream);

/* Makes `edges` the set that the stream's next operation depends on, or adds to it what is not there yet. */
void host_member_set_next (HostMember *member, const HostEdge *edges, size_t n);
void host_member_add_next (HostMember *member, const HostEdge *edges, size_t n);

/* capture-record.c: makes a node of `work` in the stream's capture. Takes `work`. */
McuResult host_capture_work (HostStream *stream, HostWork *work);

/* capture-rules.c: situations in which a call is refused. */
typedef enum
{
  HOST_SITUATION_MEMBER_SYNC,    /* synchronise or query a member stream, or anything else that cannot be recorded */
  HOST_SITUATION_CAPTURED_EVENT, /* query, synchronise on an event of a live capture */
  HOST_SITUATION_ELAPSED,        /* elapsed time of such an event */
  HOST_SITUATION_OUTSIDE_EVENT,  /* a member waits on an event that no capture recorded */
  HOST_SITUATION_ENDED_EVENT,    /* query, synchronise on an event whose capture has ended, or is invalidated */
  HOST_SITUATION_ENDED_WAIT,     /* a member waits on such an event */
  HOST_SITUATION_MERGE,          /* a member waits on an event of another capture */
  HOST_SITUATION_LEGACY,         /* use of the legacy stream beside a blocking capture */
  HOST_SITUATION_LEGACY_JOINS,   /* the legacy stream waits on a captured event */
  HOST_N_SITUATIONS
} HostSituation;

/* Answers for the situation, with what it breaks; both captures are nullable. */
McuResult host_capture_refuse (HostSituation situation, HostCapture *own, HostCapture *other);

/* A live capture with a blocking stream of the context in it, or NULL. */
HostCapture *host_capture_of_blocking (const HostContext *context);
