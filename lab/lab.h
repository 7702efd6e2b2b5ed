#pragma once
// The lab stands on the modules of src/ and uses their names as their own files do, without a prefix.

namespace orrery::predict {}
namespace orrery::simulate {}

namespace orrery::lab {

using namespace predict;
using namespace simulate;

}  // namespace orrery::lab
