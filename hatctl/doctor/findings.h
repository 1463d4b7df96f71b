// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/findings.h: the results (findings) of the checks of `hatctl doctor`, in the order
// in which the checks ran.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hat::doctor {

enum class Verdict : uint8_t {
  kOk,
  kWarn,  // works, but slower or for less time than possible
  kFail,  // something that the configuration asks for will not work
};

struct Finding {
  Verdict verdict = Verdict::kOk;
  std::string check;    // "ports"
  std::string subject;  // the thing that was checked: "mlx5_0 port 1"; empty: the whole host
  std::string text;     // the fact that was found, and why this fact matters
  std::string mend;     // shell commands that repair the problem, one per line, with "#" comments
};

class Findings {
 public:
  // Sets the check to which the findings added from now on belong.
  void begin(std::string_view check) { check_ = check; }

  void ok(std::string subject, std::string text) {
    add(Verdict::kOk, std::move(subject), std::move(text), "");
  }
  void warn(std::string subject, std::string text, std::string mend) {
    add(Verdict::kWarn, std::move(subject), std::move(text), std::move(mend));
  }
  void fail(std::string subject, std::string text, std::string mend) {
    add(Verdict::kFail, std::move(subject), std::move(text), std::move(mend));
  }
  void add(Verdict verdict, std::string subject, std::string text, std::string mend) {
    all_.push_back({verdict, check_, std::move(subject), std::move(text), std::move(mend)});
  }

  const std::vector<Finding>& all() const { return all_; }
  size_t count(Verdict verdict) const {
    return static_cast<size_t>(std::ranges::count(all_, verdict, &Finding::verdict));
  }

 private:
  std::string check_;
  std::vector<Finding> all_;
};

}  // namespace hat::doctor
