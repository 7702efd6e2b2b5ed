/* Orrery's runtime for training that continues when processes die, join or leave: the interface for C and other
 * languages.
 *
 *   orrery_training training = {.size = sizeof training, .samples = 60000, .batch = 64,
 *                               .commit = commit, .state = state, .user = &model};
 *   orrery_worker* worker;
 *   if (orrery_start(&training, &worker) != ORRERY_OK) fail(orrery_message());
 *   while (orrery_step(worker) < steps) {
 *     // gradients of samples orrery_own_samples(), then:
 *     orrery_status status = orrery_all_reduce(worker, "gradients", data, count, ORRERY_F32, ORRERY_SUM, &ticket);
 *     if (status == ORRERY_OK) status = orrery_wait(worker, ticket);
 *     if (orrery_finish_step(worker, status, &outcome) != ORRERY_OK) fail(orrery_message());
 *     if (outcome == ORRERY_ENDED) break;
 *   }
 *   orrery_free(worker);
 *
 * A process that `orrery run` started finds its job by itself; any other is a job of one worker. A worker belongs to
 * the thread that started it. docs/guide/elastic.md explains steps and memberships.
 *
 * Link with liborrery_elastic. Functions and fields are added at the end only; nothing here changes its meaning within
 * one ORRERY_INTERFACE. */
#ifndef ORRERY_ORRERY_H
#define ORRERY_ORRERY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ORRERY_INTERFACE 1
#define ORRERY_EXPORT __attribute__((visibility("default")))

typedef enum orrery_status {
  ORRERY_OK = 0,
  ORRERY_INVALID = 1, /* the call is wrong, or ranks disagree about an operation */
  ORRERY_NOT_FOUND = 2,
  ORRERY_UNSUPPORTED = 3,
  ORRERY_INFEASIBLE = 4,  /* too many operations at a time */
  ORRERY_IO = 5,          /* the machine refused */
  ORRERY_UNAVAILABLE = 6, /* the membership is over: pass this to orrery_finish_step */
  ORRERY_INTERNAL = 7
} orrery_status;

typedef enum orrery_type {
  ORRERY_F16 = 0,
  ORRERY_BF16 = 1,
  ORRERY_F32 = 2,
  ORRERY_F64 = 3,
  ORRERY_I8 = 4,
  ORRERY_I16 = 5,
  ORRERY_I32 = 6,
  ORRERY_I64 = 7
} orrery_type;

typedef enum orrery_op { ORRERY_SUM = 0, ORRERY_PRODUCT = 1, ORRERY_MIN = 2, ORRERY_MAX = 3 } orrery_op;

typedef enum orrery_outcome {
  ORRERY_COMMITTED = 0,
  ORRERY_CHANGED =
      1, /* a new membership has begun: rank, size and samples may differ; the step counts or not (orrery_step) */
  ORRERY_ENDED = 2 /* this process is no longer a worker, or all workers have stopped */
} orrery_outcome;

typedef struct orrery_worker orrery_worker;

typedef struct orrery_ticket {
  uint64_t name;
  uint32_t sequence;
} orrery_ticket;

typedef struct orrery_training {
  size_t size;      /* of this struct, as the program was compiled */
  uint64_t samples; /* in the data set; at least 1 */
  uint64_t seed;    /* of their order */
  uint64_t batch;   /* samples per step of the whole job; at least 1 */
  /* Lets the results of the step that was finished last take effect. */
  void (*commit)(void* user, uint64_t step);
  /* The address of the model: read on workers that have it, written on those that get it. Sets its size in bytes, which
   * is the same on all workers. */
  void* (*state)(void* user, size_t* bytes);
  void* user; /* passed to both */
  /* 0: joining workers get the model while all wait. Otherwise the state is this many arrays of equal length, and the
   * new value that `commit` gives an element depends only on the same element of these arrays, on the results and on
   * the number of the step. Then the other workers continue meanwhile; a joining worker takes part in all operations
   * and commits, without samples, as a learner. The same on all workers. */
  uint64_t lanes;
  /* 1: no process can join later, for example because the program relies on its first ranks. The launcher is told, and
   * refuses to resize the job and to replace processes. */
  int fixed;
} orrery_training;

