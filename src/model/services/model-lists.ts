/** States which wire formats have a list of models, and how all of it is requested. */
import type { DialectName } from './provider-addresses.ts';

/** Query of `GET /models`, by format. Without an entry only the models of an integration are known. */
const queries: Partial<Readonly<Record<DialectName, string>>> = {
  openai: '',
  anthropic: '?limit=1000',
  'foundry-openai': '',
};

/** Null when the format has no list of models. */
export function modelListQuery(dialect: DialectName): string | null {
  return queries[dialect] ?? null;
}
