/** Reads what a request may use beside plain tokens, for its bound and for what its response does not report. */
import type { MeteringName } from '../../model/endpoints/metering.ts';
import { isObject } from '../../model/json/read-object.ts';
import { type Counts, imageUnit, isImageUnit } from '../../model/pricing/priced-details.ts';
import type { Price } from '../../model/pricing/pricing.ts';
import type { RequestedDetails } from '../../model/pricing/reported-details.ts';
import { copiesOf, meteringOf } from './bound.ts';

type Params = Readonly<Record<string, unknown>>;

/** Calls of provider-run tools in one response, unless the request sets another number. */
const toolCallsMax = 32;

/** Fewest bytes of a second of encoded speech. */
const bytesOfSecond = 750;
/** Bound of audio whose length is unknown. */
const secondsMax = 200_000;
/** Documents of a search unit, and the least bytes in which a document is divided into several. */
const [documentsOfUnit, bytesOfDocument] = [100, 128];

/** The most that a request may use. */
export interface BoundDetails extends RequestedDetails {
  /** Whether its response reports more than the request says, such as searches. */
  readonly hasTools: boolean;
}

/** Null when only plain tokens have a price, as usual. `bodyBytes` is null when it is unknown. */
export function boundDetails(
  name: MeteringName,
  params: Params,
  bodyBytes: number | null,
  price: Price | null,
): BoundDetails | null {
  if (price === null) return null;
  const tiers = requestedTiers(params, price);
  const units = price.units === undefined ? {} : requestedUnits(name, params, bodyBytes, price);
  if (tiers.length === 0 && Object.keys(units).length === 0) return null;
  return { units, tiers, hasTools: toolUnits.some((unit) => units[unit] !== undefined) };
}

const toolUnits = ['webSearch', 'fileSearch', 'codeSession'];

/** Units that are charged although no response reports them: images, characters and searches of chats. */
export function certainDetails(
  details: BoundDetails | null,
  metering: MeteringName,
): RequestedDetails | null {
  if (details === null) return null;
  const { tiers } = details;
  const isCertain = (unit: string): boolean =>
    unit === 'character' ||
    isImageUnit(unit) ||
    (unit === 'webSearch' && metering === 'chat_completions');
  const units = Object.entries(details.units).filter(([unit]) => isCertain(unit));
  return { tiers, units: Object.fromEntries(units) };
}

/** A tier that the provider selects is bounded by the most expensive one. */
function requestedTiers({ service_tier, speed, inference_geo }: Params, price: Price): string[] {
  const { factors } = price;
  if (factors === undefined) return [];
  const tier = service_tier === 'auto' && factors.flex !== undefined ? 'priority' : service_tier;
  const named = [tier, speed, inference_geo];
  return named.filter(
    (one): one is string => typeof one === 'string' && Object.hasOwn(factors, one),
  );
}

function requestedUnits(
  name: MeteringName,
  params: Params,
  bodyBytes: number | null,
  price: Price,
): Counts {
  const prices = price.units!;
  if (name === 'images') return imagesOf(params, prices);
  if (name === 'speech') {
    const { input } = params;
    const characters = typeof input === 'string' ? [...input].length : 0;
    return prices.character === undefined ? {} : { character: characters };
  }
  if (name === 'transcriptions') {
    if (prices.audioSecond === undefined) return {};
    const audioSecond = bodyBytes === null ? secondsMax : Math.ceil(bodyBytes / bytesOfSecond);
    return { audioSecond };
  }
  if (name === 'input' && prices.searchUnit !== undefined) {
    return { searchUnit: searchUnitsOf(params, bodyBytes ?? 0) };
  }
  return toolsOf(params, prices);
}

/** The price of an unknown quality or size is the highest one. */
function imagesOf(params: Params, prices: Counts): Counts {
  const units = Object.keys(prices).filter(isImageUnit);
  if (units.length === 0) return {};
  const { quality, size } = params;
  const own = imageUnit(String(quality), String(size));
  const dearest = units.reduce((most, unit) => (prices[unit]! > prices[most]! ? unit : most));
  return { [prices[own] === undefined ? dearest : own]: copiesOf(meteringOf('images')!, params) };
}

function searchUnitsOf({ documents }: Params, bodyBytes: number): number {
  const count = Array.isArray(documents) ? documents.length : 0;
  return 1 + Math.ceil((count + Math.ceil(bodyBytes / bytesOfDocument)) / documentsOfUnit);
}

/** Tools that the provider runs. */
function toolsOf(params: Params, prices: Counts): Counts {
  const { tools, web_search_options: search } = params;
  const units: Record<string, number> = {};
  if (isObject(search) && prices.webSearch !== undefined) units.webSearch = 1;
  if (!Array.isArray(tools)) return units;
  const most = callsMaxOf(params);
  for (const tool of tools) {
    const unit = unitOfTool(tool);
    if (unit === null || prices[unit] === undefined) continue;
    const own = unit === 'codeSession' ? 1 : usesMaxOf(tool, most);
    units[unit] = (units[unit] ?? 0) + own;
  }
  return units;
}

/** The unit by which calls of a tool are charged; null for a tool of the caller, or one without a price. */
function unitOfTool(tool: unknown): 'webSearch' | 'fileSearch' | 'codeSession' | null {
  const type = isObject(tool) && typeof tool.type === 'string' ? tool.type : '';
  if (type.startsWith('web_search')) return 'webSearch';
  if (type === 'file_search') return 'fileSearch';
  return type === 'code_interpreter' ? 'codeSession' : null;
}

function callsMaxOf({ max_tool_calls: most }: Params): number {
  return Number.isSafeInteger(most) && (most as number) >= 0 ? (most as number) : toolCallsMax;
}

function usesMaxOf(tool: unknown, most: number): number {
  const { max_uses: own } = tool as Params;
  return Number.isSafeInteger(own) && (own as number) >= 0 ? (own as number) : most;
}

/** Members of the body that hold the calls of tools to the bound, if the request does not. */
export function toolClamps(
  endpoint: string,
  params: Params,
  details: BoundDetails | null,
): readonly (readonly [name: string, value: unknown])[] {
  if (details?.hasTools !== true) return [];
  if (endpoint === 'responses') {
    return params.max_tool_calls === callsMaxOf(params)
      ? []
      : [['max_tool_calls', callsMaxOf(params)]];
  }
  if (endpoint !== 'messages') return [];
  const tools = params.tools as readonly unknown[];
  const isOpen = (tool: unknown): boolean =>
    unitOfTool(tool) === 'webSearch' && usesMaxOf(tool, -1) < 0;
  if (!tools.some(isOpen)) return [];
  return [
    [
      'tools',
      tools.map((tool) => (isOpen(tool) ? { ...(tool as object), max_uses: toolCallsMax } : tool)),
    ],
  ];
}
