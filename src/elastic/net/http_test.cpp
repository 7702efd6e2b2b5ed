#include "elastic/net/http.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery::elastic::net {
namespace {

int refused(std::string_view bytes) {
  const HttpRead read = read_http(bytes);
  return read.refusal ? read.refusal->code : 0;
}

TEST(Http, ARequestIsReadOnceItIsWhole) {
  const std::string text =
      "POST /resize?size=3&why=a%20b HTTP/1.1\r\nHost: 127.0.0.1:7710\r\nContent-Length: \t0 \r\nX-Empty:\r\n\r\n";
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes) {
    const HttpRead part = read_http(text.substr(0, bytes));
    EXPECT_FALSE(part.request || part.refusal) << bytes;
  }
  const HttpRead whole = read_http(text);
  ASSERT_TRUE(whole.request);
  EXPECT_EQ(whole.request->method, "POST");
  EXPECT_EQ(whole.request->path, "/resize");
  EXPECT_EQ(whole.request->query, (std::map<std::string, std::string>{{"size", "3"}, {"why", "a b"}}));
  EXPECT_EQ(whole.request->header("host"), "127.0.0.1:7710");
  EXPECT_EQ(whole.request->header("content-length"), "0");
  EXPECT_EQ(whole.request->header("x-empty"), "");
}

TEST(Http, WhatIsNotPlainlyRightIsRefused) {
  EXPECT_EQ(refused("GET / HTTP/1.1\r\n\r\n"), 0);
  for (const char* text : {"\r\n\r\n", "GET\r\n\r\n", "GET /\x01 HTTP/1.1\r\n\r\n", "G T / HTTP/1.1\r\n\r\n",
                           "GET http://x/ HTTP/1.1\r\n\r\n", " GET / HTTP/1.1\r\n\r\n", "GET /% HTTP/1.1\r\n\r\n",
                           "GET /%4 HTTP/1.1\r\n\r\n", "GET /%zz HTTP/1.1\r\n\r\n", "GET /?a=1&a=2 HTTP/1.1\r\n\r\n",
                           "GET /?=1 HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
                           "GET / HTTP/1.1\r\nA: 1\r\n B: 2\r\n\r\n", "GET / HTTP/1.1\r\nA : 1\r\n\r\n",
                           "GET / HTTP/1.1\r\nA: 1\r\na: 2\r\n\r\n", "GET / HTTP/1.1\r\nA: \x01\r\n\r\n"}) {
    EXPECT_EQ(refused(text), 400) << text;
  }
  EXPECT_EQ(refused("GET / HTTP/2\r\n\r\n"), 505);
  EXPECT_EQ(refused("GET / HTTP/1.1 \r\n\r\n"), 505);
  EXPECT_EQ(refused("POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n"), 413);
  EXPECT_EQ(refused("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), 413);
  std::string many = "GET / HTTP/1.1\r\n";
  for (std::size_t i = 0; i <= kHttpHeadersMax; ++i) many += "H" + std::to_string(i) + ": 1\r\n";
  EXPECT_EQ(refused(many + "\r\n"), 431);
}

// A client whose request never ends is disconnected, whatever it sends.
RC_GTEST_PROP(Http, NoClientIsReadForEver, ()) {
  const auto some = *rc::gen::string<std::string>();
  std::string bytes = "GET / HTTP/1.1\r\n" + some;
  while (bytes.size() < kHttpRequestBytesMax) bytes += "a";
  const HttpRead read = read_http(bytes);
  RC_ASSERT(read.request || read.refusal);
}

RC_GTEST_PROP(Http, AnyBytesAreARequestOrRefusedOrNotEnough, ()) {
  std::string bytes = "POST /stop?worker=2 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\n\r\n";
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
  }
  const HttpRead read = read_http(bytes);
  RC_ASSERT(!(read.request && read.refusal));
  if (read.request) RC_ASSERT(!read.request->method.empty() && !read.request->path.empty());
  if (read.refusal) RC_ASSERT(read.refusal->code >= 400 && !read.refusal->body.empty());
}

TEST(Http, AnAnswerHasItsLength) {
  EXPECT_EQ(to_bytes({404, "no\n"}),
            "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n"
            "Cache-Control: no-store\r\nConnection: close\r\n\r\nno\n");
}

}  // namespace
}  // namespace orrery::elastic::net
