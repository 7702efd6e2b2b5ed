#include "elastic/post.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>

#include "elastic/job/note.h"

namespace orrery::elastic {

Result<std::unique_ptr<Post>> Post::open(const PostOptions& options) {
  ORRERY_TRY(Postbox postbox, Postbox::open(options.job, options.self.id));
  std::unique_ptr<Post> post(new Post(options.self, std::move(postbox)));
  if (options.self.address.empty()) return post;
  ORRERY_TRY(const env::Address address, net::parse_address(options.self.address));
  ORRERY_TRY(post->door_, net::Door::open(options.secret, address, post->clock_, true));
  ORRERY_TRY(post->mail_, net::Mail::open(*post->door_, options.self.id));
  return post;
}

void Post::learn(const MemberRecord& member) {
  records_[member.id] = member;
}

void Post::learn(const View& view) {
  for (const MemberRecord& member : view.members) learn(member);
}

void Post::learn(const Request& request) {
  if (const auto* const join = std::get_if<Join>(&request.wish)) learn(join->member);
}

void Post::learn(const Message& message) {
  if (const auto* const commit = std::get_if<Commit>(&message.body)) learn(commit->view);
  if (const auto* const propose = std::get_if<Propose>(&message.body)) learn(propose->view);
  if (const auto* const ask = std::get_if<Ask>(&message.body)) learn(ask->request);
  const auto* const promise = std::get_if<Promise>(&message.body);
  if (promise == nullptr) return;
  if (promise->accepted) learn(*promise->accepted);
  for (const Request& request : promise->requests) learn(request);
}

bool Post::send(const Message& message) {
  if (!spans_hosts()) return postbox_.send(message.to, encode(message));
  learn(message);
  const auto found = records_.find(message.to);
  if (found == records_.end()) return false;
  if (is_here(found->second)) return postbox_.send(message.to, encode(message));
  const auto address = net::parse_address(found->second.address);
  return address && mail_->send(message.to, *address, encode(message));
}

Status Post::wait(Seconds timeout) {
  std::array<pollfd, 2> looks = {{{postbox_.descriptor(), POLLIN, 0}, {mail_->descriptor(), POLLIN, 0}}};
  if (::poll(looks.data(), looks.size(), env::Deadline(timeout).poll_ms()) < 0 && errno != EINTR) {
    return env::posix_error(errno, "cannot wait for messages");
  }
  return {};
}

Result<std::optional<std::string>> Post::receive(Seconds timeout) {
  if (!spans_hosts()) return postbox_.receive(timeout);
  for (int i = 0;; ++i) {
    ORRERY_TRY(std::optional<std::string> here, postbox_.receive(Seconds(0)));
    if (!here && arrived_.empty()) {
      arrived_ = mail_->receive();
      std::reverse(arrived_.begin(), arrived_.end());
    }
    if (!here && !arrived_.empty()) {
      here = std::move(arrived_.back());
      arrived_.pop_back();
      // Notes are for those on one host.
      if (is_note(*here)) continue;
    }
    if (here && !is_note(*here)) {
      if (const auto message = decode_message(*here)) learn(*message);
    }
    if (here || i > 0 || timeout <= Seconds(0)) return here;
    ORRERY_TRY_VOID(wait(timeout));
  }
}

void Post::watch(const View& view) {
  if (!spans_hosts()) return;
  learn(view);
  std::map<std::uint64_t, env::Address> peers;
  for (const MemberRecord& member : view.members) {
    const auto address = net::parse_address(member.address);
    if (!is_here(member) && address) peers[member.id] = *address;
  }
  mail_->watch(peers);
}

}  // namespace orrery::elastic
