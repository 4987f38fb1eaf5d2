// See jobs.h.
#include "jobs.h"

namespace tutti::emulation {
namespace {

constexpr std::uint64_t kBeforeWrap = (std::uint64_t{1} << 32) - 3;

Job jobOf(int nranks, int nthreads, Workspace workspace, const LinkShape& links, std::vector<Call> calls) {
  Job job;
  job.nranks = nranks;
  job.nthreads = nthreads;
  job.workspace = workspace;
  job.links = links;
  job.calls = std::move(calls);
  return job;
}

}  // namespace

std::vector<NamedJob> mutationJobs() {
  using enum Collective;
  const auto slots = [](std::uint32_t nslots, std::uint64_t bytes) {
    return LinkShape{MailboxFormat::slots, nslots, bytes, kBeforeWrap};
  };
  const LinkShape lines{MailboxFormat::lines, 2, 0, kBeforeWrap};
  const LinkShape words{MailboxFormat::words, 2, 0, kBeforeWrap};
  std::vector<NamedJob> jobs;
  // A chain limits nobody but by credits: a sender runs ahead as far as they let it.
  jobs.push_back(
      {"chain", jobOf(3, 3, Workspace::own, slots(2, 16),
                      {{broadcast, Algorithm::chain, 21}, {broadcast, Algorithm::chain, 5, true, 1}})});
  jobs.push_back(
      {"chain-reduce", jobOf(3, 2, Workspace::shared, slots(3, 12),
                             {{reduce, Algorithm::chain, 17}, {reduce, Algorithm::chain, 4, true, 2}})});
  // Steps of several ends, whose ends several threads own.
  jobs.push_back({"ring", jobOf(4, 2, Workspace::own, slots(2, 8),
                                {{allReduce, Algorithm::ring, 19},
                                 {allReduce, Algorithm::ring, 0},
                                 {allReduce, Algorithm::ring, 13, true}})});
  jobs.push_back(
      {"host-slots", jobOf(3, 1, Workspace::oneThread, slots(2, 8),
                           {{allReduce, Algorithm::ring, 16}, {allReduce, Algorithm::oneShot, 5}})});
  // The root's first step takes messages that other threads look after than the one that fits the step.
  jobs.push_back({"one-shot-slots", jobOf(4, 3, Workspace::shared, slots(2, 12),
                                          {{reduce, Algorithm::oneShot, 3},
                                           {allReduce, Algorithm::oneShot, 7},
                                           {allGather, Algorithm::oneShot, 5},
                                           {allReduce, Algorithm::oneShot, 9, true}})});
  // Steps of several runs; messages of several blocks.
  jobs.push_back({"halving", jobOf(3, 2, Workspace::shared, slots(2, 16),
                                   {{allReduce, Algorithm::halvingDoubling, 15},
                                    {reduceScatter, Algorithm::halvingDoubling, 5}})});
  // Lines: one line and several, and calls one after another, which is all that keeps a buffer from its next
  // user.
  for (const auto& [name, nthreads, workspace] :
       {std::tuple{"lines-own", 2, Workspace::own}, std::tuple{"lines-shared", 3, Workspace::shared},
        std::tuple{"lines-one-thread", 1, Workspace::oneThread}}) {
    jobs.push_back({name, jobOf(3, nthreads, workspace, lines,
                                {{allReduce, Algorithm::oneShot, 42},
                                 {allReduce, Algorithm::oneShot, 6},
                                 {allGather, Algorithm::oneShot, 33, true},
                                 {allReduce, Algorithm::oneShot, 37, true},
                                 {barrier, Algorithm::oneShot, 0},
                                 {allReduce, Algorithm::oneShot, 14},
                                 {allReduce, Algorithm::oneShot, 3}})});
  }
  // Many lines at once, and steps that send lines one after another.
  jobs.push_back(
      {"staging", jobOf(2, 1, Workspace::oneThread, lines,
                        {{allReduce, Algorithm::oneShot, 480}, {allGather, Algorithm::oneShot, 470}})});
  jobs.push_back({"lines-by-steps", jobOf(4, 1, Workspace::oneThread, lines,
                                          {{allReduce, Algorithm::recursiveDoubling, 37},
                                           {allReduce, Algorithm::recursiveDoubling, 29, true}})});
  // One line exactly as raw elements, two as partials, in one step.
  Job twoForms = jobOf(3, 1, Workspace::oneThread, lines, {{allReduce, Algorithm::recursiveDoubling, 28}});
  twoForms.type = DataType::bf16;
  jobs.push_back({"lines-in-two-forms", twoForms});
  // Words: broken last ones, empty messages, and calls one after another, on links that are new and on others.
  for (const auto& [name, nthreads, workspace] :
       {std::tuple{"words-own", 2, Workspace::own}, std::tuple{"words-shared", 3, Workspace::shared}}) {
    Job job = jobOf(3, nthreads, workspace, words,
                    {{allReduce, Algorithm::oneShot, 2},
                     {allReduce, Algorithm::oneShot, 9},
                     {allGather, Algorithm::oneShot, 3, true},
                     {allReduce, Algorithm::oneShot, 11, true},
                     {barrier, Algorithm::oneShot, 0},
                     {reduceScatter, Algorithm::oneShot, 5},
                     {allReduce, Algorithm::oneShot, 1}});
    job.type = DataType::bf16;
    if (workspace == Workspace::shared) job.links.firstMessage = 0;
    jobs.push_back({name, job});
  }
  // Partial sums from a staging place to a place in the scratch, and on to a rank that only listens.
  Job wordsByLevels = jobOf(
      3, 2, Workspace::shared, words,
      {{allReduce, Algorithm::recursiveDoubling, 7}, {allReduce, Algorithm::recursiveDoubling, 4, true}});
  wordsByLevels.type = DataType::bf16;
  jobs.push_back({"words-in-two-forms", wordsByLevels});
  jobs.push_back({"window", jobOf(3, 2, Workspace::own, slots(2, 16),
                                  {{allReduce, Algorithm::twoShotWindow, 11},
                                   {allReduce, Algorithm::twoShotWindow, 7, true}})});
  for (const auto& [name, links] : {std::pair{"foreign-slots", slots(2, 16)},
                                    std::pair{"foreign-words", words}, std::pair{"foreign-lines", lines}}) {
    Job job = jobOf(2, 2, Workspace::own, links,
                    {{allReduce, Algorithm::oneShot, 4}, {allReduce, Algorithm::oneShot, 4}});
    job.strangeRank = 1;
    jobs.push_back({name, job});
  }
  Job otherSize = jobs[jobs.size() - 3].job;
  otherSize.strangeSize = true;
  jobs.push_back({"foreign-size", otherSize});
  // Empty messages as words are what orders the accesses to windows.
  jobs.push_back({"words-around-windows",
                  jobOf(2, 2, Workspace::own, words, {{allReduce, Algorithm::twoShotWindow, 3}})});
  return jobs;
}

}  // namespace tutti::emulation
