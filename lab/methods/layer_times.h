#pragma once
// The time of a layer on a board where it was not measured, from other layers there and from other boards:
//
//   log t(board, layer) = log c(layer) + rate(board) + effect(layer)
//
//   c       its operations (complexity.h)
//   rate    median over the board's layers of log(t / c): one bad measurement changes nothing
//   effect  how much longer than by its operations the layer took on k other boards, log(t / c) − rate summed and
//           divided by k + 2: half of it counts where two boards agree

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "lab/lab.h"

namespace orrery::lab {

struct LayerTime {
  std::string board, layer;
  double operations = 0;  // above 0
  double seconds = 0;     // above 0
};

class LayerTimes {
 public:
  // At most one time per board and layer.
  static Result<LayerTimes> fit(std::span<const LayerTime> measured);

  // The board must have been measured; the seconds of `like` are ignored. The board's own time of a layer of this name
  // is in its rate, never in the effect.
  Result<double> seconds(const LayerTime& like) const;
  // The same from the board's own layers only.
  Result<double> seconds_by_rate(const LayerTime& like) const;

 private:
  Result<double> log_rate(const std::string& board) const;

  std::map<std::string, double> rates_;                                  // log seconds per operation, by board
  std::map<std::string, std::map<std::string, double>> above_the_rate_;  // by layer, by board
};

}  // namespace orrery::lab
