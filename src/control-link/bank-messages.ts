/** Defines the messages by which a gateway exchanges units of limits with its control plane. */
import { z } from 'zod';
import type { BankAnswer, BankRequest } from '../ledger/limit-bank.ts';
import type { UsageType } from '../model/limits/limits.ts';
import type { CounterRef } from '../store/usage/counter-place.ts';
import type { JournalledUse } from '../store/usage/journalled-use.ts';
import type { LostUse } from '../store/usage/slice-charges.ts';
import type { MoveOutcome, SliceMove } from '../store/usage/slice-moves.ts';
import type { CountedKind } from '../store/usage/usage-counters.ts';
import type { Holder } from '../store/usage/usage-holders.ts';
import type { WantedSlice } from '../store/usage/wanted-slices.ts';
import { idAsBase64 } from './base64-bytes.ts';

/** Most moves of one exchange, with reserve. */
const movesMax = 1_000;
/** Most counters of one process in an organisation, with reserve. */
const usesMax = 10_000;
const textCharsMax = 4_096;

const count = z.int().nonnegative();
const text = z.string().max(textCharsMax);

const kinds = {
  api_key: 'api_key',
  workspace: 'workspace',
  provider: 'provider',
  integration_workspace: 'integration_workspace',
  integration: 'integration',
  policy: 'policy',
  token: 'token',
} as const satisfies { [K in CountedKind]: K };
const types = { cost: 'cost', tokens: 'tokens', requests: 'requests' } as const satisfies {
  [K in UsageType]: K;
};

const counterKey = {
  subjectKind: z.enum(kinds),
  subjectId: idAsBase64,
  windowStart: z.int(),
  id: idAsBase64,
};

const Counter: z.ZodType<CounterRef> = z.strictObject({
  ...counterKey,
  isRate: z.boolean(),
  valueKey: text,
  endsAt: z.int().nullable(),
});

const limitTerms = {
  limitUnits: z.int(),
  alertThresholdUnits: z.int().nullable(),
  type: z.enum(types),
  label: text,
};

const Move: z.ZodType<SliceMove> = z.strictObject({
  ...limitTerms,
  counter: Counter,
  isNew: z.boolean(),
  units: z.int(),
  spent: z.int(),
  totalUnits: z.int().nullish(),
  offered: z.int(),
  needs: z.array(z.strictObject({ units: count, unitsMin: count })),
  want: count,
  isAnswer: z.boolean(),
  leaseMs: count.nullable(),
  refusedUnits: z.int().nullable(),
});

/** Answers may contain more, so that a newer control plane serves older gateways. */
const Outcome: z.ZodType<MoveOutcome> = z
  .object({
    granted: count,
    usedUnits: z.int(),
    reservedUnits: z.int(),
    refused: z.object({ units: count, limitUnits: count }).nullable(),
    shortage: z
      .object({
        atMs: z.number(),
        answeredAtMs: z.number().nullable(),
        isHomeAway: z.boolean().optional(),
      })
      .nullable(),
  })
  .nullable();

export const HolderMessage: z.ZodType<Holder> = z.strictObject({
  organisationId: z.uuid(),
  holder: idAsBase64,
  isJournalled: z.boolean().optional(),
});

const Use: z.ZodType<JournalledUse> = z.strictObject({
  ...limitTerms,
  counter: Counter,
  sequence: count,
  before: z.int(),
  after: z.int(),
  running: z.int(),
  drawn: z.int(),
  totalMax: z.int().nullish(),
});

/** Usage that a process had on disk when it died. */
export const SettleRequest = z.strictObject({
  holder: HolderMessage,
  uses: z.array(Use).max(usesMax),
});

const LostUseMessage: z.ZodType<LostUse> = z.strictObject({
  counter: z.strictObject(counterKey),
  totalUnits: z.int(),
  runningUnits: count,
});

export const ExchangeRequest: z.ZodType<BankRequest> = z.strictObject({
  holder: HolderMessage,
  sequence: count,
  moves: z.array(Move).max(movesMax),
  listsHeld: z.boolean(),
  countsHolders: z.boolean(),
  keepsAnswer: z.boolean(),
  leavesOutLost: z.boolean().optional(),
  lostUses: z.array(LostUseMessage).max(movesMax).optional(),
});

const Answer: z.ZodType<BankAnswer> = z.object({
  outcomes: z.array(Outcome),
  held: z.array(text).nullable(),
  holders: count.nullable(),
  rank: count.nullish(),
  lost: z.array(text).optional(),
});

/** Null when the holder has lost everything it held. */
export const ExchangeAnswer = z.object({ answer: Answer.nullable() });

/** Most holders of one message, with reserve. */
const holdersMax = 1_000;

export const WantedRequest: z.ZodType<{ readonly holders: readonly Holder[] }> = z.strictObject({
  holders: z.array(HolderMessage).max(holdersMax),
});

export const WantedAnswer: z.ZodType<{ readonly counters: readonly WantedSlice[] }> = z.object({
  counters: z.array(z.object({ ...counterKey, organisationId: z.string() })),
});
