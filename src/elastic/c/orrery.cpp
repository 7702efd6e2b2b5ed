// The C interface (include/orrery/orrery.h) on Worker.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <string>

#include "base/text.h"
#include "elastic/c/handles.h"
#include "elastic/job/enlist.h"
#include "elastic/policy/proposal.h"
#include "env/env.h"
#include "env/real_terminal.h"

using namespace orrery;
using elastic::DataType;
using elastic::ReduceOp;
using elastic::c::failed;

static_assert(ORRERY_I64 == static_cast<int>(DataType::kI64) && ORRERY_F32 == static_cast<int>(DataType::kF32));
static_assert(ORRERY_MAX == static_cast<int>(ReduceOp::kMax));
static_assert(ORRERY_ENDED == static_cast<int>(elastic::StepOutcome::kEnded));
static_assert(ORRERY_INTERNAL == static_cast<int>(ErrorCode::kInternal) + 1);

namespace {

// Thread-local like errno: a C function has no other place for a message.
thread_local std::string last_message;

}  // namespace

orrery_status elastic::c::failed(const Error& error) {
  last_message = error.to_string();
  return static_cast<orrery_status>(static_cast<int>(error.code()) + 1);
}

namespace {

orrery_status status_of(const Status& status) {
  return status ? ORRERY_OK : failed(status.error());
}

orrery_status hand_over(const Result<elastic::Ticket>& started, orrery_ticket* ticket) {
  if (!started) return failed(started.error());
  *ticket = {started->key.name, started->key.sequence};
  return ORRERY_OK;
}

// After a membership change that did not lead to a session.
Status check_session(const orrery_worker* worker) {
  if (worker->worker->has_session()) return {};
  return Error::unavailable("no membership is open: this process is no worker any more");
}

Status check_type(int type, int op) {
  if (type >= ORRERY_F16 && type <= ORRERY_I64 && op >= ORRERY_SUM && op <= ORRERY_MAX) return {};
  return Error::invalid("no such element type or combination");
}

// Fields that a program compiled with an older header does not have are zero.
Result<orrery_training> complete(const orrery_training* given) {
  if (given->size < offsetof(orrery_training, lanes)) return Error::invalid("orrery_training.size is too small");
  orrery_training known{};
  std::memcpy(&known, given, std::min(given->size, sizeof known));
  return known;
}

Result<std::unique_ptr<orrery_worker>> start(const orrery_training& given) {
  if (given.samples == 0 || given.batch == 0 || given.commit == nullptr || given.state == nullptr) {
    return Error::invalid("orrery_training needs samples, batch, commit and state");
  }
  const env::RealVariables variables;
  ORRERY_TRY(elastic::WorkerOptions options,
             elastic::enlist(variables, {given.samples, given.seed, {{"batch", static_cast<double>(given.batch)}}}));
  options.commit = [given](const elastic::StepCommitted& step) { given.commit(given.user, step.progress.step); };
  options.state = [given] {
    std::size_t bytes = 0;
    auto* const data = static_cast<std::byte*>(given.state(given.user, &bytes));
    return std::span(data, bytes);
  };
  options.lanes = given.lanes;
  options.is_fixed = given.fixed != 0;
  auto made = std::make_unique<orrery_worker>();
  ORRERY_TRY(made->worker, elastic::Worker::start(env::make_real_env(), std::move(options)));
  return made;
}

}  // namespace

