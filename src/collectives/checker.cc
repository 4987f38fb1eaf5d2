// The checker's face: rules first, then a run, and the bytes that the links carry.
#include "collectives/checker.h"

#include <algorithm>

#include "collectives/checker_network.h"
#include "collectives/checker_run.h"

namespace tutti {

const char* nameOf(FindingKind kind) {
  switch (kind) {
    case FindingKind::missingContribution:
      return "missing contribution";
    case FindingKind::doubledContribution:
      return "doubled contribution";
    case FindingKind::wrongData:
      return "wrong data";
    case FindingKind::wrongRoot:
      return "wrong root";
    case FindingKind::differentBits:
      return "different bits";
    case FindingKind::deadlock:
      return "deadlock";
    case FindingKind::unmatchedLink:
      return "unmatched link";
    case FindingKind::endUsedByTwoLanes:
      return "link end used by two lanes";
    case FindingKind::blockSizeMismatch:
      return "block size mismatch";
    case FindingKind::formError:
      return "form error";
    case FindingKind::race:
      return "race";
    case FindingKind::closednessWrong:
      return "closedness wrong";
    case FindingKind::scratchShared:
      return "scratch shared";
    case FindingKind::outOfRange:
      return "out of range";
    case FindingKind::touchesForbiddenBuffer:
      return "touches a forbidden buffer";
    case FindingKind::linkBlocksWrong:
      return "link blocks wrong";
    case FindingKind::malformed:
      return "malformed";
  }
  return "?";
}

bool CheckReport::has(FindingKind kind) const {
  return std::any_of(findings.begin(), findings.end(),
                     [kind](const Finding& finding) { return finding.kind == kind; });
}

std::string CheckReport::text() const {
  std::string text;
  for (const Finding& finding : findings) {
    text += std::string(nameOf(finding.kind)) + ": " + finding.text + '\n';
  }
  return text;
}

ScheduleChecker::ScheduleChecker(const std::vector<Schedule>& perRank, Collective collective, int root)
    : network_(std::make_unique<CheckNetwork>(perRank, collective, root)) {}

ScheduleChecker::~ScheduleChecker() = default;

CheckReport ScheduleChecker::run(const CheckOptions& options) const {
  CheckReport report;
  report.findings = network_->findings;
  if (network_->runnable) runNetwork(*network_, options, report);
  return report;
}

std::vector<LinkTraffic> ScheduleChecker::traffic() const {
  std::vector<LinkTraffic> traffic;
  for (const CheckNetwork::NetLink& link : network_->links) {
    LinkTraffic& one = traffic.emplace_back(LinkTraffic{link.from, link.to, link.channel, {}});
    for (const CheckNetwork::Message& message : link.sent) one.messages.push_back(message.place);
  }
  return traffic;
}

CheckReport checkSchedules(const std::vector<Schedule>& perRank, Collective collective, int root,
                           const CheckOptions& options) {
  return ScheduleChecker(perRank, collective, root).run(options);
}

std::vector<LinkBytes> linkBytes(const std::vector<LinkTraffic>& traffic, const Cut& cut, DataType type,
                                 Operation operation) {
  std::vector<LinkBytes> bytes;
  for (const LinkTraffic& link : traffic) {
    LinkBytes& sum = bytes.emplace_back(LinkBytes{link.from, link.to, link.channel, 0, 0});
    for (std::uint32_t round = 0; round < cut.rounds; ++round) {
      const RoundCut roundCut = roundOf(cut, round);
      for (const Place& message : link.messages) {
        ++sum.messages;
        for (int i = 0; i < message.nblocks; ++i) {
          const Extent extent =
              extentOf(roundCut, static_cast<std::uint32_t>(message.block + i) % cut.blocks, 1);
          sum.bytes += (extent.end - extent.begin) * bytesOf(type, operation, message.form);
        }
      }
    }
  }
  return bytes;
}

}  // namespace tutti
