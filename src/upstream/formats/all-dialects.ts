/** Lists the wire formats by name. */
import type { DialectName, FormatName } from '../../model/services/provider-addresses.ts';
import { anthropic } from '../dialects/anthropic.ts';
import { foundryAnthropic, foundryOpenAi } from '../dialects/azure-foundry.ts';
import { azureOpenAi } from '../dialects/azure-openai.ts';
import {
  bedrockAnthropic,
  bedrockConverse,
  bedrockOpenAi,
  bedrockVendorForm,
} from '../dialects/bedrock.ts';
import { cohere } from '../dialects/cohere.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { gemini } from '../dialects/gemini.ts';
import { openAi } from '../dialects/openai.ts';
import { vertexAnthropic, vertexGemini, vertexOpenAi } from '../dialects/vertex.ts';

export const allDialects: Readonly<Record<DialectName, Dialect>> = {
  openai: openAi,
  anthropic,
  'azure-openai': azureOpenAi,
  'bedrock-openai': bedrockOpenAi,
  'bedrock-anthropic': bedrockAnthropic,
  'bedrock-converse': bedrockConverse,
  'bedrock-titan': bedrockVendorForm,
  'bedrock-cohere': bedrockVendorForm,
  'bedrock-ranking': bedrockVendorForm,
  cohere,
  voyage: openAi,
  'foundry-openai': foundryOpenAi,
  'foundry-anthropic': foundryAnthropic,
  'vertex-openai': vertexOpenAi,
  'vertex-anthropic': vertexAnthropic,
  gemini,
  'vertex-gemini': vertexGemini,
};

/** Formats of the bodies of each dialect. */
export const dialectFormats: Readonly<Record<DialectName, FormatName>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  'azure-openai': 'openai',
  'bedrock-openai': 'openai',
  'bedrock-anthropic': 'anthropic',
  'bedrock-converse': 'converse',
  'bedrock-titan': 'openai',
  'bedrock-cohere': 'openai',
  'bedrock-ranking': 'openai',
  cohere: 'openai',
  voyage: 'openai',
  'foundry-openai': 'openai',
  'foundry-anthropic': 'anthropic',
  'vertex-openai': 'openai',
  'vertex-anthropic': 'anthropic',
  gemini: 'gemini',
  'vertex-gemini': 'gemini',
};