typedef struct orrery_range {
  uint64_t begin, end;
} orrery_range;

/* ORRERY_INTERFACE of the library; compare it with that of this header. */
ORRERY_EXPORT int orrery_interface(void);
/* Why the last call of this thread failed; valid until the next one that fails. */
ORRERY_EXPORT const char* orrery_message(void);

/* Returns when this process is a worker of its job. A standby worker waits here until it is needed. */
ORRERY_EXPORT orrery_status orrery_start(const orrery_training* training, orrery_worker** worker);
/* Leaves at once if it is still a worker. Null is allowed. */
ORRERY_EXPORT void orrery_free(orrery_worker* worker);

/* The membership. Ranks change with it, ids of workers never. */
ORRERY_EXPORT int orrery_rank(const orrery_worker* worker);
ORRERY_EXPORT int orrery_size(const orrery_worker* worker);
ORRERY_EXPORT uint64_t orrery_worker_id(const orrery_worker* worker);
ORRERY_EXPORT uint64_t orrery_generation(const orrery_worker* worker);
/* Committed steps. */
ORRERY_EXPORT uint64_t orrery_step(const orrery_worker* worker);
/* Complete epochs over the data. */
ORRERY_EXPORT uint64_t orrery_epoch(const orrery_worker* worker);
/* Positions in the shuffled data that this rank has in the current step, and the number of the sample at one. */
ORRERY_EXPORT orrery_range orrery_own_samples(const orrery_worker* worker);
ORRERY_EXPORT uint64_t orrery_sample(const orrery_worker* worker, uint64_t position);

/* Memory that collectives reach without copying; zero at first. Free it before the worker. */
ORRERY_EXPORT orrery_status orrery_allocate(orrery_worker* worker, size_t bytes, void** data);
ORRERY_EXPORT void orrery_release(orrery_worker* worker, void* data);

/* Named operations among the workers of the membership. Each rank starts them in any order; the n-th of a name on one
 * rank belongs to the n-th of that name on every other. The tensor is borrowed until the operation has been waited for.
 */
ORRERY_EXPORT orrery_status orrery_all_reduce(orrery_worker* worker, const char* name, void* data, size_t count,
                                              orrery_type type, orrery_op op, orrery_ticket* ticket);
ORRERY_EXPORT orrery_status orrery_broadcast(orrery_worker* worker, const char* name, void* data, size_t count,
                                             orrery_type type, int root, orrery_ticket* ticket);
ORRERY_EXPORT orrery_status orrery_all_gather(orrery_worker* worker, const char* name, const void* data, size_t count,
                                              orrery_type type, void* all, orrery_ticket* ticket);
ORRERY_EXPORT orrery_status orrery_barrier(orrery_worker* worker, const char* name, orrery_ticket* ticket);
/* Every ticket must be waited for exactly once. */
ORRERY_EXPORT orrery_status orrery_wait(orrery_worker* worker, orrery_ticket ticket);

/* From now on waiting for other workers fails with ORRERY_IO after this many seconds, in orrery_wait and in
 * orrery_finish_step; the worker is of no further use then. 0: no limit. */
ORRERY_EXPORT void orrery_set_timeout(orrery_worker* worker, double seconds);

/* `operations` is the outcome of the operations of the step. `commit` is called on all workers or on none. */
ORRERY_EXPORT orrery_status orrery_finish_step(orrery_worker* worker, orrery_status operations,
                                               orrery_outcome* outcome);

/* Requests; they take effect between two steps. */
ORRERY_EXPORT void orrery_leave(orrery_worker* worker);
ORRERY_EXPORT void orrery_stop(orrery_worker* worker); /* all workers, at the same step */
/* ORRERY_UNAVAILABLE if there is no launcher that could start processes. */
ORRERY_EXPORT orrery_status orrery_request_size(orrery_worker* worker, uint64_t size);

