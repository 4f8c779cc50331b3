/** Defines what a request can use beside plain input and output: kinds of tokens, other units, service tiers. */

/**
 * Kinds of tokens within the input, the cached input and the output. `textOutput` is the price of output that is
 * none of the other kinds, where the provider reports kinds.
 */
export const pricedKinds = [
  'audioInput',
  'imageInput',
  'videoInput',
  'cachedAudio',
  'cachedImage',
  'textOutput',
  'audioOutput',
  'imageOutput',
  'videoOutput',
  'reasoning',
  'citation',
] as const;
export type PricedKind = (typeof pricedKinds)[number];

export const outputKinds = [
  'textOutput',
  'audioOutput',
  'imageOutput',
  'videoOutput',
  'reasoning',
  'citation',
] as const satisfies readonly PricedKind[];

/** Units other than tokens; `image` prices are stored for each quality and size ({@link imageUnit}). */
export const pricedUnits = [
  'webSearch',
  'fileSearch',
  'codeSession',
  'searchUnit',
  'character',
  'audioSecond',
] as const;
export type PricedUnit = (typeof pricedUnits)[number];

const imagePrefix = 'image';

/** Name of the unit for an image, such as `image high 1024x1024`. */
export function imageUnit(quality: string, size: string): string {
  return `${imagePrefix} ${quality} ${size}`;
}

export function isImageUnit(unit: string): boolean {
  return unit.startsWith(`${imagePrefix} `);
}

export type Counts = Readonly<Record<string, number>>;
export type TokensByKind = Readonly<Partial<Record<PricedKind, number>>>;

/** A fraction, because some factors have no finite decimals. */
export interface PriceFactor {
  readonly times: number;
  readonly per: number;
}

export interface UsageDetails {
  /** Tokens that are part of input or output; absent where the provider reports none. */
  readonly kinds?: TokensByKind;
  readonly units?: Counts;
  /** Names of service tiers and modes whose factors multiply the price of tokens. */
  readonly tiers?: readonly string[];
}

/** A factor of tokens that is at least one, so that a bound also covers an answer in the usual tier. */
export function boundFactor(
  factors: Readonly<Record<string, PriceFactor>> | undefined,
  tiers: readonly string[],
): PriceFactor {
  return product(factors, tiers, (factor) => (factor.times > factor.per ? factor : one));
}

const one: PriceFactor = { times: 1, per: 1 };

/** The product of the factors; an unknown name has none. */
export function tierFactor(
  factors: Readonly<Record<string, PriceFactor>> | undefined,
  tiers: readonly string[],
): PriceFactor {
  return product(factors, tiers, (factor) => factor);
}

function product(
  factors: Readonly<Record<string, PriceFactor>> | undefined,
  tiers: readonly string[],
  use: (factor: PriceFactor) => PriceFactor,
): PriceFactor {
  let all = one;
  for (const name of tiers) {
    const found = factors?.[name];
    if (found === undefined) continue;
    const { times, per } = use(found);
    all = { times: all.times * times, per: all.per * per };
  }
  return all;
}
