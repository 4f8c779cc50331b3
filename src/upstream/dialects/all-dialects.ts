/** Lists the wire formats by name. */
import type { DialectName } from '../../model/services/provider-addresses.ts';
import { anthropic } from './anthropic.ts';
import { azureOpenAi } from './azure-openai.ts';
import type { Dialect } from './dialect.ts';
import { openAi } from './openai.ts';

export const allDialects: Readonly<Record<DialectName, Dialect>> = {
  openai: openAi,
  anthropic,
  'azure-openai': azureOpenAi,
};
