// SPDX-License-Identifier: Apache-2.0
#include "bench/atb/caller.h"

#include <thrift/protocol/TBinaryProtocol.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "Atb.h"
#include "bench/atb/checksum.h"
#include "bench/atb/transports.h"

namespace hat::atb {
namespace {

namespace thrift = apache::thrift;

std::unexpected<Failure> wrong_answer(const std::string& what) {
  return std::unexpected(Failure{Exit::kWrongAnswer, "a wrong answer: " + what});
}

}  // namespace

Outcome<std::unique_ptr<Caller>> Caller::connect(const Options& options, uint32_t number) {
  try {
    const auto framed = client_transport(options.address, options.timeout);
    framed->open();
    auto client =
        std::make_unique<AtbClient>(std::make_shared<thrift::protocol::TBinaryProtocol>(framed));
    return std::unique_ptr<Caller>(new Caller(std::move(client), number));
  } catch (const thrift::TException& error) {
    return std::unexpected(
        Failure{Exit::kCannotMeasure,
                "cannot connect to " + to_string(options.address) + ": " + error.what()});
  }
}

Caller::Caller(std::unique_ptr<AtbClient> client, uint32_t number)
    : client_(std::move(client)), next_number_(uint64_t{number} << 40) {}
Caller::~Caller() = default;

void Caller::number_payload() {
  const uint64_t number = next_number_++;
  std::memcpy(payload_.data(), &number, std::min(payload_.size(), sizeof(number)));
}

Outcome<Caller::Times> Caller::call(Function function, const Sizes& sizes) {
  payload_.resize(sizes.request_bytes, 'q');
  number_payload();
  const auto answer_bytes = static_cast<int32_t>(sizes.answer_bytes);
  Answer answer;
  Times times;
  try {
    times.begun = Clock::now();
    if (function == Function::kLatency) {
      client_->latency(answer, answer_bytes, payload_);
    } else {
      client_->throughput(answer, answer_bytes, payload_);
    }
    times.ended = Clock::now();
  } catch (const std::exception& error) {
    return std::unexpected(
        Failure{Exit::kCannotMeasure, std::string("a call failed: ") + error.what()});
  }
  if (answer.payload.size() != sizes.answer_bytes) {
    return wrong_answer(std::to_string(answer.payload.size()) + " bytes instead of the " +
                        std::to_string(sizes.answer_bytes) + " requested");
  }
  if (static_cast<uint64_t>(answer.checksum) != checksum(payload_, answer.payload)) {
    return wrong_answer("its checksum does not match the request and the reply");
  }
  return times;
}

}  // namespace hat::atb
