/** Knows how a config changes the parameters of a request: defaults, overrides, and what is dropped. */
import type { TargetSettings } from './config-tree.ts';

type Params = Readonly<Record<string, unknown>>;

/**
 * The parameters at the top that differ from those sent, with their new values; undefined stands for
 * one that goes. Null when nothing differs. Defaults come first, then overrides, then what is dropped.
 */
export function paramChanges(
  params: Params,
  {
    defaultParams,
    overrideParams,
    dropParams,
  }: Pick<TargetSettings, 'defaultParams' | 'overrideParams' | 'dropParams'>,
): Map<string, unknown> | null {
  if (defaultParams === null && overrideParams === null && dropParams === null) return null;
  const changes = new Map<string, unknown>();
  for (const [name, value] of Object.entries(defaultParams ?? {})) {
    if (params[name] === undefined) changes.set(name, value);
  }
  for (const [name, value] of Object.entries(overrideParams ?? {})) changes.set(name, value);
  for (const path of dropParams ?? []) {
    const [name, ...below] = stepsOf(path);
    if (name === undefined) continue;
    const value = changes.has(name) ? changes.get(name) : params[name];
    if (value === undefined) continue;
    changes.set(name, below.length === 0 ? undefined : without(value, below));
  }
  return changes.size === 0 ? null : changes;
}

const step = /[^.[\]]+|\[(?:\d+|\*)\]/g;

/** `messages[*].name` as `messages`, `[*]`, `name`. */
function stepsOf(path: string): string[] {
  return path.match(step) ?? [];
}

/** A copy of the value without what the steps lead to; the value itself where they lead nowhere. */
function without(value: unknown, [first, ...rest]: readonly string[]): unknown {
  if (first === undefined || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return itemsWithout(value, first, rest);
  if (!Object.hasOwn(value, first)) return value;
  const { [first]: inner, ...others } = value as Record<string, unknown>;
  return rest.length === 0 ? others : { ...others, [first]: without(inner, rest) };
}

function itemsWithout(items: readonly unknown[], first: string, rest: readonly string[]): unknown {
  const index = /^\[(\d+|\*)\]$/.exec(first)?.[1];
  if (index === undefined) return items;
  const isMeant = (at: number): boolean => index === '*' || at === Number(index);
  if (rest.length === 0) return items.filter((_, at) => !isMeant(at));
  return items.map((item, at) => (isMeant(at) ? without(item, rest) : item));
}
