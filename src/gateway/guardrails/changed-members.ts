/** Puts values that checks have changed, such as fetched images, into the members of a request. */
import type { MemberChange } from '../../guardrails/check.ts';

type Members = Readonly<Record<string, unknown>>;

/** The top-level members that change: those with other texts, and those in which a value is replaced. */
export function memberChanges(
  params: Members,
  texted: ReadonlyMap<string, unknown> | null,
  members: readonly MemberChange[],
): ReadonlyMap<string, unknown> | null {
  if (members.length === 0) return texted;
  const changes = new Map(texted);
  for (const { path, value } of members) {
    const [top, ...rest] = path;
    const name = String(top);
    const current = changes.has(name) ? changes.get(name) : params[name];
    changes.set(name, valueWith(current, rest, value));
  }
  return changes;
}

/** A copy with another value at the path; everything beside the path is shared. */
function valueWith(current: unknown, path: MemberChange['path'], value: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (Array.isArray(current)) {
    const at = Number(step);
    return current.with(at, valueWith(current[at], rest, value));
  }
  const members = current as Members;
  return { ...members, [step]: valueWith(members[step], rest, value) };
}
