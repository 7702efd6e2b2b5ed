#include "elastic/job/job_pages.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace orrery::elastic {
namespace {

JobStatus status_of_three() {
  return {.job = "demo",
          .launcher = 41,
          .size = 3,
          .size_min = 1,
          .size_max = 8,
          .generation = 4,
          .step = 17,
          .epoch = 2,
          .workers = {1, 5, 6},
          .pause_s = 0.25,
          .processes = {{5, 1234, ProcessState::kWorker, 4, 16, 0.5, 0.125}}};
}

HttpCommand ask(std::string_view text, const std::string& token = "", bool is_our_user = true) {
  auto read = net::read_http(text);
  EXPECT_TRUE(read.request) << text;
  read.request->is_from_our_user = is_our_user;
  return read_command(*read.request, status_of_three(), token);
}

int code_of(const HttpCommand& request) {
  return std::holds_alternative<AskLauncher>(request) ? 0 : std::get<net::HttpAnswer>(request).code;
}

TEST(JobPages, RequestsAreThoseOfTheCommands) {
  EXPECT_EQ(std::get<AskLauncher>(ask("POST /resize?size=4 HTTP/1.1\r\n\r\n")),
            (AskLauncher{.request = LauncherRequest::kResize, .size = 4}));
  EXPECT_EQ(std::get<AskLauncher>(ask("POST /stop HTTP/1.1\r\n\r\n")), AskLauncher{.request = LauncherRequest::kStop});
  EXPECT_EQ(std::get<AskLauncher>(ask("POST /stop?worker=6 HTTP/1.1\r\n\r\n")),
            (AskLauncher{.request = LauncherRequest::kStop, .worker = 6}));
  // Rank 1 of workers 1, 5 and 6.
  EXPECT_EQ(std::get<AskLauncher>(ask("POST /stop?rank=1 HTTP/1.1\r\n\r\n")),
            (AskLauncher{.request = LauncherRequest::kStop, .worker = 5}));
}

TEST(JobPages, WhatIsNoRequestIsRefused) {
  for (const char* what :
       {"POST /resize", "POST /resize?size=", "POST /resize?size=-1", "POST /resize?size=4x",
        "POST /resize?size=4&force=1", "POST /stop?worker=0", "POST /stop?worker=1&rank=0", "POST /stop?all=1"}) {
    EXPECT_EQ(code_of(ask(std::string(what) + " HTTP/1.1\r\n\r\n")), 400) << what;
  }
  EXPECT_EQ(code_of(ask("POST /stop?rank=3 HTTP/1.1\r\n\r\n")), 404);
  EXPECT_EQ(code_of(ask("GET / HTTP/1.1\r\n\r\n")), 404);
  EXPECT_EQ(code_of(ask("GET /resize?size=4 HTTP/1.1\r\n\r\n")), 405);
  EXPECT_EQ(code_of(ask("POST /job HTTP/1.1\r\n\r\n")), 405);
}

TEST(JobPages, WithoutATokenOtherUsersMayLookOnly) {
  EXPECT_EQ(code_of(ask("POST /stop HTTP/1.1\r\n\r\n", "", false)), 403);
  EXPECT_EQ(code_of(ask("POST /resize?size=4 HTTP/1.1\r\n\r\n", "", false)), 403);
  EXPECT_EQ(code_of(ask("GET /job HTTP/1.1\r\n\r\n", "", false)), 200);
  EXPECT_EQ(code_of(ask("POST /stop HTTP/1.1\r\nAuthorization: Bearer abc\r\n\r\n", "abc", false)), 0);
}

TEST(JobPages, WebPagesAndUnauthenticatedClientsAreRefused) {
  EXPECT_EQ(code_of(ask("POST /resize?size=4 HTTP/1.1\r\nOrigin: http://evil.example\r\n\r\n")), 403);
  EXPECT_EQ(code_of(ask("GET /job HTTP/1.1\r\n\r\n", "abc")), 401);
  for (const char* wrong : {"Bearer ab", "Bearer abcd", "Bearer abd", "abc", "bearer abc", ""}) {
    EXPECT_EQ(code_of(ask("GET /job HTTP/1.1\r\nAuthorization: " + std::string(wrong) + "\r\n\r\n", "abc")), 401)
        << wrong;
  }
  EXPECT_EQ(code_of(ask("GET /job HTTP/1.1\r\nAuthorization: Bearer abc\r\n\r\n", "abc")), 200);
}

TEST(JobPages, StatusIsJsonAndMetrics) {
  const auto json = nlohmann::json::parse(job_json(status_of_three()));
  EXPECT_EQ(json["workers"], (std::vector<int>{1, 5, 6}));
  EXPECT_EQ(json["processes"][0]["step_s"], 0.5);
  const std::string text = job_metrics(status_of_three());
  for (const char* line : {"# TYPE orrery_job_workers gauge\n", "\norrery_job_workers{job=\"demo\"} 3\n",
                           "\norrery_job_generation{job=\"demo\"} 4\n", "\norrery_job_steps_total{job=\"demo\"} 17\n",
                           "\norrery_job_last_pause_seconds{job=\"demo\"} 0.25\n",
                           "\norrery_worker_step_seconds{job=\"demo\",worker=\"5\",state=\"worker\"} 0.5\n",
                           "\norrery_worker_vote_seconds{job=\"demo\",worker=\"5\",state=\"worker\"} 0.125\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST(JobPages, ARefusedRequestSaysWhy) {
  EXPECT_EQ(answer_to({}, status_of_three()).code, 200);
  EXPECT_EQ(answer_to(Error::invalid("too many"), status_of_three()).code, 400);
  EXPECT_EQ(answer_to(Error::not_found("nobody"), status_of_three()).code, 404);
  EXPECT_EQ(answer_to(Error::unavailable("ending"), status_of_three()).code, 409);
  EXPECT_EQ(answer_to(Error::infeasible("too few"), status_of_three()).body, "too few\n");
}

}  // namespace
}  // namespace orrery::elastic
