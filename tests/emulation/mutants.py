"""The mutants: one mistake each, as edits of a file's text. mutate.py builds them, and plays those of the step body and its
protocols; others are left to a unit test. The text to find must be in the file exactly once; white space in it matches any
white space, so that formatting changes nothing."""
import dataclasses

ADVANCE = 'kernels/advance-inl.h'
FIT = 'kernels/fit.h'
PROTOCOL = 'kernels/protocol-inl.h'
MAILBOX = 'src/base/mailbox_end.h'
ORDER = 'src/base/memory_order.h'


@dataclasses.dataclass
class UnitTest:
    sources: list             # all that it is made of
    libraries: list


@dataclasses.dataclass
class Mutant:
    name: str
    file: str
    edits: list               # of (find, replacement)
    equivalent: str = ''      # why nothing can tell it from the original; then it must not be caught
    unit_test: UnitTest | None = None  # what has to catch it; nothing: the play
    case: str = ''            # of the unit test: the one that is there for this mistake


def mutant(name, file, *edits, equivalent=''):
    return Mutant(name, file, list(edits), equivalent)


HANDSHAKE = 'src/runtime/rendezvous/handshake.cc'
HANDSHAKE_TEST = UnitTest(
    ['tests/runtime/rendezvous/handshake_test.cc', HANDSHAKE, 'src/runtime/rendezvous/unique_id.cc', 'src/base/status.cc'],
    ['-lgtest_main', '-lgtest', '-lsodium', '-lfmt', '-pthread'])


def handshake(name, case, *edits):
    return Mutant(name, HANDSHAKE, list(edits), unit_test=HANDSHAKE_TEST, case='Handshake.' + case)


MOVE = 'if (lane.fit.stepElements[lane.step] == 0) return;'
POSTER = 'if (!isOwner(context, ends[i])) continue;'
NOT_BY_PLACE = 'if ((i - step.firstEnd) % context.ntid() != context.tid()) continue;'
ONE_FLAG_VOUCHES = 'all payload is written, and a barrier passed, before the first flag of a message is stored'