extern "C" {

int orrery_interface(void) {
  return ORRERY_INTERFACE;
}

const char* orrery_message(void) {
  return last_message.c_str();
}

orrery_status orrery_start(const orrery_training* training, orrery_worker** worker) {
  *worker = nullptr;
  const auto known = complete(training);
  if (!known) return failed(known.error());
  auto made = start(*known);
  if (!made) return failed(made.error());
  *worker = made->release();
  return ORRERY_OK;
}

void orrery_free(orrery_worker* worker) {
  const std::unique_ptr<orrery_worker> owned(worker);
}

int orrery_rank(const orrery_worker* worker) {
  return worker->worker->rank();
}

int orrery_size(const orrery_worker* worker) {
  return static_cast<int>(worker->worker->membership().workers.size());
}

uint64_t orrery_worker_id(const orrery_worker* worker) {
  return worker->worker->id();
}

uint64_t orrery_generation(const orrery_worker* worker) {
  return worker->worker->membership().generation;
}

uint64_t orrery_step(const orrery_worker* worker) {
  return worker->worker->progress().step;
}

int orrery_is_learner(const orrery_worker* worker) {
  return worker->worker->is_learner() ? 1 : 0;
}

uint64_t orrery_epoch(const orrery_worker* worker) {
  return worker->worker->progress().cursor.epoch;
}

orrery_range orrery_own_samples(const orrery_worker* worker) {
  if (worker->worker->rank() < 0) return {0, 0};
  const elastic::DataRange range = worker->worker->own_samples();
  return {range.begin, range.end};
}

uint64_t orrery_sample(const orrery_worker* worker, uint64_t position) {
  const elastic::DataCursor& cursor = worker->worker->progress().cursor;
  return position < cursor.samples ? elastic::order_of(cursor).sample(position) : position;
}

orrery_status orrery_allocate(orrery_worker* worker, size_t bytes, void** data) {
  *data = nullptr;
  auto buffer = worker->worker->arena().allocate(bytes);
  if (!buffer) return failed(buffer.error());
  *data = buffer->data();
  worker->buffers.emplace(*data, std::move(*buffer));
  return ORRERY_OK;
}

void orrery_release(orrery_worker* worker, void* data) {
  worker->buffers.erase(data);
}

orrery_status orrery_all_reduce(orrery_worker* worker, const char* name, void* data, size_t count, orrery_type type,
                                orrery_op op, orrery_ticket* ticket) {
  if (const Status sound = check_type(type, op); !sound) return failed(sound.error());
  if (const Status open = check_session(worker); !open) return failed(open.error());
  return hand_over(
      worker->worker->session().all_reduce(name, {data, count, static_cast<DataType>(type)}, static_cast<ReduceOp>(op)),
      ticket);
}

orrery_status orrery_broadcast(orrery_worker* worker, const char* name, void* data, size_t count, orrery_type type,
                               int root, orrery_ticket* ticket) {
  if (const Status sound = check_type(type, ORRERY_SUM); !sound) return failed(sound.error());
  if (const Status open = check_session(worker); !open) return failed(open.error());
  return hand_over(worker->worker->session().broadcast(name, {data, count, static_cast<DataType>(type)}, root), ticket);
}

orrery_status orrery_all_gather(orrery_worker* worker, const char* name, const void* data, size_t count,
                                orrery_type type, void* all, orrery_ticket* ticket) {
  if (const Status sound = check_type(type, ORRERY_SUM); !sound) return failed(sound.error());
  if (const Status open = check_session(worker); !open) return failed(open.error());
  const auto element = static_cast<DataType>(type);
  elastic::Collectives& session = worker->worker->session();
  const std::size_t all_count = count * static_cast<std::size_t>(session.size());
  return hand_over(session.all_gather(name, {data, count, element}, {all, all_count, element}), ticket);
}

orrery_status orrery_barrier(orrery_worker* worker, const char* name, orrery_ticket* ticket) {
  if (const Status open = check_session(worker); !open) return failed(open.error());
  return hand_over(worker->worker->session().barrier(name), ticket);
}

void orrery_set_timeout(orrery_worker* worker, double seconds) {
  worker->worker->limit(seconds > 0 ? std::optional(Seconds(seconds)) : std::nullopt);
}

orrery_status orrery_wait(orrery_worker* worker, orrery_ticket ticket) {
  if (const Status open = check_session(worker); !open) return failed(open.error());
  return status_of(worker->worker->session().wait({{ticket.name, ticket.sequence}}));
}

orrery_status orrery_finish_step(orrery_worker* worker, orrery_status operations, orrery_outcome* outcome) {
  Status ended;
  if (operations != ORRERY_OK) {
    ended = Error(static_cast<ErrorCode>(static_cast<int>(operations) - 1), "an operation of the step failed");
  }
  const auto finished = worker->worker->finish_step(ended);
  if (!finished) return failed(finished.error());
  *outcome = static_cast<orrery_outcome>(*finished);
  return ORRERY_OK;
}

void orrery_leave(orrery_worker* worker) {
  worker->worker->leave();
}

void orrery_stop(orrery_worker* worker) {
  worker->worker->stop();
}

orrery_status orrery_request_size(orrery_worker* worker, uint64_t size) {
  if (worker->worker->request_size(size)) return ORRERY_OK;
  return failed(Error::unavailable("there is no launcher to receive it; start with `orrery run`"));
}

orrery_range orrery_step_samples(const orrery_worker* worker) {
  if (worker->worker->rank() < 0) return {0, 0};
  const auto range =
      elastic::next_batch(worker->worker->progress().cursor, elastic::batch_of(worker->worker->membership()));
  return {range.begin, range.end};
}

orrery_status orrery_parameter(const orrery_worker* worker, const char* name, double* value) {
  const auto& parameters = worker->worker->membership().parameters;
  const auto found = parameters.find(name);
  if (found == parameters.end()) return failed(Error::not_found(fmt::format("no parameter {}", quote(name))));
  *value = found->second;
  return ORRERY_OK;
}

orrery_status orrery_set_parameter(orrery_worker* worker, const char* name, double value) {
  if (std::string_view(name) == elastic::kWorkersValue) {
    return failed(Error::invalid("the number of workers is asked for with orrery_request_size"));
  }
  if (const Status sound = elastic::check_value(name, value); !sound) return failed(sound.error());
  return status_of(worker->worker->set_parameter_at_once(name, value));
}

}  // extern "C"
