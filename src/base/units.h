#pragma once
// Quantities that cannot be mixed up. Each is a double in the unit of its name; whole bytes are exact up to 2^53.
//
//   Flops work{2e9};  FlopsPerSecond peak{14e12};
//   Seconds t = work / peak;

#include <compare>

namespace orrery {

template <class Unit>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value_(value) {}

  constexpr double value() const { return value_; }

  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }
  constexpr Quantity& operator*=(double factor) {
    value_ *= factor;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator*(Quantity a, double factor) { return Quantity(a.value_ * factor); }
  friend constexpr Quantity operator*(double factor, Quantity a) { return Quantity(a.value_ * factor); }
  friend constexpr Quantity operator/(Quantity a, double divisor) { return Quantity(a.value_ / divisor); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value_ / b.value_; }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;

 private:
  double value_ = 0;
};

using Seconds = Quantity<struct SecondsUnit>;
using Bytes = Quantity<struct BytesUnit>;
using Flops = Quantity<struct FlopsUnit>;
using Dollars = Quantity<struct DollarsUnit>;
using Watts = Quantity<struct WattsUnit>;
using BytesPerSecond = Quantity<struct BytesPerSecondUnit>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondUnit>;
using DollarsPerHour = Quantity<struct DollarsPerHourUnit>;

constexpr Seconds operator/(Bytes bytes, BytesPerSecond rate) {
  return Seconds(bytes.value() / rate.value());
}
constexpr Seconds operator/(Flops work, FlopsPerSecond rate) {
  return Seconds(work.value() / rate.value());
}
constexpr Dollars operator*(DollarsPerHour price, Seconds time) {
  return Dollars(price.value() * time.value() / 3600);
}

constexpr Bytes kibibytes(double n) {
  return Bytes(n * 1024);
}
constexpr Bytes mebibytes(double n) {
  return Bytes(n * 1024 * 1024);
}
constexpr Bytes gibibytes(double n) {
  return Bytes(n * 1024 * 1024 * 1024);
}
constexpr Bytes gigabytes(double n) {
  return Bytes(n * 1e9);
}
constexpr BytesPerSecond gigabytes_per_second(double n) {
  return BytesPerSecond(n * 1e9);
}
constexpr FlopsPerSecond teraflops(double n) {
  return FlopsPerSecond(n * 1e12);
}
constexpr Seconds microseconds(double n) {
  return Seconds(n * 1e-6);
}
constexpr Seconds hours(double n) {
  return Seconds(n * 3600);
}

}  // namespace orrery
