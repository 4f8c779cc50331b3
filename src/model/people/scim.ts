/** Reads the bodies and patches of directories for users and groups (SCIM 2.0, RFC 7643 and 7644). */
/*
 * Patches are applied here and not by `scim-patch`: version 0.8.3 writes to `__proto__` and compares attribute names
 * by case.
 */
import { z } from 'zod';
import { ResourceName } from '../wire/resource-fields.ts';
import { validationError } from '../wire/validation-error.ts';
import { memberIdIn, memberSelection } from './scim-filter.ts';

const groupMembersMax = 1000;
const operationsMax = 100;

const NamePart = z.string().max(255).nullable().optional();
const ExternalId = z.string().max(255).nullable().optional();

/** Some directories send booleans as text. */
const Truth = z.union([
  z.boolean(),
  z
    .enum(['True', 'true', 'False', 'false'])
    .transform((text): boolean => text.toLowerCase() === 'true'),
]);

/** Body of POST and PUT /scim/v2/Users; the user name is an e-mail address and identifies the user. */
export const ScimUserBody = z.object({
  userName: z.email().max(254),
  externalId: ExternalId,
  name: z.object({ givenName: NamePart, familyName: NamePart }).nullable().optional(),
  active: Truth.optional(),
});

const Member = z.object({ value: z.uuid().toLowerCase() });
const Members = z.array(Member).max(groupMembersMax);

/** Body of POST and PUT /scim/v2/Groups. */
export const ScimGroupBody = z.object({
  displayName: ResourceName,
  externalId: ExternalId,
  members: Members.optional(),
});

/** Body of PATCH of a user or a group. */
export const ScimPatch = z.object({
  Operations: z
    .array(
      z.object({
        op: z
          .string()
          .toLowerCase()
          .pipe(z.enum(['add', 'replace', 'remove'])),
        path: z.string().max(1024).optional(),
        value: (z.unknown() as z.ZodType<z.core.util.JSONType>).optional(),
      }),
    )
    .min(1)
    .max(operationsMax),
});
export type ScimPatch = z.infer<typeof ScimPatch>;

/** The attributes of a user that a directory controls. */
export interface ScimUserState {
  readonly userName: string;
  readonly externalId: string | null;
  readonly givenName: string | null;
  readonly familyName: string | null;
  readonly active: boolean;
}

/** The attributes of a group that a directory controls. */
export interface ScimGroupState {
  readonly displayName: string;
  readonly externalId: string | null;
  /** Ids of users. */
  readonly members: ReadonlySet<string>;
}

/** A PUT unsets absent attributes; a user without `active` is active. */
export function userStateOf(body: z.infer<typeof ScimUserBody>): ScimUserState {
  return {
    userName: body.userName,
    externalId: body.externalId ?? null,
    givenName: body.name?.givenName ?? null,
    familyName: body.name?.familyName ?? null,
    active: body.active ?? true,
  };
}

export function groupStateOf(body: z.infer<typeof ScimGroupBody>): ScimGroupState {
  return {
    displayName: body.displayName,
    externalId: body.externalId ?? null,
    members: new Set(body.members?.map(({ value }) => value)),
  };
}

type Operation = ScimPatch['Operations'][number];

/**
 * Applies a patch to a user. Attributes that are not stored are ignored, as in a PUT.
 *
 * @throws ApiError `invalid` for a malformed value.
 */
export function patchedUser(state: ScimUserState, { Operations }: ScimPatch): ScimUserState {
  const body: Record<string, unknown> = {
    userName: state.userName,
    externalId: state.externalId,
    'name.givenName': state.givenName,
    'name.familyName': state.familyName,
    active: state.active,
  };
  for (const operation of Operations) {
    for (const [path, value] of assignments(operation)) {
      const known = Object.keys(body).find((name) => name.toLowerCase() === path.toLowerCase());
      if (known !== undefined) body[known] = value;
    }
  }
  const { 'name.givenName': givenName, 'name.familyName': familyName, ...rest } = body;
  const nulls = Object.entries(rest).filter(([, value]) => value !== undefined);
  const name = { givenName, familyName };
  return userStateOf(parsed(ScimUserBody, { ...Object.fromEntries(nulls), name }));
}

/** Like {@link patchedUser}, for a group. */
export function patchedGroup(state: ScimGroupState, { Operations }: ScimPatch): ScimGroupState {
  const body: Record<string, unknown> = {
    displayName: state.displayName,
    externalId: state.externalId,
  };
  let members = state.members;
  for (const operation of Operations) {
    for (const [path, value] of assignments(operation)) {
      if (/^members\b/i.test(path)) members = changedMembers(members, operation.op, path, value);
      else if (path.toLowerCase() === 'displayname') body.displayName = value;
      else if (path.toLowerCase() === 'externalid') body.externalId = value;
    }
  }
  return { ...groupStateOf(parsed(ScimGroupBody, body)), members };
}

/** A `remove` without members removes all members, or those that a filter in the path selects. */
function changedMembers(
  before: ReadonlySet<string>,
  op: Operation['op'],
  path: string,
  value: unknown,
): ReadonlySet<string> {
  const isAll = path.toLowerCase() === 'members';
  if (op === 'remove' && !isAll) {
    const isSelected = memberSelection(path) ?? refuse('path', 'is not known');
    return new Set([...before].filter((id) => !isSelected(id)));
  }
  const named = isAll
    ? (value ?? [])
    : [{ value: memberIdIn(path) ?? refuse('path', 'is not known') }];
  const ids = new Set(parsed(Members, [named].flat()).map((member) => member.value));
  if (op === 'replace') return ids;
  if (op === 'add') return before.union(ids);
  return value === undefined ? new Set() : before.difference(ids);
}

/** Paths and values that an operation sets; a value without a path is an object with several. */
function assignments({ op, path, value }: Operation): [path: string, value: unknown][] {
  const set = op === 'remove' && !/^members\b/i.test(path ?? '') ? null : value;
  if (path === undefined) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || op === 'remove') {
      refuse('path', 'is missing');
    }
    return Object.entries(value).flatMap(([name, inner]) => flattened(name, inner));
  }
  return flattened(path.replace(/^urn:ietf:params:scim:schemas:core:2\.0:\w+:/i, ''), set);
}

/** Splits the object `name` into its parts. */
function flattened(path: string, value: unknown): [string, unknown][] {
  if (path.toLowerCase() !== 'name' || typeof value !== 'object' || value === null) {
    return [[path, value]];
  }
  return Object.entries(value).map(([part, text]) => [`name.${part}`, text]);
}

function parsed<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0]!;
  throw validationError({
    path: path.map((key) => (typeof key === 'number' ? key : String(key))),
    message,
  });
}

function refuse(field: string, message: string): never {
  throw validationError({ path: ['Operations', field], message });
}
