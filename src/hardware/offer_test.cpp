#include "hardware/offer.h"

#include <gtest/gtest.h>
#include <set>

#include "hardware/device.h"

namespace orrery::hardware {
namespace {

TEST(OfferTest, TheBuiltInListIsConsistent) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const Offer& offer : built_in_offers()) {
    SCOPED_TRACE(offer.instance);
    EXPECT_TRUE(seen.insert({offer.provider, offer.instance}).second);
    const auto device = find_device(offer.device);
    ASSERT_TRUE(device.has_value());
    EXPECT_EQ((*device)->name, offer.device) << "offers use the device's own name, not an alias";
    EXPECT_GT(offer.device_count, 0);
    EXPECT_GT(offer.price, DollarsPerHour(0));
    EXPECT_LT(offer.spot.value_or(DollarsPerHour(0)), offer.price);
    EXPECT_GT(offer.vcpus, 0);
    EXPECT_GT(offer.memory, Bytes(0));
    EXPECT_EQ(offer.date.size(), std::string_view("2025-06").size());
  }
  EXPECT_GE(built_in_offers().size(), 30U);
}

TEST(OfferTest, OffersComeCheapestFirst) {
  const auto offers = offers_for("v100");
  ASSERT_TRUE(offers.has_value());
  ASSERT_GE(offers->size(), 4U);
  for (std::size_t i = 1; i < offers->size(); ++i) {
    EXPECT_LE(price_per_device((*offers)[i - 1]), price_per_device((*offers)[i]));
  }
}

// One V100: Google's single ($2.86) beats Lambda's eight ($4.40). Eight: Lambda wins.
TEST(OfferTest, TheCheapestOfferCountsWholeMachines) {
  EXPECT_EQ(cheapest_offer("V100", 1)->instance, "n1-standard-8 + V100");
  EXPECT_EQ(cheapest_offer("V100", 8)->instance, "gpu_8x_v100");
  EXPECT_DOUBLE_EQ(price_for(*cheapest_offer("V100", 9), 9).value(), 2 * 4.40);
}

TEST(OfferTest, SaysWhatIsWrong) {
  EXPECT_EQ(cheapest_offer("V10O", 1).error().message(), "unknown device \"V10O\"; did you mean \"V100\"?");
  EXPECT_EQ(cheapest_offer("V100", 0).error().message(), "devices: 0 is out of range; expected at least 1");
  EXPECT_EQ(cheapest_offer("GT 750M", 1).error().message(), "no provider in the built-in list offers GT 750M");
}

}  // namespace
}  // namespace orrery::hardware
