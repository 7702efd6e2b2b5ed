#pragma once
// A list of jobs with the content of its files: prices, VM types, and the places each job can run in.

#include <map>

#include "plan/job_list.h"
#include "plan/job_times.h"
#include "service/offers.h"
#include "workload/job_spec.h"

namespace orrery::service {

struct ListingFields {
  CatalogFields catalog;
  int nodes = 0;  // most machines rented at the same time
  bool spot = false;
  std::string predictor;

  friend bool operator==(const ListingFields&, const ListingFields&) = default;
};
const Fields<ListingFields>& listing_fields();

// A job file, predicted once however often it is listed.
struct ListedFile {
  workload::JobSpec spec;
  std::vector<plan::PredictedConfiguration> configurations;
};

// How many times were predicted, and how many of them are inside what the predictor learned: the intervals of the
// others are at least those of formulas.
struct PredictedTimes {
  std::size_t all = 0, in_domain = 0;
  std::string text() const;
};

struct Listing {
  std::string path;
  plan::JobList list;
  std::vector<plan::VmType> types;  // limited as the list says
  std::map<std::string, ListedFile> files;

  const ListedFile& file(const std::string& name) const { return files.at(name); }
  // `path:line`
  std::string place(std::size_t line) const;
  PredictedTimes predicted() const;
  // Whether a quota or the number of its machines limits the type.
  bool is_limited(const plan::VmType& type) const;
};

// Reads the list, the offers and all job files, and predicts them on at most this many machines each. Errors name the
// line of the list.
Result<Listing> load_listing(env::Env env, const std::string& path, const ListingFields& fields, int machines_max,
                             const FieldNames& names);

// Ids of several jobs of a name get a number.
void name_apart(const std::vector<std::string*>& ids);

}  // namespace orrery::service
