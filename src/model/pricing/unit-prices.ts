/** Lists published prices that the price table lacks: pictures, speech, rankings, containers and moderation. */
import { type Counts, imageUnit } from './priced-details.ts';

const picoOfDollar = 1_000_000_000_000;
const dollars = (amount: number): number => Math.round(amount * picoOfDollar);

/** Prices of pictures in dollars, by quality and size. */
function pictures(
  prices: readonly (readonly [quality: string, size: string, price: number])[],
): Counts {
  const units = prices.map(([quality, size, price]) => [imageUnit(quality, size), dollars(price)]);
  return Object.fromEntries(units) as Counts;
}

const ofSpeech = (millionCharacters: number): Counts => ({
  character: dollars(millionCharacters / 1_000_000),
});

/** Models without a price for tokens, by service. */
const unitModels: Readonly<Record<string, Readonly<Record<string, Counts>>>> = {
  openai: {
    'dall-e-2': pictures([
      ['standard', '256x256', 0.016],
      ['standard', '512x512', 0.018],
      ['standard', '1024x1024', 0.02],
    ]),
    'dall-e-3': pictures([
      ['standard', '1024x1024', 0.04],
      ['standard', '1024x1792', 0.08],
      ['standard', '1792x1024', 0.08],
      ['hd', '1024x1024', 0.08],
      ['hd', '1024x1792', 0.12],
      ['hd', '1792x1024', 0.12],
    ]),
    'tts-1': ofSpeech(15),
    'tts-1-1106': ofSpeech(15),
    'tts-1-hd': ofSpeech(30),
    'tts-1-hd-1106': ofSpeech(30),
  },
};

/** A search unit of Cohere: one query with up to 100 documents. */
const rankings: Counts = { searchUnit: dollars(0.002) };
const rankingModel = /^(?:cohere[./-])?rerank-/;
/** Rankings of Amazon Bedrock: a query with up to 100 documents, in dollars. */
const bedrockRankings: readonly (readonly [models: RegExp, units: Counts])[] = [
  [/cohere\.rerank-v3-5/, rankings],
  [/amazon\.rerank-v1/, { searchUnit: dollars(0.001) }],
];

/** Units of all models of a service. */
const codeOfOpenAi: Counts = { codeSession: dollars(0.03) };

/** Dollars for a million tokens of input of moderation models, whose output is free, by service. */
const moderationPrices: Readonly<Record<string, number>> = { openai: 0, 'mistral-ai': 0.1 };
const moderationModel = /^(?:(?:omni|text)-moderation|mistral-moderation)-/;

/** Pico-dollars of an input token of a model whose output is free; undefined where none is published here. */
export function tokenPriceOfModel(service: string, model: string): number | undefined {
  const price = moderationModel.test(model) ? moderationPrices[service] : undefined;
  return price === undefined ? undefined : dollars(price / 1_000_000);
}

/** Prices of a model that has none for tokens; undefined for none. */
export function unitsOfModel(service: string, model: string): Counts | undefined {
  const named = unitModels[service === 'azure-openai' ? 'openai' : service]?.[model];
  if (service === 'bedrock') return bedrockRankings.find(([models]) => models.test(model))?.[1];
  return named ?? (service === 'cohere' && rankingModel.test(model) ? rankings : undefined);
}

/** Prices that every model of the service has beside those for tokens. */
export function unitsOfService(service: string): Counts | undefined {
  return service === 'openai' || service === 'azure-openai' ? codeOfOpenAi : undefined;
}
