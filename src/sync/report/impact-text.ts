/** Formats the impact of a change: one line for people, complete up to a limit for programs. */
import { type KindName, kinds } from '../../model/kinds/kinds.ts';
import type { Impact } from '../plan/impact.ts';

/** Maximum number of names of one kind in documents. */
const namesMax = 50;

/** `reaches 2 configs, 14 API keys; last used 2026-11-21T22:40:00.000Z by ApiKey/support/bot` */
export function impactText({ reached, lastUse, keysQueried }: Impact): string {
  const all = [...reached].map(([kind, ids]) => `${ids.length} ${wordFor(kind, ids.length)}`);
  const keys = reached.get('ApiKey')?.length ?? 0;
  return [
    `reaches ${all.join(', ')}`,
    ...(keys === 0 ? [] : [useText(lastUse, keys, keysQueried)]),
  ].join('; ');
}

function useText(lastUse: Impact['lastUse'], keys: number, keysQueried: number): string {
  if (keysQueried === 0) return 'their last use is unknown';
  const among = keysQueried < keys ? ` (of ${keysQueried} that were queried)` : '';
  return `${lastUse === null ? 'never used' : `last used ${lastUse.at} by ${lastUse.by}`}${among}`;
}

/** `API key`, `API keys`, `MCP servers`. */
function wordFor(kind: KindName, count: number): string {
  const words = kinds[kind].plural
    .replaceAll('-', ' ')
    .replace(/\b(api|mcp)\b/g, (word) => word.toUpperCase());
  return count > 1 ? words : words.replace(/ies$/, 'y').replace(/s$/, '');
}

/** Returns null when nothing is affected, or the impact was not determined. */
export function impactDocument(impact: Impact | undefined): Record<string, unknown> | null {
  if (impact === undefined) return null;
  const { reached, lastUse, keysQueried } = impact;
  const entries = [...reached].map(([kind, ids]) => [
    kind,
    { count: ids.length, names: ids.slice(0, namesMax) },
  ]);
  return Object.fromEntries<unknown>([
    ['reached', Object.fromEntries(entries)],
    ['lastUsedAt', lastUse?.at ?? null],
    ['lastUsedBy', lastUse?.by ?? null],
    ['keysAsked', keysQueried],
  ]);
}
