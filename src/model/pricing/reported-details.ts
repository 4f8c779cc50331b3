/** Parses what providers report beside plain tokens: kinds of tokens, searches, seconds, service tiers. */
import { isObject } from '../json/read-object.ts';
import type { Counts, PricedKind, PricedUnit, UsageDetails } from './priced-details.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** Reads a count; null for a missing one. */
type ReadCount = (value: unknown) => number | null;

export interface ReportedDetails {
  kinds: Partial<Record<PricedKind, number>> | null;
  units: Partial<Record<PricedUnit, number>> | null;
  /** Service tier of the response; null when it is not reported. */
  tier: string | null;
  /** Modes of the response that have a factor of their own. */
  modes: readonly string[];
}

export function newReportedDetails(): ReportedDetails {
  return { kinds: null, units: null, tier: null, modes: [] };
}

const inputDetails = ['prompt_tokens_details', 'input_tokens_details', 'input_token_details'];
const outputDetails = [
  'completion_tokens_details',
  'output_tokens_details',
  'output_token_details',
];

/** Names of counts within the details of input and output. */
const inputKinds = { audio_tokens: 'audioInput', image_tokens: 'imageInput' } as const;
const cachedKinds = { audio_tokens: 'cachedAudio', image_tokens: 'cachedImage' } as const;
const outputKinds = {
  audio_tokens: 'audioOutput',
  image_tokens: 'imageOutput',
  reasoning_tokens: 'reasoning',
} as const;

/** Adds the details of a usage object. */
export function addUsageDetails(
  details: ReportedDetails,
  usage: JsonObject,
  count: ReadCount,
): void {
  for (const name of inputDetails) {
    const input = usage[name];
    if (!isObject(input)) continue;
    addKinds(details, input, inputKinds, count);
    addKinds(details, input.cached_tokens_details, cachedKinds, count);
  }
  for (const name of outputDetails) addKinds(details, usage[name], outputKinds, count);
  addSearches(details, usage, count);
  if (usage.type === 'duration' && typeof usage.seconds === 'number') {
    addUnit(details, 'audioSecond', count(Math.ceil(usage.seconds)));
  }
  details.tier = textIn(usage.service_tier) ?? details.tier;
  const modes = [
    usage.speed === 'fast' ? 'fast' : null,
    usage.inference_geo === 'us' ? 'us' : null,
  ];
  const found = modes.filter((mode) => mode !== null);
  if (found.length > 0) details.modes = found;
}

function addKinds(
  details: ReportedDetails,
  holder: unknown,
  names: Readonly<Record<string, PricedKind>>,
  count: ReadCount,
): void {
  if (!isObject(holder)) return;
  for (const name in names) {
    const tokens = count(holder[name]);
    if (tokens === null) continue;
    details.kinds ??= {};
    details.kinds[names[name]!] = tokens;
  }
}

function addSearches(details: ReportedDetails, usage: JsonObject, count: ReadCount): void {
  const { server_tool_use: tools } = usage;
  if (isObject(tools)) addUnit(details, 'webSearch', count(tools.web_search_requests));
  // Perplexity counts searches, and tokens of reasoning and citations, beside its output.
  addUnit(details, 'webSearch', count(usage.num_search_queries));
  if (usage.citation_tokens === undefined && usage.num_search_queries === undefined) return;
  const names = { citation_tokens: 'citation', reasoning_tokens: 'reasoning' } as const;
  addKinds(details, usage, names, count);
}

function addUnit(details: ReportedDetails, unit: PricedUnit, value: number | null): void {
  if (value === null) return;
  details.units ??= {};
  details.units[unit] = value;
}

function textIn(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** Adds what a body or a stream event reports outside of its usage. */
export function addBodyDetails(details: ReportedDetails, body: JsonObject, count: ReadCount): void {
  const { response, meta } = body;
  const holder = isObject(response) ? response : body;
  details.tier = textIn(holder.service_tier) ?? details.tier;
  addToolCalls(details, holder.output);
  const billed = isObject(meta) ? meta.billed_units : undefined;
  if (!isObject(billed)) return;
  addUnit(details, 'searchUnit', count(billed.search_units));
  addKinds(details, billed, { image_tokens: 'imageInput' }, count);
}

/** Items of a response that say that the provider has run a tool. */
const toolItems: Readonly<Record<string, PricedUnit>> = {
  web_search_call: 'webSearch',
  file_search_call: 'fileSearch',
  code_interpreter_call: 'codeSession',
};

function addToolCalls(details: ReportedDetails, output: unknown): void {
  if (!Array.isArray(output)) return;
  const counts: Partial<Record<PricedUnit, number>> = {};
  for (const item of output) {
    if (!isObject(item)) continue;
    const unit = toolItems[String(item.type)];
    // Opening a page and searching in it are no searches.
    const isFree = isObject(item.action) && item.action.type !== 'search';
    if (unit !== undefined && !isFree) counts[unit] = (counts[unit] ?? 0) + 1;
  }
  // All code of a response runs in one container.
  if (counts.codeSession !== undefined) counts.codeSession = 1;
  if (Object.keys(counts).length > 0) details.units = { ...details.units, ...counts };
}

/** Tiers at the usual price. */
const usualTiers = new Set<string | null>([null, 'default', 'standard', 'on_demand', 'auto']);

/** Units and tiers of a request, which count where the response reports nothing else. */
export interface RequestedDetails {
  readonly units: Counts;
  readonly tiers: readonly string[];
}

/** Undefined when nothing has a price of its own. */
export function usageDetails(
  { kinds, units, tier, modes }: ReportedDetails,
  requested: RequestedDetails | null,
): UsageDetails | undefined {
  const reported = usualTiers.has(tier) ? modes : [tier ?? '', ...modes];
  const tiers = tier === null && modes.length === 0 ? (requested?.tiers ?? modes) : reported;
  const hasUnits = requested !== null || units !== null;
  if (kinds === null && !hasUnits && tiers.length === 0) return undefined;
  return {
    ...(kinds !== null && { kinds }),
    ...(hasUnits && { units: { ...requested?.units, ...units } }),
    ...(tiers.length > 0 && { tiers }),
  };
}
