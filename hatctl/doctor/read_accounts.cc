// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/read_accounts.cc: reads users and groups from /etc/passwd and /etc/group.
#include "hatctl/doctor/read_host.h"

namespace hat::doctor {
namespace {

// A line of /etc/passwd or /etc/group, such as
// "hatrpcd:x:998:997::/run/hatrpcd:/usr/sbin/nologin" or "rdma:x:104:hatrpcd,other".
struct Entry {
  std::string name;
  uint64_t number = 0;
  std::string fourth;  // the group of a user, or the members of a group
};

std::vector<Entry> read_entries(const Files& files, const std::string& file) {
  std::vector<Entry> entries;
  for (const std::string& line : lines(files.text_or(file, ""))) {
    std::vector<std::string> fields(1);
    for (const char c : line) {
      if (c == ':') {
        fields.emplace_back();
      } else {
        fields.back() += c;
      }
    }
    if (fields.size() < 4) continue;
    const auto number = parse_number<uint64_t>(std::string_view(fields[2]));
    if (number) entries.push_back({fields[0], *number, fields[3]});
  }
  return entries;
}

}  // namespace

std::string account_name(const Files& files, const std::string& file, uint64_t number) {
  for (const Entry& entry : read_entries(files, file)) {
    if (entry.number == number) return entry.name;
  }
  return std::to_string(number);
}

std::optional<Process> read_account(const Files& files, const std::string& user) {
  for (const Entry& entry : read_entries(files, "/etc/passwd")) {
    const auto group = parse_number<gid_t>(std::string_view(entry.fourth));
    if (entry.name != user || !group) continue;
    Process account;
    account.user = user;
    account.uid = static_cast<uid_t>(entry.number);
    account.gid = *group;
    for (const Entry& other : read_entries(files, "/etc/group")) {
      const std::string members = "," + other.fourth + ",";
      if (members.find("," + user + ",") == std::string::npos) continue;
      account.groups.insert(static_cast<gid_t>(other.number));
    }
    return account;
  }
  return std::nullopt;
}

}  // namespace hat::doctor
