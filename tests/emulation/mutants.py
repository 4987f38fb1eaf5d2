"""The mutants: one mistake each in the step body or its protocols, as edits of a file's text. mutate.py builds and plays
them. The text to find must be in the file exactly once; white space in it matches any white space, so that formatting
changes nothing."""
import dataclasses

ADVANCE = 'kernels/advance-inl.h'
FIT = 'kernels/fit.h'
PROTOCOL = 'kernels/protocol-inl.h'
MAILBOX = 'src/base/mailbox_end.h'
ORDER = 'src/base/memory_order.h'


@dataclasses.dataclass
class Mutant:
    name: str
    file: str
    edits: list               # of (find, replacement)
    equivalent: str = ''      # why nothing can tell it from the original; then it must not be caught


def mutant(name, file, *edits, equivalent=''):
    return Mutant(name, file, list(edits), equivalent)


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
           ('if (Context::kSharedWorkspace) context.sync(); context.reduceCopy(', 'context.reduceCopy(')),
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
           ('lane.bytesSent += lane.fit.messageBytes[i]; } context.sync();',
            'lane.bytesSent += lane.fit.messageBytes[i]; }')),
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
           ('lane.outgoingLines = outgoing;', 'if (lane.outgoingLines == nullptr) lane.outgoingLines = outgoing;')),
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
]
