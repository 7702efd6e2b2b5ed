#pragma once
// Messages of one member to others wherever they are: by postbox on its host (host/postbox.h), over TCP to other hosts
// (net/mail.h). Who is where, it learns from the records in what is sent and received.

#include <map>
#include <memory>
#include <optional>

#include "elastic/host/postbox.h"
#include "elastic/member/message.h"
#include "elastic/net/mail.h"
#include "env/real_clock.h"

namespace orrery::elastic {

struct PostOptions {
  std::string job;     // name of the job on this host
  MemberRecord self;   // with an address if the job spans hosts
  std::string secret;  // what all processes of such a job know, and nobody else
};

// Belongs to one thread.
class Post {
 public:
  static Result<std::unique_ptr<Post>> open(const PostOptions& options);

  bool spans_hosts() const { return mail_ != nullptr; }
  bool is_here(const MemberRecord& member) const { return !spans_hosts() || member.host == self_.host; }
  // Where others connect to; only if it spans hosts.
  net::Door& door() { return *door_; }

  void learn(const MemberRecord& member);
  // Never waits. Whether it is on its way. The launcher is always on this host.
  bool send(const Message& message);
  bool send(std::uint64_t name_here, std::string_view bytes) { return postbox_.send(name_here, bytes); }
  // The next message, waiting for it at most `timeout`. Messages of members are learned from.
  Result<std::optional<std::string>> receive(Seconds timeout);

  // Members of a view on other hosts are connected to, from now on.
  void watch(const View& view);
  // Of a member on another host: it cannot be reached now; it could be at some time.
  bool is_lost(MemberId id) const { return mail_ != nullptr && mail_->is_lost(id); }
  // All members of the view have just been heard of.
  void forget_losses() {
    if (mail_ != nullptr) mail_->forget_losses();
  }
  bool was_reached(MemberId id) const { return mail_ != nullptr && mail_->was_reached(id); }

 private:
  Post(MemberRecord self, Postbox postbox) : self_(std::move(self)), postbox_(std::move(postbox)) {}
  void learn(const Message& message);
  void learn(const View& view);
  void learn(const Request& request);
  Status wait(Seconds timeout);

  MemberRecord self_;
  Postbox postbox_;
  env::RealClock clock_;
  std::unique_ptr<net::Door> door_;
  std::unique_ptr<net::Mail> mail_;
  std::map<MemberId, MemberRecord> records_;
  std::vector<std::string> arrived_;  // by mail, the next one last
};

}  // namespace orrery::elastic
