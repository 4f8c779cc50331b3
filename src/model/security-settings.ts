/** Knows what a workspace says of what its people see and write: the settings, and what holds where nothing is said. */
import { z } from 'zod';
import { described } from './described.ts';

/** What is allowed or not, and to whom: a setting is `members` or `managers` and one of these. */
const usual = {
  membersViewLogs: [true, 'Members read the log of requests.'],
  managersViewLogs: [true, 'Managers read the log of requests.'],
  membersViewAnalytics: [true, 'Members read sums over requests.'],
  managersViewAnalytics: [true, 'Managers read sums over requests.'],
  membersViewAllData: [
    true,
    'Log and sums show members the requests of all keys; false: of their own.',
  ],
  managersViewAllData: [
    true,
    'Log and sums show managers the requests of all keys; false: of their own.',
  ],
  membersViewPrompts: [true, 'Members read prompts.'],
  managersViewPrompts: [true, 'Managers read prompts.'],
  membersWritePrompts: [false, 'Members make and change prompts.'],
  managersWritePrompts: [true, 'Managers make and change prompts.'],
} as const satisfies Record<`${Group}${Right}`, readonly [boolean, string]>;

/** Who is in a workspace without being its administrator. */
type Group = 'members' | 'managers';

export type Right = 'ViewLogs' | 'ViewAnalytics' | 'ViewAllData' | 'ViewPrompts' | 'WritePrompts';

type Setting = keyof typeof usual;
const settings = Object.keys(usual) as Setting[];

function fieldOf(name: Setting) {
  const [byDefault, meaning] = usual[name];
  return described(z.boolean().nullable().optional(), meaning, { default: byDefault });
}

/** As sent: absent settings stay, null makes one the usual again. */
export const SecuritySettings = z.strictObject(
  Object.fromEntries(settings.map((name) => [name, fieldOf(name)])) as Record<
    Setting,
    ReturnType<typeof fieldOf>
  >,
);
export type SecuritySettings = z.infer<typeof SecuritySettings>;

/** All of them, as answered. */
export const SecurityRecord = z.object(
  Object.fromEntries(settings.map((name) => [name, z.boolean()])) as Record<Setting, z.ZodBoolean>,
);

/** What holds: what was said, else the usual. */
export function effectiveSettings(said: SecuritySettings | null): z.infer<typeof SecurityRecord> {
  return Object.fromEntries(
    settings.map((name) => [name, said?.[name] ?? usual[name][0]]),
  ) as z.infer<typeof SecurityRecord>;
}

/** Whether the workspace gives the right to its people of that role; its administrators have all of them. */
export function givesRight(
  said: SecuritySettings | null,
  role: 'admin' | 'manager' | 'member',
  right: Right,
): boolean {
  if (role === 'admin') return true;
  return effectiveSettings(said)[`${role}s${right}`];
}
