#pragma once
// Tensors that ranks publish for each other to pull, with versions: how models are exchanged without all ranks taking
// part at the same time.
//
// A rank publishes a tensor under a name with a version above the one before; it is copied, and the last two versions
// stay. Another rank pulls a version, or the latest. The owner answers inside its own calls (any start, wait or poll of
// its session), so a rank that computes for long answers late. A version that is not there is kNotFound, and the
// message names the latest.

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "elastic/net/mesh.h"

namespace orrery::elastic::net {

struct PullTicket {
  std::uint32_t number = 0;
};

class Store {
 public:
  static constexpr std::size_t kVersionsKept = 2;
  static constexpr std::size_t kNamesMax = 4096;
  static constexpr std::size_t kPullsMax = 1024;          // of ours that are not over
  static constexpr std::uint32_t kAnswersMax = 64 << 10;  // frames for one rank that are not written

  explicit Store(Mesh& mesh);

  Status publish(std::string_view name, std::uint64_t version, ConstTensorView tensor);
  Result<PullTicket> pull(int from, std::string_view name, std::uint64_t version, TensorView tensor);
  bool has_ended(PullTicket ticket) const;
  // The version that was received. Precondition: has_ended().
  Result<std::uint64_t> finish(PullTicket ticket);
  bool is_known(PullTicket ticket) const { return pulls_.count(ticket.number) != 0; }
  // Ends pulls from ranks that have left.
  void check_owners();

  // Frames of the three pull kinds.
  Result<std::byte*> place(int from, const FrameHeader& header);
  Status arrived(int from, const FrameHeader& header, const std::byte* payload);

 private:
  struct Version {
    std::uint64_t number = 0;
    DataType type = DataType::kF32;
    std::size_t count = 0;
    std::shared_ptr<const std::vector<std::byte>> bytes{};
  };
  struct Pull {
    int from = 0;
    std::string name;
    std::uint64_t name_hash = 0, version = 0, came = 0;
    TensorView tensor{};
    bool answered = false;
    std::size_t left = 0;  // bytes
    Status error{};
    bool ended = false;
  };
  // Counts the frames in transit to one rank.
  class Answers final : public FrameOwner {
   public:
    void written(std::uint32_t) override { count -= 1; }
    std::uint32_t count = 0;
  };

  Status answer(int to, const FrameHeader& header, const PullRequest& request);
  Status take_answer(Pull& pull, const PullAnswer& answer);
  Result<Pull*> find(int from, const FrameHeader& header);
  std::uint32_t chunk_bytes() const { return mesh_.limits().data_bytes; }

  Mesh& mesh_;
  std::unordered_map<std::uint64_t, std::vector<Version>> names_;  // by hash64, oldest version first
  std::vector<Answers> answers_;                                   // by rank
  std::map<std::uint32_t, Pull> pulls_;
  std::uint32_t next_ = 0;
};

}  // namespace orrery::elastic::net
