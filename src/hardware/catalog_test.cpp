#include "hardware/catalog.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace orrery::hardware {
namespace {

constexpr std::string_view kHeader =
    "provider,instance_type,accelerator,count,vcpus,memory_gib,gpu_memory_gib,region,price_usd_h,spot_usd_h,date\n";

Catalog read(const std::string& rows) {
  const auto catalog = read_catalog(std::string(kHeader) + rows);
  EXPECT_TRUE(catalog) << catalog.error().to_string();
  EXPECT_EQ(catalog->rows, catalog->offers.size() + catalog->rows_lost);
  return *catalog;
}

TEST(CatalogTest, RowsBecomeOffers) {
  const Catalog catalog = read(
      "acme,big,H100-SXM,8,96,1024.5,80,\"Oslo, NO\",20.5,8.25,2026-03-01\n"
      "acme,small,L4,1,4,16,,north,0.5,0.00,\n");
  EXPECT_TRUE(catalog.problems.empty());
  ASSERT_EQ(catalog.offers.size(), 2U);
  const Offer& big = catalog.offers[0];
  EXPECT_EQ(big.provider, "acme");
  EXPECT_EQ(big.instance, "big");
  EXPECT_EQ(big.device, "H100");
  EXPECT_EQ(big.accelerator, "H100-SXM");
  EXPECT_EQ(big.device_count, 8);
  EXPECT_EQ(big.vcpus, 96);
  EXPECT_EQ(big.memory, gibibytes(1024.5));
  EXPECT_EQ(big.region, "Oslo, NO");
  EXPECT_EQ(big.price, DollarsPerHour(20.5));
  EXPECT_EQ(big.spot, DollarsPerHour(8.25));
  EXPECT_EQ(big.date, "2026-03-01");
  EXPECT_FALSE(catalog.offers[1].spot) << "a spot price of 0 is none";
  EXPECT_EQ(catalog.offers[1].date, "");
  EXPECT_EQ(catalog.date, "2026-03-01");
}

TEST(CatalogTest, ColumnsComeInAnyOrderAndInSkyPilotsSpelling) {
  const auto catalog = read_catalog(
      "Price,InstanceType,vCPUs,Generation,MemoryGiB,AcceleratorName,AcceleratorCount,SpotPrice,Region\r\n"
      "3.06,p3.2xlarge,8.0,x,61.0,V100,1.0,0.92,us-east-1\r\n",
      "2026-01");
  ASSERT_TRUE(catalog) << catalog.error().to_string();
  ASSERT_EQ(catalog->offers.size(), 1U);
  EXPECT_EQ(catalog->offers[0].device, "V100");
  EXPECT_EQ(catalog->offers[0].price, DollarsPerHour(3.06));
  EXPECT_EQ(catalog->offers[0].spot, DollarsPerHour(0.92));
  EXPECT_EQ(catalog->offers[0].date, "2026-01");
}

TEST(CatalogTest, SpellingsOfDevices) {
  const std::pair<std::string, std::string> cases[] = {{"A100-80GB", "A100 80GB"},
                                                       {"A100-80GB-SXM", "A100 80GB"},
                                                       {"H100-SXM", "H100"},
                                                       {"RTXA6000", "A6000"},
                                                       {"RTX6000-Ada", "RTX 6000 Ada"},
                                                       {"L40S", "L40S"},
                                                       {"V100-32GB", "V100 32GB"},
                                                       {"H100-80G-PCIe", "H100 PCIe"},
                                                       {"RTX-A4000", "A4000"},
                                                       {"Radeon MI25", "MI25"},
                                                       {"RTX6000", "Quadro RTX 6000"},
                                                       {"GAUDI2", "Gaudi2"},
                                                       {"RTX4090", "RTX 4090"},
                                                       {"A100-80G-PCIe-NVLink", "A100 PCIe 80GB"},
                                                       {"H200-SXM", "H200"},
                                                       {"Tesla V100-SXM2-16GB", "V100"}};
  for (const auto& [spelling, device] : cases) {
    const Catalog catalog = read(fmt::format("a,i,{},1,,,,r,1,,\n", spelling));
    ASSERT_EQ(catalog.offers.size(), 1U);
    EXPECT_EQ(catalog.offers[0].device, device) << spelling;
  }
}

TEST(CatalogTest, EveryWrongRowIsNamedWithItsLine) {
  struct Case {
    std::string row;
    CatalogProblemKind kind;
    bool lost;
    std::string field, what;
  };
  using Kind = CatalogProblemKind;
  const Case cases[] = {
      {"a,i,T4,1", Kind::kUnreadable, true, "", "4 fields, the header has 11"},
      {"a,i,T4,1,,,,\"r\"x,1,,", Kind::kUnreadable, true, "", "text after a closing quote"},
      {"a,i,T4,1,,,,\"r,1,,", Kind::kUnreadable, true, "", "quote is never closed"},
      {fmt::format("a,{},T4,1,,,,r,1,,", std::string(5000, 'i')), Kind::kUnreadable, true, "",
       "a field of more than 4096 bytes"},
      {",i,T4,1,,,,r,1,,", Kind::kMissing, true, "provider", "empty"},
      {"a,i,,1,,,,r,1,,", Kind::kNoDevice, true, "accelerator", "empty; 1 machine without a device"},
      {"a,i,T4,,,,,r,1,,", Kind::kMissing, true, "count", "empty"},
      {"a,\x1b[31m,T4,1,,,,r,1,,", Kind::kBadText, true, "instance_type", "\"?[31m\" is not printable UTF-8"},
      {"a,i,T4,two,,,,r,1,,", Kind::kNotANumber, true, "count", "\"two\" is not a number"},
      {"a,i,T4,1,,,,r,free,,", Kind::kNotANumber, true, "price_usd_h", "\"free\" is not a number"},
      {"a,i,T4,1,,,,r,nan,,", Kind::kNotANumber, true, "price_usd_h", "\"nan\" is not a number"},
      {"a,i,T4,1,,,,r,-2,,", Kind::kOutOfRange, true, "price_usd_h", "-2 is out of range; expected 0 to 1000000"},
      {"a,i,T4,1,,,,r,1e300,,", Kind::kOutOfRange, true, "price_usd_h",
       "1e+300 is out of range; expected 0 to 1000000"},
      {"a,i,T4,0,,,,r,1,,", Kind::kOutOfRange, true, "count", "0 is neither a number of devices nor a part of one"},
      {"a,i,T4,1.5,,,,r,1,,", Kind::kOutOfRange, true, "count", "1.5 is neither a number of devices nor a part of one"},
      {"a,i,T4,1e9,,,,r,1,,", Kind::kOutOfRange, true, "count", "1000000000 is out of range; expected 0 to 1048576"},
      {"a,i,T4,1,,,,r,,,", Kind::kNoPrice, true, "price_usd_h", "no price"},
      {"a,i,T4,1,,,,r,0.00,0.5,", Kind::kNoPrice, true, "price_usd_h", "a price of 0"},
      {"first,i,T4,1,,,,r,9,,", Kind::kDuplicate, true, "", "\"first\" \"i\" in \"r\" is listed before"},
      {"a,i,T4,1,,,,r,1,-1,", Kind::kOutOfRange, false, "spot_usd_h", "-1 is out of range; expected 0 to 1000000"},
      {"a,i,T4,1,many,,,r,1,,", Kind::kNotANumber, false, "vcpus", "\"many\" is not a number"},
      {"a,i,T4,1,,,,r,1,,yesterday", Kind::kNotANumber, false, "date", "\"yesterday\" is not a date"},
      {"a,i,T4,0.5,,,,r,1,,", Kind::kFraction, false, "count",
       "0.5 of a device: listed, but no run is predicted on it"},
      {"a,i,Inferentia,1,,,,r,1,,", Kind::kUnknownDevice, false, "accelerator",
       "no specifications of \"Inferentia\"; 1 row listed, but not predicted"},
      {"a,i,T4,1,,,24,r,1,,", Kind::kMemoryDiffers, false, "gpu_memory_gib", "24 GiB, but T4 has 16.0 GiB"},
      {"a,i,T4,4,,,64,r,1,,", Kind::kMemoryDiffers, false, "gpu_memory_gib",
       "64 GiB, but T4 has 16.0 GiB; 64 is the sum of all 4"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.row.substr(0, 80));
    const Catalog catalog = read(fmt::format("first,i,T4,1,,,,r,1,,\n{}\n", c.row));
    ASSERT_EQ(catalog.problems.size(), 1U);
    const CatalogProblem& problem = catalog.problems[0];
    EXPECT_EQ(problem.line, 3U);
    EXPECT_EQ(problem.kind, c.kind) << to_string(problem.kind);
    EXPECT_EQ(problem.row_lost, c.lost);
    EXPECT_EQ(problem.field, c.field);
    EXPECT_EQ(problem.what, c.what);
    EXPECT_EQ(catalog.problem_counts[static_cast<std::size_t>(c.kind)].lost, c.lost ? 1U : 0U);
    EXPECT_EQ(catalog.problem_counts[static_cast<std::size_t>(c.kind)].kept, c.lost ? 0U : 1U);
    EXPECT_EQ(catalog.rows, 2U);
    EXPECT_EQ(catalog.offers.size(), c.lost ? 1U : 2U);
  }
}

TEST(CatalogTest, AnUnknownDeviceIsReportedOnce) {
  std::string rows;
  for (int i = 0; i < 70; ++i) rows += fmt::format("a,i{},Abacus,1,,,,r,1,,\n", i);
  const Catalog catalog = read(rows);
  ASSERT_EQ(catalog.problems.size(), 1U);
  EXPECT_EQ(catalog.problems[0].what, "no specifications of \"Abacus\"; 70 rows listed, but not predicted");
  EXPECT_EQ(catalog.offers.size(), 70U);
  EXPECT_EQ(catalog.offers[0].device, "");
}

TEST(CatalogTest, MemoryTellsVariantsApart) {
  const Catalog catalog = read(
      "a,i,A100,1,,,80,r,1,,\n"
      "a,j,A100,8,,,640,r,1,,\n"
      "a,k,V100,1,,,31.7,r,1,,\n"
      "a,l,L4,0.125,,,2.8,r,1,,\n");
  ASSERT_EQ(catalog.offers.size(), 4U);
  EXPECT_EQ(catalog.offers[0].device, "A100 80GB");
  EXPECT_EQ(catalog.offers[1].device, "A100 80GB");
  EXPECT_EQ(catalog.offers[2].device, "V100 32GB");
  EXPECT_EQ(catalog.offers[2].device_memory, gibibytes(32));
  EXPECT_EQ(catalog.offers[3].device_memory, gibibytes(3));
  EXPECT_EQ(catalog.problem_counts[static_cast<std::size_t>(CatalogProblemKind::kMemoryDiffers)].kept, 1U);
  EXPECT_DOUBLE_EQ(price_per_device(catalog.offers[3]).value(), 8);
}

// 32 GiB of two V100 may be 2 × 16; of one they cannot.
TEST(CatalogTest, AnAmbiguousMemoryIsReadAsTheSmallerDevice) {
  const Catalog catalog = read("a,i,V100,2,,,32,r,1,,\n");
  EXPECT_EQ(catalog.offers[0].device, "V100");
  EXPECT_EQ(catalog.problems.at(0).what, "32 GiB, but V100 has 16.0 GiB; 32 is the sum of all 2");
}

// Median of 0.01, 2, 2, 2, 3, 70: 2. A thirtieth is 0.067, thirty times 60.
TEST(CatalogTest, AnOddPriceIsMarked) {
  const Catalog catalog = read(
      "a,1,T4,1,,,,r,0.01,,\na,2,T4,1,,,,r,2,,\na,3,T4,1,,,,r,2,,\n"
      "a,4,T4,2,,,,r,4,,\na,5,T4,1,,,,r,3,,\na,6,T4,1,,,,r,70,,\n");
  ASSERT_EQ(catalog.problems.size(), 2U);
  EXPECT_EQ(catalog.problems[0].line, 2U);
  EXPECT_EQ(catalog.problems[0].what, "$0.01 per device and hour; half of all offers of T4 ask $2 or more");
  EXPECT_EQ(catalog.problems[1].line, 7U);
  EXPECT_TRUE(catalog.offers[0].odd_price);
  EXPECT_FALSE(catalog.offers[1].odd_price);
}

TEST(CatalogTest, AFileWithoutAUsableHeaderIsRefused) {
  EXPECT_EQ(read_catalog("").error().message(), "empty: expected a header line");
  EXPECT_EQ(read_catalog("provider,instance_type,accelerator,count,price\n").error().message(),
            "line 1: no column \"price_usd_h\" (SkyPilot: \"Price\"); the header has \"provider\", \"instance_type\", "
            "\"accelerator\", \"count\", \"price\"");
  EXPECT_EQ(read_catalog(kHeader, "today").error().message(),
            "\"today\" is not a date; expected YYYY-MM or YYYY-MM-DD");
}

TEST(CatalogTest, TheListOfProblemsIsBounded) {
  std::string rows;
  for (std::size_t i = 0; i < kCatalogProblemsMax + 5; ++i) rows += "x\n";
  const Catalog catalog = read(rows);
  EXPECT_EQ(catalog.problems.size(), kCatalogProblemsMax);
  EXPECT_EQ(catalog.rows_lost, kCatalogProblemsMax + 5);
}

TEST(CatalogTest, OverridesReplaceTheSameMachineInTheSameRegion) {
  const Catalog base = read("a,i,T4,1,,,,r,1,,\na,i,T4,1,,,,s,1,,\nb,i,T4,1,,,,r,1,,\n");
  const Catalog changes = read("A,i,T4,1,,,,r,0.25,,2026-05\nc,new,L4,1,,,,r,2,,\n");
  const Catalog both = with_overrides(base, changes);
  ASSERT_EQ(both.offers.size(), 4U);
  EXPECT_EQ(both.offers[0].region, "s");
  EXPECT_EQ(both.offers[2].price, DollarsPerHour(0.25));
  EXPECT_EQ(both.offers[3].provider, "c");
  EXPECT_EQ(both.date, "2026-05");
}

}  // namespace
}  // namespace orrery::hardware
