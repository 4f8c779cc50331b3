/** Draws one request of the gate and its outcome from a seed. */
import { type FormName, requestForms } from './forms.ts';

/** Behaviour of the provider and of the caller. */
const kinds = {
  whole: 40,
  stream: 22,
  slow: 8,
  /** The caller disconnects after the first chunk of a stream. */
  left: 8,
  /** The caller disconnects before anything arrives. */
  gone: 5,
  /** The provider breaks off. */
  cut: 4,
  /** The provider reports no usage. */
  silent: 6,
  /** The provider returns 500 and has done nothing. */
  refused: 4,
  /** The provider returns 429 and has done nothing; no caller asks for it, a fault of the provider does. */
  storm: 0,
  /** The provider resets the connection before it responds, after its work; likewise a fault. */
  reset: 0,
  /** The provider keeps the connection open without a response after its work, and resets it later; likewise a fault. */
  mute: 0,
  /** The provider returns 200 with a document that is no response of its API, after its work; likewise a fault. */
  garbage: 0,
} as const;

export type PlanKind = keyof typeof kinds;

export interface Plan {
  readonly id: string;
  readonly form: FormName;
  readonly kind: PlanKind;
  readonly path: string;
  readonly body: Buffer;
  /** Upper bound of its input. */
  readonly inputTokensMax: number;
  readonly outputTokensMax: number;
}

/** Instructions for the provider in the text of the request. */
export interface ProviderInstructions {
  readonly id: string;
  readonly form: FormName;
  readonly kind: PlanKind;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly pauseMs: number;
}

/** Numbers in [0, 1), determined by the seed. */
export function numbersOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const total = Object.values(kinds).reduce<number>((sum, share) => sum + share, 0);

function kindOf(chance: number): PlanKind {
  let left = chance * total;
  for (const [kind, share] of Object.entries(kinds)) {
    left -= share;
    if (left < 0) return kind as PlanKind;
  }
  return 'whole';
}

/** A request of any kind for up to this much output, which uses any part of it. */
export function drawPlan(
  id: string,
  forms: readonly FormName[],
  outputTokensMost: number,
  random: () => number,
): Plan {
  const form = forms[Math.floor(random() * forms.length)]!;
  const kind = kindOf(random());
  const outputTokensMax = 16 + Math.floor(random() * (outputTokensMost - 16));
  const pauseMs = kind === 'slow' ? Math.floor(random() * 300) : Math.floor(random() * 10);
  const reported = {
    id,
    form,
    kind,
    pauseMs,
    inputTokens: 1 + Math.floor(random() * 100),
    outputTokens: 1 + Math.floor(random() * outputTokensMax),
  };
  return planOf(reported, outputTokensMax);
}

export function planOf(reported: ProviderInstructions, outputTokensMost: number): Plan {
  const { id, kind, form } = reported;
  const { path, body, stream, addedBytes } = requestForms[form];
  const isStream = stream !== null && (kind === 'stream' || kind === 'left');
  const bytes = Buffer.from(
    JSON.stringify(body(JSON.stringify(reported), outputTokensMost, isStream)),
  );
  return {
    id,
    form,
    kind,
    path: path(isStream),
    body: bytes,
    inputTokensMax: bytes.length + addedBytes,
    outputTokensMax: stream === null ? 0 : outputTokensMost,
  };
}
