/* A training whose model is exact, for tests of `orrery run`: elastic_program STEPS [STEP_US [LOG_FOLDER [MODEL_KB]]]
 *
 * The model is a hash chain over steps and a sum over samples: whatever happens to workers, it must be that of one
 * process after as many steps. Each worker appends "step generation size sum chain" to LOG_FOLDER/WORKER for every step it
 * commits, and prints the same at its end. With MODEL_KB the model is larger, and those who join get it while the
 * others go on. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <orrery/orrery.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct training {
  uint64_t* model; /* each element for itself; the last two are the sum and the chain */
  size_t count;
  int64_t* aside; /* sum over the samples of the step, in the arena */
  orrery_worker* worker;
  uint64_t generation;
  int size;
  FILE* log;
} training;

static void commit(void* user, uint64_t step) {
  training* t = user;
  uint64_t* const last = t->model + t->count - 2;
  for (uint64_t* element = t->model; element < last; ++element) *element = *element * 3 + (uint64_t)*t->aside;
  last[0] += (uint64_t)*t->aside;
  last[1] = (last[1] ^ step ^ (uint64_t)*t->aside) * 1099511628211u;
  if (t->log == NULL || orrery_is_learner(t->worker)) return;
  fprintf(t->log, "%" PRIu64 " %" PRIu64 " %d %" PRId64 " %016" PRIx64 "\n", step, t->generation, t->size, (int64_t)last[0],
          last[1]);
  fflush(t->log);
}

static void* state(void* user, size_t* bytes) {
  training* t = user;
  *bytes = t->count * sizeof *t->model;
  return t->model;
}

static int fail(void) {
  fprintf(stderr, "elastic_program: %s\n", orrery_message());
  return 4;
}

static orrery_status compute(training* t, long step_us) {
  const orrery_range own = orrery_own_samples(t->worker);
  const struct timespec pause = {step_us / 1000000, step_us % 1000000 * 1000};
  orrery_ticket ticket;
  *t->aside = 0;
  for (uint64_t at = own.begin; at < own.end; ++at) *t->aside += (int64_t)orrery_sample(t->worker, at);
  if (step_us > 0) nanosleep(&pause, NULL);
  t->generation = orrery_generation(t->worker);
  t->size = orrery_size(t->worker);
  const orrery_status started = orrery_all_reduce(t->worker, "sum", t->aside, 1, ORRERY_I64, ORRERY_SUM, &ticket);
  return started == ORRERY_OK ? orrery_wait(t->worker, ticket) : started;
}

int main(int argc, char** argv) {
  const uint64_t steps = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
  const long step_us = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
  const size_t model_kb = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
  training t = {NULL, model_kb * 128 + 2, NULL, NULL, 0, 0, NULL};
  const orrery_training how = {sizeof how, 1009, 7, 24, commit, state, &t, model_kb > 0 ? 1 : 0, 0};
  t.model = calloc(t.count, sizeof *t.model);
  if (t.model == NULL) return 5;
  t.model[t.count - 1] = 14695981039346656037u;
  if (orrery_start(&how, &t.worker) != ORRERY_OK) return fail();
  if (argc > 3) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%" PRIu64, argv[3], orrery_worker_id(t.worker));
    t.log = fopen(path, "a");
    if (t.log == NULL) return 5;
  }
  if (orrery_allocate(t.worker, sizeof *t.aside, (void**)&t.aside) != ORRERY_OK) return fail();
  orrery_outcome outcome = ORRERY_COMMITTED;
  while (orrery_step(t.worker) < steps && outcome != ORRERY_ENDED) {
    if (orrery_finish_step(t.worker, compute(&t, step_us), &outcome) != ORRERY_OK) return fail();
  }
  printf("end %" PRIu64 " %" PRIu64 " %d %" PRId64 " %016" PRIx64 "\n", orrery_step(t.worker), orrery_generation(t.worker),
         orrery_size(t.worker), (int64_t)t.model[t.count - 2], t.model[t.count - 1]);
  orrery_release(t.worker, t.aside);
  orrery_free(t.worker);
  free(t.model);
  return 0;
}
