/** Knows how it is told what a change reaches: in a line for people, and whole up to a bound for programs. */
import { type KindName, kinds } from '../../model/kinds/kinds.ts';
import type { Impact } from '../plan/impact.ts';

/** Names of one kind that programs are told. */
const namesMax = 50;

/** `reaches 2 configs, 14 API keys; last used 2026-11-21T22:40:00.000Z by ApiKey/support/bot` */
export function impactText({ reached, lastUse, keysAsked }: Impact): string {
  const all = [...reached].map(([kind, ids]) => `${ids.length} ${wordFor(kind, ids.length)}`);
  const keys = reached.get('ApiKey')?.length ?? 0;
  return [
    `reaches ${all.join(', ')}`,
    ...(keys === 0 ? [] : [useText(lastUse, keys, keysAsked)]),
  ].join('; ');
}

function useText(lastUse: Impact['lastUse'], keys: number, keysAsked: number): string {
  if (keysAsked === 0) return 'when they were used last is not known';
  const among = keysAsked < keys ? ` (of ${keysAsked} that were asked about)` : '';
  return `${lastUse === null ? 'never used' : `last used ${lastUse.at} by ${lastUse.by}`}${among}`;
}

/** `API key`, `API keys`, `MCP servers`. */
function wordFor(kind: KindName, count: number): string {
  const words = kinds[kind].plural
    .replaceAll('-', ' ')
    .replace(/\b(api|mcp)\b/g, (word) => word.toUpperCase());
  return count > 1 ? words : words.replace(/ies$/, 'y').replace(/s$/, '');
}

/** Null where nothing is reached, or nobody has asked. */
export function impactDocument(impact: Impact | undefined): Record<string, unknown> | null {
  if (impact === undefined) return null;
  const { reached, lastUse, keysAsked } = impact;
  const told = [...reached].map(([kind, ids]) => [
    kind,
    { count: ids.length, names: ids.slice(0, namesMax) },
  ]);
  return {
    reached: Object.fromEntries(told),
    lastUsedAt: lastUse?.at ?? null,
    lastUsedBy: lastUse?.by ?? null,
    keysAsked,
  };
}
