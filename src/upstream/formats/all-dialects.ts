/** Lists the wire formats by name. */
import type { DialectName } from '../../model/services/provider-addresses.ts';
import { anthropic } from '../dialects/anthropic.ts';
import { azureOpenAi } from '../dialects/azure-openai.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { openAi } from '../dialects/openai.ts';

export const allDialects: Readonly<Record<DialectName, Dialect>> = {
  openai: openAi,
  anthropic,
  'azure-openai': azureOpenAi,
};
