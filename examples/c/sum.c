/* Learns the mean of numbers with whoever is there: the smallest program that survives its processes.
 *
 *   cc -Iinclude examples/c/sum.c -lorrery_elastic -o sum && orrery run -n 3 -- ./sum 1000
 *
 * The model is one whole number, the sum over all samples so far, so any history of workers must give the same. */
#include <inttypes.h>
#include <orrery/orrery.h>
#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 1009, BATCH = 24 };

typedef struct model {
  int64_t sum;    /* what has taken effect */
  int64_t* aside; /* of the step at hand, in memory that all reach */
} model;

static void commit(void* user, uint64_t step) {
  model* m = user;
  (void)step;
  m->sum += *m->aside;
}

static void* state(void* user, size_t* bytes) {
  model* m = user;
  *bytes = sizeof m->sum;
  return &m->sum;
}

static int fail(void) {
  fprintf(stderr, "sum: %s\n", orrery_message());
  return 1;
}

static orrery_status compute(orrery_worker* worker, model* m) {
  const orrery_range own = orrery_own_samples(worker);
  orrery_ticket ticket;
  *m->aside = 0;
  for (uint64_t at = own.begin; at < own.end; ++at) *m->aside += (int64_t)orrery_sample(worker, at);
  const orrery_status started = orrery_all_reduce(worker, "sum", m->aside, 1, ORRERY_I64, ORRERY_SUM, &ticket);
  return started == ORRERY_OK ? orrery_wait(worker, ticket) : started;
}

int main(int argc, char** argv) {
  const uint64_t steps = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
  const uint64_t grow_at = argc > 2 ? strtoull(argv[2], NULL, 10) : 0; /* asks for one more worker then */
  model m = {0, NULL};
  orrery_training training = {.size = sizeof training,
                              .samples = SAMPLES,
                              .seed = 7,
                              .batch = BATCH,
                              .commit = commit,
                              .state = state,
                              .user = &m};
  orrery_worker* worker = NULL;
  if (orrery_interface() != ORRERY_INTERFACE) return 3;
  if (orrery_start(&training, &worker) != ORRERY_OK) return fail();
  if (orrery_allocate(worker, sizeof *m.aside, (void**)&m.aside) != ORRERY_OK) return fail();
  orrery_outcome outcome = ORRERY_COMMITTED;
  while (orrery_step(worker) < steps && outcome != ORRERY_ENDED) {
    if (grow_at > 0 && orrery_step(worker) == grow_at && orrery_rank(worker) == 0) {
      (void)orrery_request_size(worker, (uint64_t)orrery_size(worker) + 1);
    }
    if (orrery_finish_step(worker, compute(worker, &m), &outcome) != ORRERY_OK) return fail();
  }
  printf("worker %" PRIu64 " of %d: sum %" PRId64 " after step %" PRIu64 "\n", orrery_worker_id(worker),
         orrery_size(worker), m.sum, orrery_step(worker));
  orrery_release(worker, m.aside);
  orrery_free(worker);
  return 0;
}
