/** Lists the factors by which service tiers and modes of providers change the price of tokens. */
import type { PriceFactor } from './priced-details.ts';

type Factors = Readonly<Record<string, PriceFactor>>;

const times = (times: number, per = 1): PriceFactor => ({ times, per });

/** Batches and flexible processing cost half. */
const half = times(1, 2);

/** Priority processing of OpenAI by the beginning of the model; the first match applies. */
const priorityByModel: readonly (readonly [model: string, factor: PriceFactor])[] = [
  ['gpt-4o-mini', times(5, 3)],
  ['gpt-4o', times(17, 10)],
  ['gpt-4.1-nano', times(2)],
  ['gpt-4.1', times(7, 4)],
  ['o3', times(7, 4)],
  ['o4-mini', times(20, 11)],
  ['gpt-5-mini', times(9, 5)],
  ['gpt-5.5', times(5, 2)],
  ['gpt-5.4', times(2)],
  ['gpt-5.2', times(2)],
  ['gpt-5.1', times(2)],
  ['gpt-5', times(2)],
];
/** The highest that is known, for models that are not listed. */
const priorityHighest = times(5, 2);

const openAi = new Map(
  priorityByModel.map(([model, priority]) => [model, { flex: half, batch: half, priority }]),
);
const openAiOthers: Factors = { flex: half, batch: half, priority: priorityHighest };

/** `fast` is the highest factor of the fast mode, `us` that of inference in the United States. */
const anthropic: Factors = { batch: half, fast: times(6), us: times(11, 10) };
const google: Factors = { flex: half, batch: half, priority: times(2) };
const batchesOnly: Factors = { batch: half };

const factorsOfServices: Readonly<Record<string, Factors>> = {
  anthropic,
  google,
  'vertex-ai': google,
  bedrock: { flex: half, batch: half, priority: times(7, 4) },
  groq: batchesOnly,
  'mistral-ai': batchesOnly,
  'together-ai': batchesOnly,
  'x-ai': { batch: half, priority: times(2) },
};

/** Factors by name of the tier or mode; undefined where the service has none. */
export function serviceTierFactors(service: string, model: string): Factors | undefined {
  if (service !== 'openai' && service !== 'azure-openai') return factorsOfServices[service];
  const listed = priorityByModel.find(([name]) => model.startsWith(name));
  return listed === undefined ? openAiOthers : openAi.get(listed[0]);
}