/* The samples of the current step over all ranks. */
ORRERY_EXPORT orrery_range orrery_step_samples(const orrery_worker* worker);
/* Parameters of the membership: the same on all workers. "batch" is one of them. ORRERY_NOT_FOUND if there is none of
 * that name. A new value begins a new membership at once: operations of all workers end, and the current step is
 * repeated. A change that can wait for the end of the step is proposed (orrery_apply). */
ORRERY_EXPORT orrery_status orrery_parameter(const orrery_worker* worker, const char* name, double* value);
ORRERY_EXPORT orrery_status orrery_set_parameter(orrery_worker* worker, const char* name, double value);

/* The gradient noise scale of a training, from its gradients: src/elastic/monitor/noise_scale.h. Make these numbers
 * part of the model's state, so that joining workers have them too. Begin with {decay, 0, 0, 0}. */
typedef struct orrery_noise {
  double decay; /* in [0, 1): of older steps */
  double weight, gradient_square_sum, noise_sum;
} orrery_noise;
typedef struct orrery_noise_sample {
  double local_square;  /* mean over ranks of the square norm of their gradients */
  double inverse_batch; /* mean over ranks of 1 / samples of the rank */
  double mean_square;   /* square norm of the mean gradient */
  double batch;         /* samples of all ranks */
} orrery_noise_sample;
/* Changes nothing if it fails: ORRERY_INVALID for values that are not finite, ORRERY_INFEASIBLE for one gradient. */
ORRERY_EXPORT orrery_status orrery_noise_add(orrery_noise* noise, const orrery_noise_sample* sample);
/* NaN while it is not known. */
ORRERY_EXPORT double orrery_noise_scale(const orrery_noise* noise);

/* What a policy or a rank proposes to change: "workers", "batch", "learning_rate_scale" or any parameter. All zero:
 * nothing. Texts end with 0. */
#define ORRERY_SETTINGS_MAX 8
#define ORRERY_NAME_MAX 31
typedef struct orrery_setting {
  char name[ORRERY_NAME_MAX + 1];
  double value;
} orrery_setting;
typedef struct orrery_proposal {
  uint64_t count;
  orrery_setting settings[ORRERY_SETTINGS_MAX];
  char strategy[ORRERY_NAME_MAX + 1];
} orrery_proposal;
/* What all ranks agree on, the same on each of them. ORRERY_INVALID if a value was rejected, with the reasons in
 * orrery_message(), one per line; the other values are agreed nevertheless. */
ORRERY_EXPORT orrery_status orrery_merge(const orrery_proposal* by_rank, size_t ranks, orrery_proposal* agreed);
/* Lets it take effect after the current step. All ranks call it with the same proposal. */
ORRERY_EXPORT orrery_status orrery_apply(orrery_worker* worker, const orrery_proposal* agreed);

/* The policies that are part of Orrery: src/elastic/policy/shipped.h. */
typedef struct orrery_policy orrery_policy;
typedef enum orrery_moment {
  ORRERY_BEFORE_TRAIN = 0,
  ORRERY_BEFORE_EPOCH = 1,
  ORRERY_BEFORE_STEP = 2,
  ORRERY_AFTER_STEP = 3,
  ORRERY_AFTER_EPOCH = 4,
  ORRERY_AFTER_TRAIN = 5
} orrery_moment;
typedef struct orrery_observation {
  size_t size; /* of this struct, as the program was compiled */
  uint64_t step, epoch;
  double workers, batch, first_batch, learning_rate_scale;
  double gradient_square, noise;        /* NaN: not known */
  double compute_s, wait_s, transfer_s; /* of the last step */
} orrery_observation;
ORRERY_EXPORT orrery_status orrery_policy_make(const char* text, orrery_policy** policy);
ORRERY_EXPORT void orrery_policy_free(orrery_policy* policy); /* null is allowed */
ORRERY_EXPORT orrery_status orrery_policy_ask(orrery_policy* policy, orrery_moment moment,
                                              const orrery_observation* observation, orrery_proposal* proposal);

/* Whether the model of this worker is not complete yet: see `lanes` of orrery_training. */
ORRERY_EXPORT int orrery_is_learner(const orrery_worker* worker);

#ifdef __cplusplus
}
#endif

#endif