MUTANTS = [
    # Credits.
    mutant('no-credit-wait', PROTOCOL,
           ('if (end.messages - end.creditSeen < end.nslots) return true;', 'return true;')),
    mutant('one-credit-too-many', PROTOCOL,
           ('return end.messages - end.creditSeen < end.nslots;',
            'return end.messages - end.creditSeen <= end.nslots;')),
    mutant('credit-never-looked-at-again', PROTOCOL,
           ('end.creditSeen = context.loadAcquire(end.credit);', '')),
    mutant('credit-given-twice', PROTOCOL,
           ('context.storeRelease(end.credit, end.messages + 1);',
            'context.storeRelease(end.credit, end.messages + 2);')),
    mutant('credit-one-message-late', PROTOCOL,
           ('context.storeRelease(end.credit, end.messages + 1);',
            'context.storeRelease(end.credit, end.messages);')),
    mutant('credit-never-given', PROTOCOL,
           ('context.storeRelease(end.credit, end.messages + 1);', '')),
    mutant('credit-before-the-slot-is-read', ADVANCE,
           (MOVE, '''
            for (std::uint32_t i = 0; i < step.nincoming; ++i) {
              const FlatEnd& flat = lane.program->stepEnds[step.firstEnd + i];
              const MailboxEnd& end = *lane.ends[flat.end];
              if (end.format == MailboxFormat::slots && isOwner(context, flat)) giveSlotBack(context, end);
            }''' + MOVE)),
    mutant('credit-without-release', PROTOCOL,
           ('context.storeRelease(end.credit,', 'context.storeRelaxed(end.credit,')),
    mutant('credit-without-acquire', PROTOCOL,
           ('context.loadAcquire(end.credit)', 'context.loadRelaxed(end.credit)')),
    mutant('credit-always-loaded', PROTOCOL,
           ('if (end.messages - end.creditSeen < end.nslots) return true;', ''),
           equivalent='what was last seen only saves a load'),

    # Flags.
    mutant('flag-before-the-data', ADVANCE,
           (MOVE, '''
            for (std::uint32_t i = 0; i < step.noutgoing; ++i) {
              const std::uint32_t e = step.firstEnd + step.nincoming + i;
              const FlatEnd& flat = lane.program->stepEnds[e];
              MailboxEnd& end = *lane.ends[flat.end];
              if (end.format == MailboxFormat::slots && isOwner(context, flat))
                postSlot(context, end, lane.fit.messageBytes[e], lane.call->tag);
            }''' + MOVE)),
    mutant('flag-before-the-size', PROTOCOL,
           ('header.bytes = bytes; context.storeRelease(&header.flag, flagOf(end.messages, tag));',
            'context.storeRelease(&header.flag, flagOf(end.messages, tag)); header.bytes = bytes;')),
    mutant('flag-without-release', PROTOCOL,
           ('context.storeRelease(&header.flag,', 'context.storeRelaxed(&header.flag,')),
    mutant('flag-without-acquire', PROTOCOL,
           ('const std::uint64_t seen = context.loadAcquire(flag);',
            'const std::uint64_t seen = context.loadRelaxed(flag);')),
    mutant('flag-of-a-later-message-will-do', PROTOCOL,
           ('if (seen == wanted) return true;',
            'if (static_cast<std::uint32_t>(seen) >= static_cast<std::uint32_t>(wanted)) return true;')),
    mutant('flag-of-any-message-will-do', PROTOCOL,
           ('if (seen == wanted) return true;', 'if (seen != 0) return true;')),
    mutant('tag-not-compared', PROTOCOL,
           ('if (seen == wanted) return true;',
            'if (static_cast<std::uint32_t>(seen) == static_cast<std::uint32_t>(wanted)) return true;')),
    mutant('tag-not-in-the-flag', MAILBOX,
           ('return (static_cast<std::uint64_t>(tag) << 32) |', 'return (static_cast<std::uint64_t>(tag & 0) << 32) |')),
    mutant('other-tag-not-told', PROTOCOL,
           ('if (static_cast<std::uint32_t>(seen) == static_cast<std::uint32_t>(wanted)) context.suspect(end);', '')),
    mutant('size-not-compared', PROTOCOL,
           ('if (header.bytes == bytes) return true;', 'if (header.bytes + 1 != 0) return true;')),
    mutant('size-of-empty-messages-not-zero', FIT, ('end.carriesData ? elements', 'true ? elements')),

    # Counters.
    mutant('counters-by-value', PROTOCOL,
           ('void countMessage(MailboxEnd& end,', 'void countMessage(MailboxEnd end,')),
    mutant('messages-not-counted', PROTOCOL, ('++end.messages;', '')),
    mutant('slot-does-not-wrap', PROTOCOL,
           ('end.slot = end.slot + 1 == end.nslots ? 0 : end.slot + 1;', 'end.slot = end.slot + 1;')),
    mutant('slot-wraps-late', PROTOCOL,
           ('end.slot = end.slot + 1 == end.nslots ? 0 : end.slot + 1;',
            'end.slot = end.slot == end.nslots ? 0 : end.slot + 1;')),
    mutant('slot-stays', PROTOCOL,
           ('end.slot = end.slot + 1 == end.nslots ? 0 : end.slot + 1;', '')),
    mutant('counted-before-it-is-posted', ADVANCE,
           ('postSlot(context, outgoing, bytes, lane.call->tag); countMessage(outgoing, bytes);',
            'countMessage(outgoing, bytes); postSlot(context, outgoing, bytes, lane.call->tag);')),
    mutant('all-messages-in-one-slot', PROTOCOL,
           ('return end.slots + end.slot * end.stride;', 'return end.slots;')),

    # Threads of a block.
    mutant('no-barrier-after-the-wait', ADVANCE, ('return context.every(ready);', 'return ready;')),
    mutant('each-thread-believes-itself', ADVANCE,
           ('return context.every(ready);', 'context.every(ready); return ready;')),
    mutant('barrier-before-the-wait', ADVANCE,
           ('bool ready = true; if (lane', 'bool ready = true; context.sync(); if (lane'),
           ('return context.every(ready);', 'return ready;')),
    mutant('no-barrier-before-the-post', ADVANCE,
           ('if (context.isAbandoned()) return false; context.sync();', 'if (context.isAbandoned()) return false;')),
    mutant('only-the-last-end-counts', ADVANCE, ('ready && i < end;', 'i < end;')),
    mutant('only-the-last-line-end-counts', ADVANCE, ('ready && i < firstOutgoing;', 'i < firstOutgoing;')),
    mutant('owner-by-place-in-the-step', ADVANCE,
           ('if (!isOwner(context, flat)) continue;', NOT_BY_PLACE),
           (POSTER + ' MailboxEnd& outgoing', NOT_BY_PLACE + ' MailboxEnd& outgoing'),
           (POSTER + ' MailboxEnd& incoming', NOT_BY_PLACE + ' MailboxEnd& incoming')),
    mutant('every-thread-posts', ADVANCE, (POSTER + ' MailboxEnd& outgoing', 'MailboxEnd& outgoing')),
    mutant('every-thread-gives-back', ADVANCE, (POSTER + ' MailboxEnd& incoming', 'MailboxEnd& incoming')),
    mutant('no-barrier-after-filling-the-workspace', ADVANCE,
           ('if (Context::kSharedWorkspace) context.sync(); '
            'context.reduceCopy(lane.call->reduction, lane.sources, step.nsources,',
            'context.reduceCopy(lane.call->reduction, lane.sources, step.nsources,')),
    mutant('no-barrier-between-runs', ADVANCE,
           ('if (Context::kSharedWorkspace && r != 0) context.sync();', '')),
    mutant('workspace-filled-by-all', ADVANCE,
           ('for (std::uint32_t i = firstOf(context); i < noperands; i += everyOf(context))',
            'for (std::uint32_t i = 0; i < noperands; ++i)')),

    # Lines.
    mutant('line-flag-before-the-payload', ADVANCE,
           (MOVE, '''
            for (std::uint32_t i = 0; i < step.noutgoing; ++i) {
              const std::uint32_t e = step.firstEnd + step.nincoming + i;
              const MailboxEnd& end = *lane.ends[lane.program->stepEnds[e].end];
              if (end.format == MailboxFormat::lines)
                postLines(context, end, lane.fit.messageBytes[e], lane.call->tag);
            }
            ''' + MOVE)),
    mutant('line-flag-without-release', PROTOCOL,
           ('context.storeRelease(&lines[i].flag, flag);', 'context.storeRelaxed(&lines[i].flag, flag);')),
    mutant('only-the-first-line-is-looked-at', PROTOCOL,
           ('const FlaggedLine* lines = linesAt(end); const std::uint64_t nlines = linesOf(bytes);',
            'const FlaggedLine* lines = linesAt(end); const std::uint64_t nlines = bytes < 1 ? 1 : 1;'),
           equivalent=ONE_FLAG_VOUCHES),
    mutant('a-single-line-is-not-looked-at', PROTOCOL,
           ('const FlaggedLine* lines = linesAt(end); const std::uint64_t nlines = linesOf(bytes);',
            'const FlaggedLine* lines = linesAt(end); const std::uint64_t nlines = linesOf(bytes) - 1;')),
    mutant('every-other-line-is-looked-at', PROTOCOL,
           ('i < nlines; i += context.ntid()) { if (!flagArrived',
            'i < nlines; i += 2 * context.ntid()) { if (!flagArrived'),
           equivalent=ONE_FLAG_VOUCHES),
    mutant('only-the-first-line-is-posted', PROTOCOL,
           ('const std::uint64_t nlines = linesOf(bytes); const std::uint64_t flag = flagOf(end.messages, tag);',
            'const std::uint64_t nlines = linesOf(bytes); const std::uint64_t flag = flagOf(end.messages, tag); '
            'if (context.tid() != 0 || nlines > 1) '
            '{ if (context.tid() == 0) context.storeRelease(&lines[0].flag, flag); return; }')),
    mutant('every-thread-posts-every-line', PROTOCOL,
           ('for (std::uint64_t i = context.tid(); i < nlines; i += context.ntid()) context.storeRelease(',
            'for (std::uint64_t i = 0; i < nlines; ++i) context.storeRelease('),
           equivalent='all store the same value, before the barrier that ends the step'),
    mutant('one-buffer-of-lines', PROTOCOL,
           ('reinterpret_cast<FlaggedLine*>(slotAt(end))', 'reinterpret_cast<FlaggedLine*>(end.slots)')),
    mutant('buffers-of-lines-overlap', PROTOCOL,
           ('end.slot * end.stride;', 'end.slot * (end.stride < sizeof(FlaggedLine) ? end.stride : sizeof(FlaggedLine));')),
    mutant('lines-rounded-down', MAILBOX,
           ('(bytes - 1) / FlaggedLine::kPayload + 1', 'bytes / FlaggedLine::kPayload')),
    mutant('one-line-too-many', MAILBOX,
           ('(bytes - 1) / FlaggedLine::kPayload + 1', 'bytes / FlaggedLine::kPayload + 1')),
    mutant('line-counters-not-held-still', ADVANCE,
           ('announceLines(context, lane, outgoing, bytes); } context.sync();',
            'announceLines(context, lane, outgoing, bytes); }')),
    mutant('no-barrier-after-counting-lines', ADVANCE,
           ('countMessage(*lane.ends[ends[i].end], lane.fit.messageBytes[i]); context.sync();',
            'countMessage(*lane.ends[ends[i].end], lane.fit.messageBytes[i]);'),
           equivalent='a line end is used once in a call, and calls are apart'),
    mutant('every-thread-counts-lines', ADVANCE,
           ('for (std::uint32_t i = step.firstEnd + context.tid(); i < end; i += context.ntid())',
            'for (std::uint32_t i = step.firstEnd; i < end; ++i)')),
    mutant('line-workspace-shared', ADVANCE,
           ('Context::kSharedWorkspace ? context.tid() * lane.program->mostOperands : 0;', '0;')),
    mutant('lines-moved-by-all-threads', ADVANCE,
           ('first += context.ntid() * perLine', 'first += perLine')),
    mutant('last-line-moved-whole', ADVANCE, ('left < perLine ? left : perLine', 'left < 1 ? left : perLine')),
    mutant('staging-shared-by-ends', ADVANCE,
           ('return lane.staging + end * lane.stagingStride;', 'return lane.staging;')),
    mutant('lines-of-the-last-step-again', ADVANCE,
           ('lane.outgoing = outgoing;', 'if (lane.outgoing == nullptr) lane.outgoing = outgoing;')),
    mutant('line-announced-before-it-is-filled', PROTOCOL,
           ('std::memcpy(line->payload, from, FlaggedLine::kPayload); context.storeRelease(&line->flag, flag); }',
            'context.storeRelease(&line->flag, flag); std::memcpy(line->payload, from, FlaggedLine::kPayload); }')),
    mutant('lines-taken-unseen', PROTOCOL,
           ('if (!flagArrived(context, end, &line.flag, tag)) return false;', '')),
    mutant('last-line-taken-unseen', PROTOCOL,
           ('if (!flagArrived(context, end, &last.flag, tag)) return false;', '')),
    mutant('lines-taken-not-forgotten', PROTOCOL, ('end.linesTaken = 0;', '')),
    mutant('one-full-line-counts-as-long', ADVANCE,
           ('> FlaggedLine::kPayload;', '>= FlaggedLine::kPayload;')),

    # Words.
    mutant('word-flag-not-compared', PROTOCOL, ('if (seen >> 32 != flag) return false;', '')),
    mutant('word-flag-without-number', MAILBOX,
           ('static_cast<std::uint32_t>(message >> 1);', 'static_cast<std::uint32_t>(message & 0);')),
    mutant('word-flags-in-pairs', MAILBOX,
           ('static_cast<std::uint32_t>(message >> 1);', 'static_cast<std::uint32_t>(message >> 2);')),
    mutant('word-flag-may-be-zero', MAILBOX,
           ('return 0x80000000u | static_cast<std::uint32_t>(message >> 1);',
            'return static_cast<std::uint32_t>(message >> 1);')),
    mutant('head-without-tag', PROTOCOL,
           ('context.storeRelaxed(words, wordOf(flag, tag));', 'context.storeRelaxed(words, wordOf(flag, 1));')),
    mutant('tag-in-the-head-not-compared', PROTOCOL,
           ('if (seen == wordOf(flag, tag)) return true;', 'if (seen >> 32 == flag) return true;')),
    mutant('head-not-looked-at', PROTOCOL,
           ('if (!headArrived(context, end, bytes, tag)) return false;', '')),
    mutant('other-tag-in-the-head-not-told', PROTOCOL,
           ('if (seen >> 32 == flag) context.suspect(end);', '')),
    mutant('old-heads-suspected', PROTOCOL,
           ('if (seen >> 32 == flag) context.suspect(end);', 'context.suspect(end);')),
    mutant('empty-message-without-release', PROTOCOL,
           ('context.storeRelease(words, wordOf(flag, tag));', 'context.storeRelaxed(words, wordOf(flag, tag));')),
    mutant('empty-message-without-acquire', PROTOCOL,
           ('bytes == 0 ? context.loadAcquire(head) : context.loadRelaxed(head);', 'context.loadRelaxed(head);')),
    mutant('word-stored-flag-first', PROTOCOL,
           ('context.storeRelaxed(&words[turn],',
            'context.storeRelaxed(&words[turn], wordOf(flag, static_cast<std::uint32_t>(words[turn]))); '
            'context.storeRelaxed(&words[turn],')),
    mutant('word-stored-data-first', PROTOCOL,
           ('context.storeRelaxed(&words[turn],',
            'context.storeRelaxed(&words[turn], wordOf(static_cast<std::uint32_t>(words[turn] >> 32), '
            'gatherWord(from + done, bytes - done))); context.storeRelaxed(&words[turn],'),
           equivalent='the emulated machines keep the order of stores; hardware need not'),
    mutant('word-loaded-data-first', PROTOCOL,
           ('const std::uint64_t seen = context.loadRelaxed(&words[turn]);',
            'const std::uint64_t half = context.loadRelaxed(&words[turn]); const std::uint64_t seen = '
            'context.loadRelaxed(&words[turn]) >> 32 << 32 | static_cast<std::uint32_t>(half);')),
    mutant('word-loaded-flag-first', PROTOCOL,
           ('const auto data = static_cast<std::uint32_t>(seen);',
            'const auto data = static_cast<std::uint32_t>(context.loadRelaxed(&words[turn]));'),
           equivalent='the emulated machines keep the order of loads; hardware need not'),
    mutant('one-buffer-of-words', PROTOCOL,
           ('reinterpret_cast<std::uint64_t*>(slotAt(end))', 'reinterpret_cast<std::uint64_t*>(end.slots)')),
    mutant('words-rounded-down', MAILBOX,
           ('1 + (bytes + kWordPayload - 1) / kWordPayload', '1 + bytes / kWordPayload')),
    mutant('one-word-too-many', MAILBOX,
           ('1 + (bytes + kWordPayload - 1) / kWordPayload', '1 + (bytes + kWordPayload) / kWordPayload')),
    mutant('broken-word-gathered-as-none', PROTOCOL, ('i < kWordPayload && i < bytes;', 'i < kWordPayload && 4 <= bytes;')),
    mutant('bytes-of-a-word-in-the-wrong-order', PROTOCOL, ('<< 8 * i;', '<< 8 * (3 - i);')),
    mutant('words-gathered-from-the-start', PROTOCOL,
           ('gatherWord(from + done, bytes - done)', 'gatherWord(from, bytes)')),
    mutant('words-staged-at-the-start', PROTOCOL,
           ('(to + (turn - 1) * kWordPayload, kWordPayload)', '(to, kWordPayload)')),
    mutant('every-thread-takes-the-same-words', ADVANCE,
           ('std::uint64_t turn = context.tid(); bool taken', 'std::uint64_t turn = 0; bool taken')),
    mutant('every-thread-posts-the-same-words', ADVANCE,
           ('std::uint64_t turn = context.tid(); for', 'std::uint64_t turn = 0; for')),
    mutant('turn-not-taken-on-to-the-next-message', PROTOCOL,
           ('&data, kWordPayload); } turn -= nwords;', '&data, kWordPayload); }')),
    mutant('turn-not-posted-on-to-the-next-message', PROTOCOL,
           ('gatherWord(from + done, bytes - done))); } turn -= nwords;', 'gatherWord(from + done, bytes - done))); }')),
    mutant('turn-begins-anew-in-each-message', PROTOCOL,
           ('&data, kWordPayload); } turn -= nwords;', '&data, kWordPayload); } turn = context.tid();'),
           equivalent='each word still has one thread, only the work is uneven'),
    mutant('head-and-first-word-by-one-thread', PROTOCOL,
           ('tag)) return false; turn += context.ntid(); }', 'tag)) return false; ++turn; }')),
    mutant('only-the-last-words-count', ADVANCE, ('taken && i < step.firstEnd', 'i < step.firstEnd')),
    mutant('no-barrier-after-taking-words', ADVANCE,
           ('return context.every(takeAllWords(context, lane, step));', 'return takeAllWords(context, lane, step);')),
    mutant('each-thread-believes-its-own-words', ADVANCE,
           ('return context.every(takeAllWords(context, lane, step));',
            '{ const bool own = takeAllWords(context, lane, step); context.every(own); return own; }')),
    mutant('no-barrier-after-filling-the-staged-workspace', ADVANCE,
           ('if (ndestinations == 0) return; if (Context::kSharedWorkspace) context.sync();',
            'if (ndestinations == 0) return;')),
    mutant('staged-workspace-filled-by-all', ADVANCE,
           ('return i % everyOf(context) == firstOf(context);', 'return i + 1 != 0;')),
    mutant('copied-source-from-the-shared-list', ADVANCE,
           ('Context::kSharedWorkspace ? sourceAt(0)', 'false ? sourceAt(0)')),
    mutant('words-not-staged', ADVANCE,
           ('else return operand.where == Where::link;', 'else return isLong(lane, operand);')),

    # Steps, rounds and places.
    mutant('round-not-entered', ADVANCE, ('else enterRound(context, lane);', '')),
    mutant('last-round-fits-like-the-others', ADVANCE, ('|| lane.fit.elements != elements', '')),
    mutant('round-begins-at-zero', ADVANCE, ('= begin * call.formBytes[static_cast<int>(Form::raw)];', '= 0;')),
    mutant('runs-on-top-of-each-other', FIT, ('== Where::link ? elements * size', '== Where::link ? 0')),
    mutant('scratch-of-one-segment', FIT,
           ('operand.segment * lane.scratchStride + begin * size', 'begin * size')),
    mutant('no-barrier-before-fitting', ADVANCE,
           ('if (Context::kSharedWorkspace) context.sync();  // nobody looks', '// nobody looks')),
    mutant('no-barrier-after-fitting', ADVANCE,
           ('lane.fit.elements = cut.elements; if (Context::kSharedWorkspace) context.sync();',
            'lane.fit.elements = cut.elements;')),
    mutant('fit-of-one-thread-only', ADVANCE,
           ('s < lane.program->nsteps; s += everyOf(context)', 's < lane.program->nsteps; s += lane.program->nsteps')),

    # The machine.
    mutant('store-is-relaxed', ORDER, ('__atomic_store_n(word, value, __ATOMIC_RELEASE);',
                                       '__atomic_store_n(word, value, __ATOMIC_RELAXED);')),
    mutant('load-is-relaxed', ORDER, ('return __atomic_load_n(word, __ATOMIC_ACQUIRE);',
                                      'return __atomic_load_n(word, __ATOMIC_RELAXED);')),

    # Who may join.
    handshake('host-compares-no-proof', 'AnotherKeyOrJobFailsOnBothSides',
              ('return challenged_ && equal(proofOf(id_, Role::joiner, joiner_, nonce_), proof);',
               'return challenged_ && proof.size() == kProofBytes;')),
    handshake('joiner-compares-no-proof', 'AnotherKeyOrJobFailsOnBothSides',
              ('if (host != nonce_ && equal(proofOf(id_, Role::host, nonce_, host), challenge.substr(sizeof(Nonce))))',
               'if (host != nonce_)')),
    handshake('proof-without-the-key', 'AnotherKeyOrJobFailsOnBothSides',
              ('id.key().data(), id.key().size(), kProofBytes', 'nullptr, 0, kProofBytes')),
    handshake('proof-without-the-job', 'AnotherKeyOrJobFailsOnBothSides',
              ('crypto_generichash_update(&state, id.jobNonce().data(), id.jobNonce().size());', '')),
    handshake('proof-without-the-role', 'AReflectionIsNoProof',
              ('crypto_generichash_update(&state, &roleByte, 1);', '')),
    handshake('proof-without-the-joiners-nonce', 'AReplayMeetsAnotherNonce',
              ('crypto_generichash_update(&state, joiner.data(), joiner.size());', '')),
    handshake('proof-without-the-hosts-nonce', 'AReplayMeetsAnotherNonce',
              ('crypto_generichash_update(&state, host.data(), host.size());', '')),
    handshake('own-nonce-will-do', 'AReflectionIsNoProof',
              ('if (joiner_ == nonce_) return', 'if (false) return')),
    handshake('proof-before-the-challenge', 'NothingIsAcceptedBeforeAChallenge',
              ('return challenged_ && equal(', 'return equal(')),
    handshake('proof-of-any-size', 'WrongSizes',
              ('return given.size() == expected.size() && sodium', 'return sodium')),
]
