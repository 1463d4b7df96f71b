#include "engine/fabric/loop/loop_fabric.h"

#include "engine/fabric/conformance.h"

namespace hat::engine {

INSTANTIATE_TEST_SUITE_P(Loop, FabricConformance, testing::Values(&open_loop_fabric));

}  // namespace hat::engine
