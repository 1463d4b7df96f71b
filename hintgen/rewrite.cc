// SPDX-License-Identifier: Apache-2.0
// hintgen/rewrite.cc: removes hint groups from a text and inserts annotations.
#include "hintgen/rewrite.h"

#include <glog/logging.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "hintgen/hint_spelling.h"

namespace hat::hintgen {
namespace {

// One change of a text. If `at` is empty, the edit inserts a text at this position. Otherwise the
// edit removes the bytes of `at`, except comments and line ends among these bytes. The edits of one
// file do not overlap.
struct Edit {
  Span at;
  std::string inserted;
};

bool is_blank(char c) { return c == ' ' || c == '\t'; }

class Rewriter {
 public:
  explicit Rewriter(const Program& program)
      : text_(program.source->text()), comments_(program.comments) {}

  std::string run(std::vector<Edit> edits) {
    // If an insertion and a removal begin at the same byte, the insertion comes first.
    const auto order = [](const Edit& edit) { return std::pair(edit.at.begin, !edit.at.empty()); };
    std::stable_sort(edits.begin(), edits.end(),
                     [&](const Edit& a, const Edit& b) { return order(a) < order(b); });
    for (const Edit& edit : edits) {
      copy_until(edit.at.begin);
      out_ += edit.inserted;
      leave_out(edit.at);
    }
    copy_until(text_.size());
    return std::move(out_);
  }

 private:
  // Copies the text from the current position to `end`. Aborts if `end` is before the current
  // position or after the end of the text: the output would silently corrupt the user's file.
  void copy_until(size_t end) {
    CHECK(position_ <= end && end <= text_.size())
        << "edits are out of order: byte " << end << " after byte " << position_ << " of "
        << text_.size();
    out_.append(text_, position_, end - position_);
    position_ = end;
  }

  void leave_out(Span at) {
    CHECK_LE(at.end, text_.size());
    if (at.empty()) return;
    size_t line_begin = std::string::npos;  // where the current line begins, if it is blank so far
    bool ends_with_comment = false;         // true if the last written text is a comment
    while (position_ < at.end) {
      if (const Span* comment = comment_at(position_)) {
        if (line_begin != std::string::npos) out_.append(text_, line_begin, position_ - line_begin);
        line_begin = std::string::npos;
        copy_until(comment->end);
        ends_with_comment = true;
        continue;
      }
      const char c = text_[position_++];
      if (c == '\n' || (c == '\r' && text_[position_] == '\n')) {
        if (!ends_with_comment) trim_line();
        out_ += c;
        ends_with_comment = false;
        line_begin = position_;
      } else if (!is_blank(c)) {
        line_begin = std::string::npos;
      }
    }
    const size_t next = text_.find_first_not_of(" \t", position_);
    const bool at_line_end =
        next == std::string::npos || text_[next] == '\n' || text_[next] == '\r';
    if (at_line_end) {
      trim_line();
      position_ = std::min(next, text_.size());
    }
  }

  const Span* comment_at(size_t offset) const {
    const auto found = std::lower_bound(comments_.begin(), comments_.end(), offset,
                                        [](Span span, size_t at) { return span.begin < at; });
    return found != comments_.end() && found->begin == offset ? &*found : nullptr;
  }

  void trim_line() {
    while (!out_.empty() && is_blank(out_.back())) out_.pop_back();
  }

  const std::string& text_;
  const std::vector<Span>& comments_;
  std::string out_;
  size_t position_ = 0;
};

std::vector<const Service*> services_of(const Program& program) {
  std::vector<const Service*> services;
  for (const auto& definition : program.definitions) {
    if (const auto* service = std::get_if<Service>(&definition->value)) services.push_back(service);
  }
  return services;
}

std::vector<Edit> cuts(const Program& program) {
  std::vector<Edit> edits;
  for (const Service* service : services_of(program)) {
    for (const HintGroup& group : service->groups) edits.push_back({group.at, ""});
    for (const Function& function : service->functions) {
      if (function.hint_block.empty()) continue;
      edits.push_back({function.hint_block, ""});
      // Removes the second of two separators: plain Thrift accepts only one after a function.
      const bool has_two = !function.separator.empty() && !function.block_separator.empty();
      if (has_two) edits.push_back({function.block_separator, ""});
    }
  }
  return edits;
}

std::string string_literal(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    switch (c) {
      case '"':
        text += "\\\"";
        break;
      case '\\':
        text += "\\\\";
        break;
      case '\n':
        text += "\\n";
        break;
      case '\r':
        text += "\\r";
        break;
      case '\t':
        text += "\\t";
        break;
      default:
        text += c;
    }
  }
  return text + "\"";
}

// Returns, as a list of annotations, the hints in `groups` that the annotations in `present` do not
// set yet. For example: `hat.perf_goal = "latency", hat.client.payload_size = "64"`.
std::string as_annotations(const std::vector<HintGroup>& groups, const Annotations& present) {
  std::set<std::string> said;
  for (const Annotation& annotation : present.items) said.insert(annotation.key.text);
  std::string text;
  for (const HintGroup& group : groups) {
    const std::optional<HintSide> side = side_of_group(group.word.text);
    if (!side) continue;
    for (const Hint& hint : group.hints) {
      const std::string key = annotation_key(*side, hint.key.text);
      if (!said.insert(key).second) continue;
      text += (text.empty() ? "" : ", ") + key + " = " + string_literal(hint.value.text);
    }
  }
  return text;
}

// Returns the edit that adds the annotations `added` to the annotations `present`, or, if there are
// none, adds them in new brackets at the offset `end`.
Edit insertion(const std::string& text, const Annotations& present, uint32_t end,
               const std::string& added) {
  if (present.at.empty()) return {Span{end, end}, " ( " + added + " )"};
  if (present.items.empty()) {
    const uint32_t inside = present.at.begin + 1;
    return {Span{inside, inside}, " " + added + " "};
  }
  const uint32_t after_last = present.items.back().at.end;
  const char last = text[after_last - 1];
  const bool separated = last == ',' || last == ';';
  return {Span{after_last, after_last}, (separated ? " " : ", ") + added};
}

}  // namespace

std::string strip(const Program& program) { return Rewriter(program).run(cuts(program)); }

std::string annotate(const Program& program) {
  std::vector<Edit> edits = cuts(program);
  const std::string& text = program.source->text();
  for (const Service* service : services_of(program)) {
    std::string added = as_annotations(service->groups, service->annotations);
    if (!added.empty()) {
      edits.push_back(insertion(text, service->annotations, service->closing_brace.end, added));
    }
    for (const Function& function : service->functions) {
      added = as_annotations(function.groups, function.annotations);
      if (added.empty()) continue;
      edits.push_back(insertion(text, function.annotations, function.signature.end, added));
    }
  }
  return Rewriter(program).run(std::move(edits));
}

}  // namespace hat::hintgen
