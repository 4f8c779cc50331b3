/** Applies the parameter rules of a config to a request: defaults, overrides and removals. */
import type { TargetSettings } from './config-tree.ts';

type Params = Readonly<Record<string, unknown>>;

/**
 * Returns the top-level parameters that change, with their new values; undefined means removal. Null if
 * nothing changes. Defaults apply first, then overrides, then removals.
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

/** Returns a copy of the value without the member at the path, or the value itself if there is none. */
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
  const isSelected = (at: number): boolean => index === '*' || at === Number(index);
  if (rest.length === 0) return items.filter((_, at) => !isSelected(at));
  return items.map((item, at) => (isSelected(at) ? without(item, rest) : item));
}
